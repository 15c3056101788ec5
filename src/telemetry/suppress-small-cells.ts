/** The heartbeats that ten machines send in a week, 28 each (docs/privacy.md#telemetry). Crashes have no such limit. */
export const SMALL_CELL_THRESHOLD = 280;

/**
 * The largest number of values that a table of the fleet page shows for one week. The limit keeps the page fast if a client sends
 * so many heartbeats that each of many invented values has enough of them.
 */
export const MAX_SHOWN_CELLS = 200;

/** The number of heartbeats with the same value, or with the same pair of values. */
export interface Cell {
  readonly value: string | null;
  readonly value_2: string | null;
  readonly heartbeats: number;
}

/** A cell that staff see. */
export interface ShownCell extends Cell {
  /** True for the cell that sums up the suppressed cells. */
  readonly is_other: boolean;
}

/**
 * Selects the cells of a table that may be shown. Cells below the threshold, and those after the MAX_SHOWN_CELLS largest, are
 * combined into one `other` cell. While that cell is below the threshold, the next smallest cell is added to it, so that no small
 * cell can be computed by subtracting the shown cells from a known total. If the sum of all cells is below the threshold, none is
 * shown.
 * @param cells the cells with at least `SMALL_CELL_THRESHOLD` heartbeats
 * @param rest the heartbeats of all smaller cells together, which the caller has added up
 */
export function suppressSmallCells(cells: readonly Cell[], rest: number): ShownCell[] {
  // Equal counts are ordered by value, so that the choice of the suppressed cell reveals nothing.
  const remaining = cells.toSorted((a, b) => b.heartbeats - a.heartbeats || (key(a) < key(b) ? -1 : 1));
  let suppressed = remaining.splice(MAX_SHOWN_CELLS).reduce((sum, { heartbeats }) => sum + heartbeats, rest);
  while (suppressed > 0 && suppressed < SMALL_CELL_THRESHOLD && remaining.length > 0)
    suppressed += remaining.pop()!.heartbeats;
  const shown = remaining.map((cell) => ({ ...cell, is_other: false }));
  if (suppressed < SMALL_CELL_THRESHOLD) return shown;
  return [...shown, { value: null, value_2: null, is_other: true, heartbeats: suppressed }];
}

const key = ({ value, value_2 }: Cell) => JSON.stringify([value, value_2]);
