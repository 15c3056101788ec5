import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { percent, shortUtcDay } from '../../shared/dates.js';

/** How each line is drawn, beside its colour. */
export const DASHES: readonly (readonly number[])[] = [[], [8, 4], [2, 3], [12, 3, 2, 3], [5, 2], [1, 5]];

const HEIGHT = 240;

export interface Line {
  readonly label: string;
  /** One for each day, of 1; null where nothing is known. */
  readonly shares: readonly (number | null)[];
}

interface Props {
  readonly label: string;
  /** Oldest first. */
  readonly days: readonly string[];
  readonly lines: readonly Line[];
  /** Which day is pointed at; none once the pointer has left. */
  readonly onPoint: (index: number | undefined) => void;
}

/** Shares over time, on a canvas: its numbers stand in a table for who does not see it. */
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
    const sized = new ResizeObserver(() => chart.setSize({ width: element.clientWidth, height: HEIGHT }));
    sized.observe(element);
    // A canvas keeps the colours it was painted in.
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    const repaint = () => {
      chart.destroy();
      chart = draw();
    };
    scheme.addEventListener('change', repaint);
    return () => {
      scheme.removeEventListener('change', repaint);
      sized.disconnect();
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
    height: HEIGHT,
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { size: 8 } },
    // With a single week there is still a middle to stand in.
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
        values: (_chart, splits) => splits.map((at) => (days[at] ? shortUtcDay(days[at]) : '')),
      },
      { ...axis, size: 48, values: (_chart, splits) => splits.map((share) => percent(share)) },
    ],
    series: [
      {},
      ...lines.map((_line, index) => ({
        stroke: colour(`--series-${index}`),
        width: 2,
        dash: [...DASHES[index]!],
        points: { show: days.length < 16, size: 5, fill: colour(`--series-${index}`) },
      })),
    ],
    hooks: { setCursor: [({ cursor }) => onPoint(cursor.idx ?? undefined)] },
  };
}
