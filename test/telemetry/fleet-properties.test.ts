import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { Fleet, type Says } from './fleet-harness.js';

/*
 * Staff who would like to know about a single machine take every answer to every question there is, and combine them.
 * "Small" is what may be fewer than ten machines: under 280 heartbeats a week. They know what they are shown, and
 * which chip a Mac has: so the two stand side by side.
 */

const TABLES = ['app_version', 'os_version', 'hardware', 'ram_gb_bucket', 'detector_compute'] as const;
type Table = (typeof TABLES)[number];
/** Fields that are shown together. */
const FIELDS: Partial<Record<Table, readonly (keyof Says)[]>> = {
  hardware: ['mac_model', 'soc_name'],
  detector_compute: ['detector_compute', 'detector_compute_units_resolved'],
};
const WEEKS = ['2026-10-26', '2026-11-02', '2026-11-09'];
const NIGHT = '2026-11-16';

/** Heartbeats with the same content. */
interface Group {
  readonly week: number;
  readonly heartbeats: number;
  readonly says: Says;
}
interface ShownCell {
  readonly other?: true;
  readonly heartbeats: number;
}
type Shown = Readonly<Record<Table, readonly ShownCell[]>> & {
  readonly week_end: string;
  readonly latency: readonly { readonly soc_name: string }[];
};

// Skewed as fleets are: a few values that most have, and many that few have.
const value = (name: string) =>
  fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom(`${name} 1`, `${name} 2`) },
    { weight: 2, arbitrary: fc.constantFrom(null, 'other', `${name} 3`) },
    { weight: 1, arbitrary: fc.integer({ min: 4, max: 9 }).map((rare) => `${name} ${rare}`) },
  );
const says = fc.record({
  app_version: value('app'),
  os_version: value('os'),
  mac_model: value('mac'),
  soc_name: value('chip'),
  ram_gb_bucket: value('ram'),
  detector_compute: fc.constantFrom('ane', 'gpu', null),
  detector_compute_units_resolved: value('units'),
  recent_inference_ms: fc.constantFrom(5, 50, null),
});
const heartbeats = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: 1, max: 60 }) },
  { weight: 2, arbitrary: fc.integer({ min: 100, max: 290 }) },
  { weight: 1, arbitrary: fc.integer({ min: 278, max: 282 }) },
  { weight: 1, arbitrary: fc.integer({ min: 500, max: 1_500 }) },
);
const group = fc.record({ week: fc.nat({ max: WEEKS.length - 1 }), heartbeats, says });
const anyFleet = fc.array(group, { minLength: 1, maxLength: 24 });

let fleet: Fleet;
beforeAll(async () => {
  fleet = await Fleet.start();
});
afterAll(() => fleet.service.close());

/** The answers to all there is to ask, once the weeks are over. */
async function everyAnswer(groups: readonly Group[]): Promise<Shown[][]> {
  await fleet.forget();
  for (const { week, heartbeats, says } of groups) await fleet.receive(WEEKS[week]!, heartbeats, says);
  await fleet.night(NIGHT);
  const answers: Shown[][] = [];
  for (let weeks = 1; weeks <= WEEKS.length + 1; weeks += 1) {
    answers.push((await fleet.ask(`?weeks=${weeks}`)).json.weeks);
  }
  return answers;
}

/** What was really sent: the heartbeats of each value of a table. */
function countedValues(groups: readonly Group[], week: number, table: Table): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { says, heartbeats } of groups.filter((group) => group.week === week)) {
    const key = JSON.stringify((FIELDS[table] ?? [table]).map((field) => says[field] ?? null));
    counts.set(key, (counts.get(key) ?? 0) + heartbeats);
  }
  return counts;
}

const nameOf = ({ other: _other, heartbeats: _heartbeats, ...values }: ShownCell) =>
  JSON.stringify(Object.values(values));

const sum = (cells: readonly ShownCell[]) => cells.reduce((total, { heartbeats }) => total + heartbeats, 0);

/** The sums of all that can be picked of some counts. */
function subsetSums(counts: readonly number[]): number[] {
  return counts.reduce((sums, count) => [...sums, ...sums.map((sum) => sum + count)], [0]);
}

/**
 * Every count that can be had from a week's tables: all there is, as each table has it, less whatever is named in one of
 * them; and of each two tables, how much more the one has.
 */
function derivableCounts(week: Shown): number[] {
  const totals = TABLES.map((table) => sum(week[table]));
  const named = TABLES.map((table) => week[table].filter(({ other }) => !other));
  const remainders = named.flatMap((cells) =>
    subsetSums(cells.map(({ heartbeats }) => heartbeats)).flatMap((part) =>
      totals.map((total) => total - part),
    ),
  );
  const cells = TABLES.flatMap((table) => week[table].map(({ heartbeats }) => heartbeats));
  const differences = totals.flatMap((one) => totals.map((other) => Math.abs(one - other)));
  return [...new Set([...cells, ...remainders, ...differences])];
}

test('no count under 280 is ever shown, alone or by subtraction, whatever is asked and combined', async () => {
  await fc.assert(
    fc.asyncProperty(anyFleet, async (groups) => {
      const answers = await everyAnswer(groups);
      for (const week of answers.flat()) {
        expect(derivableCounts(week).filter((count) => count !== 0 && count < 280)).toEqual([]);
      }
      // An answer for fewer weeks is a part of that for more: to subtract them gives nothing.
      const all = answers.at(-1)!;
      for (const [index, answer] of answers.entries()) expect(answer).toEqual(all.slice(0, index + 1));
    }),
    { numRuns: 20 },
  );
});

test('what is shown is true: named counts to the heartbeat, the rest of two values or more, all of it or nothing', async () => {
  await fc.assert(
    fc.asyncProperty(anyFleet, async (groups) => {
      const shown = (await everyAnswer(groups)).at(-1)!;
      for (const [index, monday] of WEEKS.entries()) {
        const week = shown.find(
          ({ week_end }) => Date.parse(week_end) - Date.parse(monday) === 6 * 86_400_000,
        );
        for (const table of week ? TABLES : [])
          expectOnlyCountedValues(week![table], countedValues(groups, index, table));
        for (const { soc_name } of week?.latency ?? []) {
          const answered = groups.filter(
            ({ week, says }) =>
              week === index && says['soc_name'] === soc_name && says['recent_inference_ms'] !== null,
          );
          expect(answered.reduce((total, { heartbeats }) => total + heartbeats, 0)).toBeGreaterThanOrEqual(
            280,
          );
          expect(week!.hardware).toContainEqual(expect.objectContaining({ soc_name }));
        }
      }
    }),
    { numRuns: 20 },
  );
});

function expectOnlyCountedValues(cells: readonly ShownCell[], counts: ReadonlyMap<string, number>): void {
  const total = [...counts.values()].reduce((sum, count) => sum + count, 0);
  const named = cells.filter(({ other }) => !other);
  for (const cell of named)
    expect([nameOf(cell), cell.heartbeats]).toEqual([nameOf(cell), counts.get(nameOf(cell))]);
  const unnamed = counts.size - named.length;
  expect(sum(cells)).toBe(total < 280 ? 0 : total);
  expect(cells.length - named.length).toBe(total >= 280 && unnamed > 0 ? 1 : 0);
  if (total >= 280) expect(unnamed).not.toBe(1);
}
