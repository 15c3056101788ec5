import { messages } from '../messages.js';
import { t } from '../../shared/text.js';
import type { Cell, Week } from './fleet.types.js';

/** How many heartbeats of a week said the same. */
export interface Count {
  readonly label: string;
  /** What was said too rarely to stand by itself. */
  readonly isOther: boolean;
  readonly heartbeats: number;
}

type Text = Cell[string];

const textOf = (value: Text) =>
  value === null || value === undefined ? messages.fleet.unsaid : String(value);
const value = (cell: Cell) => textOf(cell.value);

/** What is counted of a week, and what each count is called. A model stands beside its chip: here each by itself. */
const TABLES = {
  app_version: { cells: (week: Week) => week.app_version, label: value },
  os_version: { cells: (week: Week) => week.os_version, label: value },
  mac_model: { cells: (week: Week) => week.hardware, label: (cell: Cell) => textOf(cell.mac_model) },
  soc_name: { cells: (week: Week) => week.hardware, label: (cell: Cell) => textOf(cell.soc_name) },
  ram_gb_bucket: { cells: (week: Week) => week.ram_gb_bucket, label: value },
  detector_compute: {
    cells: (week: Week) => week.detector_compute,
    label: (cell: Cell) =>
      t(messages.fleet.crossed, {
        asked: textOf(cell.detector_compute),
        got: textOf(cell.detector_compute_units_resolved),
      }),
  },
};

export type Dimension = keyof typeof TABLES;

/** The counts of a week by one dimension, most first and the rest last. */
export function countsOf(week: Week, dimension: Dimension): Count[] {
  const { cells, label } = TABLES[dimension];
  const sums = new Map<string, Count>();
  for (const cell of cells(week)) {
    const isOther = cell.other === true;
    const name = isOther ? messages.fleet.other : label(cell);
    // A telemetry value may be called `other` as well: the two are not one.
    const key = `${isOther} ${name}`;
    const heartbeats = (sums.get(key)?.heartbeats ?? 0) + cell.heartbeats;
    sums.set(key, { label: name, isOther, heartbeats });
  }
  return [...sums.values()].toSorted(
    (a, b) => Number(a.isOther) - Number(b.isOther) || b.heartbeats - a.heartbeats,
  );
}

/** All that is shown of a week: the sum of its counts, and no other total. */
export const totalOf = (counts: readonly Count[]) =>
  counts.reduce((sum, { heartbeats }) => sum + heartbeats, 0);
