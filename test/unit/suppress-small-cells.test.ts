import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  MAX_SHOWN_CELLS,
  suppressSmallCells,
  SMALL_CELL_THRESHOLD,
  type Cell,
  type ShownCell,
} from '../../src/telemetry/suppress-small-cells.js';

/** Small counts, as rare values have them, counts around the threshold, and large ones. */
const heartbeats = fc.oneof(
  fc.integer({ min: 1, max: SMALL_CELL_THRESHOLD - 1 }),
  fc.integer({ min: SMALL_CELL_THRESHOLD - 2, max: SMALL_CELL_THRESHOLD + 2 }),
  fc.integer({ min: SMALL_CELL_THRESHOLD, max: 5_000 }),
);
const value = fc.option(fc.constantFrom('other', 'null', 'Mac16,8', 'Mac14,2', 'M3', ''), { nil: null });
const cell = fc.record({ value, value_2: value, heartbeats });
/** All counts of a week: each pair of values once. */
const table = fc.uniqueArray(cell, { selector: nameOf, maxLength: 20 });

function nameOf({ value, value_2 }: Cell): string {
  return JSON.stringify([value, value_2]);
}

const sum = (cells: readonly Cell[]) => cells.reduce((total, { heartbeats }) => total + heartbeats, 0);

/** The cells that are shown, and the cells that are hidden. */
function publish(counted: readonly Cell[]) {
  const small = counted.filter(({ heartbeats }) => heartbeats < SMALL_CELL_THRESHOLD);
  const cells = counted.filter(({ heartbeats }) => heartbeats >= SMALL_CELL_THRESHOLD);
  const shown = suppressSmallCells(cells, sum(small));
  const named = shown.filter(({ is_other }) => !is_other);
  const names = new Set(named.map(nameOf));
  return {
    shown,
    named,
    other: shown.filter(({ is_other }) => is_other),
    hidden: counted.filter((cell) => !names.has(nameOf(cell))),
  };
}

const forAnyTable = (property: (counted: Cell[]) => void) =>
  fc.assert(fc.property(table, property), { numRuns: 1_000 });

describe('what is shown of a table', () => {
  test('has no cell under 280', () => {
    forAnyTable((counted) => {
      expect(publish(counted).shown.filter(({ heartbeats }) => heartbeats < 280)).toEqual([]);
    });
  });

  test('adds up to the total, or is empty where the total is too small', () => {
    forAnyTable((counted) => {
      const { shown } = publish(counted);
      expect(sum(shown)).toBe(sum(counted) < 280 ? 0 : sum(counted));
    });
  });

  test('shows each value with the count that was counted for it', () => {
    forAnyTable((counted) => {
      for (const { is_other: _, ...cell } of publish(counted).named) expect(counted).toContainEqual(cell);
    });
  });

  test('ends with one cell `other` without a value if cells are hidden and the total is not small, and else has none', () => {
    forAnyTable((counted) => {
      const { shown, other, hidden } = publish(counted);
      const expected = { value: null, value_2: null, is_other: true, heartbeats: sum(hidden) };
      expect(other).toEqual(hidden.length > 0 && sum(counted) >= 280 ? [expected] : []);
      if (other.length > 0) expect(shown.at(-1)).toEqual(expected);
    });
  });

  // The total minus the shown cells gives the hidden sum. It must cover several values and must not be small.
  test('hides at least two values, which together have at least 280 heartbeats, so that a subtraction reveals no small count', () => {
    forAnyTable((counted) => {
      const { shown, hidden } = publish(counted);
      if (shown.length === 0 || hidden.length === 0) return;
      expect(hidden.length).toBeGreaterThan(1);
      expect(sum(hidden)).toBeGreaterThanOrEqual(280);
    });
  });

  test('hides the smallest values, and no more of them than needed', () => {
    forAnyTable((counted) => {
      const { named, hidden } = publish(counted);
      const largest = Math.max(0, ...hidden.map(({ heartbeats }) => heartbeats));
      for (const { heartbeats } of named) expect(heartbeats).toBeGreaterThanOrEqual(largest);
      if (largest >= 280) expect(sum(hidden) - largest).toBeLessThan(280);
    });
  });

  test('does not depend on the order of the counts', () => {
    const orders = table.chain((counted) =>
      fc.tuple(
        fc.constant(counted),
        fc.shuffledSubarray(counted, { minLength: counted.length, maxLength: counted.length }),
      ),
    );
    fc.assert(
      fc.property(orders, ([counted, shuffled]) => {
        expect(publish(shuffled).shown).toEqual(publish(counted).shown);
      }),
    );
  });
});

const cellsOf = (...counts: number[]): Cell[] =>
  counts.map((heartbeats, index) => ({ value: `v${index}`, value_2: null, heartbeats }));
const valuesOf = (shown: readonly ShownCell[]) =>
  shown.map(({ value, is_other, heartbeats }) => [is_other ? 'other' : value, heartbeats]);

describe('at the threshold of 280 heartbeats:', () => {
  test.each<[string, Cell[], number, [string, number][]]>([
    ['no counts', [], 0, []],
    ['279 rare heartbeats are not shown', [], 279, []],
    ['280 rare heartbeats are shown', [], 280, [['other', 280]]],
    ['a value with 280 is shown', cellsOf(280), 0, [['v0', 280]]],
    ['279 rare heartbeats hide one more value', cellsOf(280), 279, [['other', 559]]],
    ['one rare heartbeat hides the smallest value', cellsOf(281, 280), 1, [['v0', 281], ['other', 281]]], // prettier-ignore
    ['280 rare heartbeats hide no more values', cellsOf(281, 280), 280, [['v0', 281], ['v1', 280], ['other', 280]]], // prettier-ignore
    ['of two values with equal counts the last by name is hidden', cellsOf(300, 300), 5, [['v0', 300], ['other', 305]]], // prettier-ignore
  ])('%s', (_what, cells, rest, shown) => {
    expect(valuesOf(suppressSmallCells(cells, rest))).toEqual(shown);
  });
});

test('of more than 200 values the largest are shown, so that no client can fill the page with invented ones', () => {
  const counts = Array.from({ length: MAX_SHOWN_CELLS + 2 }, (_, index) => 1_000 - index);
  const shown = valuesOf(suppressSmallCells(cellsOf(...counts), 5));
  expect(shown.slice(0, -1)).toEqual(valuesOf(suppressSmallCells(cellsOf(...counts.slice(0, 200)), 0)));
  expect(shown.at(-1)).toEqual(['other', 800 + 799 + 5]);
});
