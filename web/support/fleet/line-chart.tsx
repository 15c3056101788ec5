import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { formatPercent, formatShortUtcDay } from '../../shared/dates.js';

/** The dash pattern of each line, so that lines do not differ by colour only. */
export const DASHES: readonly (readonly number[])[] = [[], [8, 4], [2, 3], [12, 3, 2, 3], [5, 2], [1, 5]];

const HEIGHT_PX = 240;
/** With more days, the single points of a line would overlap. */
const MAX_DAYS_WITH_POINTS = 15;

export interface Line {
  readonly label: string;
  /** A fraction of 1 for each day; null for a day without data. */
  readonly shares: readonly (number | null)[];
}

interface Props {
  readonly label: string;
  /** Oldest first. */
  readonly days: readonly string[];
  readonly lines: readonly Line[];
  /** Called with the index of the day under the pointer, or undefined when the pointer leaves the chart. */
  readonly onPoint: (index: number | undefined) => void;
}

/** A line chart of shares over time, on a canvas. For people who cannot see it, a table has the counts. */
export function LineChart({ label, days, lines, onPoint }: Props) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = box.current!;
    const data: uPlot.AlignedData = [
      days.map((_day, index) => index),
      ...lines.map(({ shares }) => [...shares]),
    ];
    const draw = () => new uPlot(optionsOf(element, days, lines, onPoint), data, element);
    let chart = draw();
    const resizeObserver = new ResizeObserver(() =>
      chart.setSize({ width: element.clientWidth, height: HEIGHT_PX }),
    );
    resizeObserver.observe(element);
    // A canvas keeps its colours, so a change of the colour scheme draws it again.
    const darkScheme = matchMedia('(prefers-color-scheme: dark)');
    const repaint = () => {
      chart.destroy();
      chart = draw();
    };
    darkScheme.addEventListener('change', repaint);
    return () => {
      darkScheme.removeEventListener('change', repaint);
      resizeObserver.disconnect();
      chart.destroy();
    };
  }, [days.join(), JSON.stringify(lines)]);
  return <div ref={box} class="canvas" role="img" aria-label={label} />;
}

function optionsOf(
  element: HTMLElement,
  days: readonly string[],
  lines: readonly Line[],
  onPoint: Props['onPoint'],
): uPlot.Options {
  const style = getComputedStyle(element);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  const axis = {
    stroke: colour('--quiet'),
    grid: { stroke: colour('--line'), width: 1 },
    ticks: { show: false },
    font: `12px ${style.fontFamily}`,
  };
  return {
    width: element.clientWidth,
    height: HEIGHT_PX,
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { size: 8 } },
    // Each range is wider than its data, so that a single week is shown too, in the middle of the chart.
    scales: {
      x: { time: false, range: [-0.25, Math.max(days.length - 0.75, 0.25)] },
      y: { range: (_chart, _min, max) => [0, Math.max(max * 1.05, 0.1)] },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        space: 64,
        incrs: [1, 2, 4, 8, 13, 26],
        values: (_chart, splits) => splits.map((at) => (days[at] ? formatShortUtcDay(days[at]) : '')),
      },
      { ...axis, size: 48, values: (_chart, splits) => splits.map((share) => formatPercent(share)) },
    ],
    series: [
      {},
      ...lines.map((_line, index) => ({
        stroke: colour(`--series-${index}`),
        width: 2,
        dash: [...DASHES[index]!],
        points: { show: days.length <= MAX_DAYS_WITH_POINTS, size: 5, fill: colour(`--series-${index}`) },
      })),
    ],
    hooks: { setCursor: [({ cursor }) => onPoint(cursor.idx ?? undefined)] },
  };
}
