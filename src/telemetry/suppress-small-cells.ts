/** What staff see of telemetry stands for at least ten machines: one sends 28 heartbeats a week (privacy, Telemetry). */
export const SMALL_CELL_THRESHOLD = 280;

/** How many heartbeats said the same. */
export interface Cell {
  readonly value: string | null;
  readonly value_2: string | null;
  readonly heartbeats: number;
}

export interface ShownCell extends Cell {
  /** The rest: what was said too rarely to be shown, together. */
  readonly is_other: boolean;
}

/**
 * What of a table of counts may be shown. Cells under the threshold fold into one that says `other`; where that is
 * itself too small, the next smallest join it, so that no cell can be found by subtracting what is shown from what is
 * known. Where all of them together are too few, nothing is shown.
 * @param cells those of at least the threshold @param rest heartbeats in smaller ones
 */
export function suppressSmallCells(cells: readonly Cell[], rest: number): ShownCell[] {
  // Of equal ones the order is the values' own: which one is hidden tells nothing.
  const kept = cells.toSorted((a, b) => b.heartbeats - a.heartbeats || (key(a) < key(b) ? -1 : 1));
  let other = rest;
  while (other > 0 && other < SMALL_CELL_THRESHOLD && kept.length > 0) other += kept.pop()!.heartbeats;
  const shown = kept.map((cell) => ({ ...cell, is_other: false }));
  if (other < SMALL_CELL_THRESHOLD) return shown;
  return [...shown, { value: null, value_2: null, is_other: true, heartbeats: other }];
}

const key = ({ value, value_2 }: Cell) => JSON.stringify([value, value_2]);
