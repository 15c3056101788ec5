import { messages } from '../messages.js';
import { t } from '../../shared/texts/text.js';
import { macModelName } from './mac-models.js';
import type { FleetOther, FleetWeek } from '../../../src/http/responses/api-types.js';

/** The heartbeats of a week that have the same value. */
export interface Count {
  readonly label: string;
  /** The name of a Mac model; undefined for an unknown one, and for the values of other dimensions. */
  readonly name?: string | undefined;
  /** Whether several values are counted together here: rare values, or values without their own bar in `Distribution`. */
  readonly isOther: boolean;
  readonly heartbeats: number;
}

/** Identifies a value. A value that is the text "other" is not counted together with the rare values. */
export const keyOf = ({ label, isOther }: Pick<Count, 'label' | 'isOther'>) => `${isOther} ${label}`;

const textOf = (value: string | null) => value ?? messages.fleet.notReported;

function countCells<Cell extends { readonly heartbeats: number }>(
  cells: readonly (Cell | FleetOther)[],
  labelOf: (cell: Cell) => string,
): Count[] {
  return cells.map((cell) => {
    const isOther = 'other' in cell;
    return { label: isOther ? messages.fleet.other : labelOf(cell), isOther, heartbeats: cell.heartbeats };
  });
}

/** Reads the counts of each dimension. The service counts models and chips together; here they are two dimensions. */
const COUNT_READERS = {
  app_version: (week: FleetWeek) => countCells(week.app_version, ({ value }) => textOf(value)),
  os_version: (week: FleetWeek) => countCells(week.os_version, ({ value }) => textOf(value)),
  mac_model: (week: FleetWeek) => countCells(week.hardware, ({ mac_model }) => textOf(mac_model)),
  soc_name: (week: FleetWeek) => countCells(week.hardware, ({ soc_name }) => textOf(soc_name)),
  ram_gb_bucket: (week: FleetWeek) => countCells(week.ram_gb_bucket, ({ value }) => textOf(value)),
  detector_compute: (week: FleetWeek) =>
    countCells(week.detector_compute, (cell) =>
      t(messages.fleet.configuredAndActual, {
        configured: textOf(cell.detector_compute),
        actual: textOf(cell.detector_compute_units_resolved),
      }),
    ),
};

export type Dimension = keyof typeof COUNT_READERS;

export const DIMENSIONS = Object.keys(COUNT_READERS) as Dimension[];

/** The counts of a week by one dimension: the largest first, that of the rare values last. */
export function countsOf(week: FleetWeek, dimension: Dimension): Count[] {
  const nameOf = dimension === 'mac_model' ? macModelName : () => undefined;
  const sums = new Map<string, Count>();
  for (const count of COUNT_READERS[dimension](week)) {
    const heartbeats = (sums.get(keyOf(count))?.heartbeats ?? 0) + count.heartbeats;
    sums.set(keyOf(count), { ...count, name: nameOf(count.label), heartbeats });
  }
  return [...sums.values()].toSorted(
    (a, b) => Number(a.isOther) - Number(b.isOther) || b.heartbeats - a.heartbeats,
  );
}

/** The share of each count in whole percent. They are rounded by the largest remainder, so that their sum is 100. */
export function percentagesOf(counts: readonly Count[]): number[] {
  const total = totalOf(counts);
  const exact = counts.map(({ heartbeats }) => (total > 0 ? (100 * heartbeats) / total : 0));
  const rounded = exact.map(Math.floor);
  const missing = total > 0 ? 100 - rounded.reduce((sum, each) => sum + each, 0) : 0;
  const byRemainder = exact
    .map((share, index) => ({ index, remainder: share % 1 }))
    .toSorted((a, b) => b.remainder - a.remainder);
  for (const { index } of byRemainder.slice(0, missing)) rounded[index]! += 1;
  return rounded;
}

/** The sum of the counts. The service sends no other total of a week. */
export const totalOf = (counts: readonly Count[]) =>
  counts.reduce((sum, { heartbeats }) => sum + heartbeats, 0);
