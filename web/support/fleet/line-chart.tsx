import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { formatPercent, formatShortUtcDay } from '../parts/dates.js';

/** The dash pattern of each line, so that lines do not differ by colour only. */
export const DASHES: readonly (readonly number[])[] = [[], [8, 4], [2, 3], [12, 3, 2, 3], [5, 2], [1, 5]];

const HEIGHT_PX = 260;
/** The space above the plot, for the labels of the marks. */
const LABEL_SPACE_PX = 20;
/** With more weeks, the single points of a line would overlap. */
const MAX_WEEKS_WITH_POINTS = 15;
/** The space before the first and after the last week, in weeks. */
const RANGE_MARGIN = 0.25;

export interface Line {
  readonly label: string;
  /** A fraction of 1 for each week; null for a week without data. */
  readonly shares: readonly (number | null)[];
}

/** A day that is marked in the chart. */
interface Mark {
  /** Its position on the x axis: the week with the index i is at i, and a day within a week is between two numbers. */
  readonly at: number;
  readonly label: string;
  readonly isSelected: boolean;
}

interface Props {
  readonly label: string;
  /** The last day of each week, oldest first. */
  readonly days: readonly string[];
  readonly lines: readonly Line[];
  /** The newest first. */
  readonly marks: readonly Mark[];
  /** Called with the last day of the week under the pointer, or undefined when the pointer leaves the chart. */
  readonly onPoint: (day: string | undefined) => void;
}

/** A line chart of shares over time, on a canvas. For people who cannot see it, a table has the counts. */
export function LineChart({ label, days, lines, marks, onPoint }: Props) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = box.current!;
    const data: uPlot.AlignedData = [
      days.map((_day, index) => index),
      ...lines.map(({ shares }) => [...shares]),
    ];
    const draw = () => new uPlot(optionsOf(element, { days, lines, marks, onPoint }), data, element);
    let chart = draw();
    const resizeObserver = new ResizeObserver(() =>
      chart.setSize({ width: element.clientWidth, height: HEIGHT_PX }),
    );
    resizeObserver.observe(element);
    // A canvas keeps its colours, so a change of the colours draws it again.
    const colourQueries = ['(prefers-color-scheme: dark)', '(forced-colors: active)'].map((query) =>
      matchMedia(query),
    );
    const repaint = () => {
      chart.destroy();
      chart = draw();
    };
    for (const query of colourQueries) query.addEventListener('change', repaint);
    return () => {
      for (const query of colourQueries) query.removeEventListener('change', repaint);
      resizeObserver.disconnect();
      chart.destroy();
    };
  }, [days.join(), JSON.stringify([lines, marks])]);
  return <div ref={box} class="canvas" role="img" aria-label={label} />;
}

function optionsOf(
  element: HTMLElement,
  { days, lines, marks, onPoint }: Omit<Props, 'label'>,
): uPlot.Options {
  const style = getComputedStyle(element);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  const places = marks.map(({ at }) => at);
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
    padding: [LABEL_SPACE_PX, null, null, null],
    // The range is wider than the days and the marks, so that a single week is shown too.
    scales: {
      x: {
        time: false,
        range: [Math.min(0, ...places) - RANGE_MARGIN, Math.max(days.length - 1, ...places) + RANGE_MARGIN],
      },
      y: { range: [0, 1] },
    },
    // `size` and `space` are in pixels. `incrs` has the possible distances between labels: in weeks (x), or as a share (y).
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 28,
        space: 64,
        incrs: [1, 2, 4, 8, 13, 26],
        values: (_chart, splits) => splits.map((at) => (days[at] ? formatShortUtcDay(days[at]) : '')),
      },
      {
        ...axis,
        size: 48,
        incrs: [0.25, 0.5],
        values: (_chart, splits) => splits.map((share) => formatPercent(share)),
      },
    ],
    series: [
      {},
      ...lines.map((_line, index) => ({
        stroke: colour(`--series-${index}`),
        width: 2,
        dash: [...DASHES[index]!],
        points: { show: days.length <= MAX_WEEKS_WITH_POINTS, size: 5, fill: colour(`--series-${index}`) },
      })),
    ],
    hooks: {
      setCursor: [({ cursor }) => onPoint(days[cursor.idx ?? -1])],
      draw: [(chart) => drawMarks(chart, marks, colour('--ink'), style.fontFamily)],
    },
  };
}

/**
 * Draws a vertical line for each mark, with its label above. A label that would overlap that of a newer mark, or of the selected
 * mark of the same day, is left out.
 */
function drawMarks(chart: uPlot, marks: readonly Mark[], colour: string, fontFamily: string) {
  const { ctx, bbox } = chart;
  const ratio = devicePixelRatio;
  // The left edge of the last drawn label.
  let freeUntil = Infinity;
  const selected = marks.find(({ isSelected }) => isSelected);
  ctx.save();
  ctx.strokeStyle = ctx.fillStyle = colour;
  ctx.textAlign = 'left';
  for (const { at, label, isSelected } of marks) {
    const x = chart.valToPos(at, 'x', true);
    ctx.font = `${isSelected ? 'bold ' : ''}${12 * ratio}px ${fontFamily}`;
    ctx.lineWidth = (isSelected ? 2 : 1) * ratio;
    ctx.setLineDash(isSelected ? [] : [2 * ratio, 3 * ratio]);
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    const { width } = ctx.measureText(label);
    const start = Math.max(bbox.left, Math.min(x - width / 2, ctx.canvas.width - width));
    if (start + width + 8 * ratio > freeUntil || (at === selected?.at && !isSelected)) continue;
    ctx.fillText(label, start, bbox.top - 6 * ratio);
    freeUntil = start;
  }
  ctx.restore();
}
