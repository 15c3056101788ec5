import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { Fleet, type TelemetryValues } from './fleet-harness.js';

/*
 * The tests combine all responses, as staff could do to find out about a single machine. A machine that is always on sends 28
 * heartbeats a week, so a count below 280 may come from fewer than ten machines, and is small. Mac and chip are one table, because
 * a Mac implies its chip.
 */

const TABLES = ['app_version', 'os_version', 'hardware', 'ram_gb_bucket', 'detector_compute'] as const;
type Table = (typeof TABLES)[number];
/** The fields of tables with two fields. */
const FIELDS: Partial<Record<Table, readonly (keyof TelemetryValues)[]>> = {
  hardware: ['mac_model', 'soc_name'],
  detector_compute: ['detector_compute', 'detector_compute_units_resolved'],
};
/** The Mondays of the weeks. */
const WEEKS = ['2026-10-26', '2026-11-02', '2026-11-09'];
const RUN_DAY = '2026-11-16';

/** Heartbeats with the same content. */
interface Group {
  readonly week: number;
  readonly heartbeats: number;
  readonly values: TelemetryValues;
}
interface ShownCell {
  readonly other?: true;
  readonly heartbeats: number;
}
type Shown = Readonly<Record<Table, readonly ShownCell[]>> & {
  readonly week_end: string;
  readonly latency: readonly { readonly soc_name: string }[];
};

// The distribution is skewed, as in a real fleet: a few frequent values and many rare ones.
const value = (name: string) =>
  fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom(`${name} 1`, `${name} 2`) },
    { weight: 2, arbitrary: fc.constantFrom(null, 'other', `${name} 3`) },
    { weight: 1, arbitrary: fc.integer({ min: 4, max: 9 }).map((rare) => `${name} ${rare}`) },
  );
const values = fc.record({
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
const group = fc.record({ week: fc.nat({ max: WEEKS.length - 1 }), heartbeats, values });
const anyFleet = fc.array(group, { minLength: 1, maxLength: 24 });

const fleet = await Fleet.start();

/** The responses for 1 week, 2 weeks and so on, up to one week more than WEEKS has, after these weeks are over. */
async function allResponses(groups: readonly Group[]): Promise<Shown[][]> {
  await fleet.clear();
  for (const { week, heartbeats, values } of groups) await fleet.receive(WEEKS[week]!, heartbeats, values);
  await fleet.runRetention(RUN_DAY);
  const answers: Shown[][] = [];
  for (let weeks = 1; weeks <= WEEKS.length + 1; weeks += 1) {
    answers.push((await fleet.readCounts(`?weeks=${weeks}`)).json.weeks);
  }
  return answers;
}

/** The true counts: the heartbeats of each value of a table. */
function countedValues(groups: readonly Group[], week: number, table: Table): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { values, heartbeats } of groups.filter((group) => group.week === week)) {
    const key = JSON.stringify((FIELDS[table] ?? [table]).map((field) => values[field] ?? null));
    counts.set(key, (counts.get(key) ?? 0) + heartbeats);
  }
  return counts;
}

const nameOf = ({ other: _other, heartbeats: _heartbeats, ...values }: ShownCell) =>
  JSON.stringify(Object.values(values));

const sum = (cells: readonly ShownCell[]) => cells.reduce((total, { heartbeats }) => total + heartbeats, 0);

/** The sums of all subsets of these counts. */
function subsetSums(counts: readonly number[]): number[] {
  return counts.reduce((sums, count) => [...sums, ...sums.map((sum) => sum + count)], [0]);
}

/**
 * All counts that the tables of a week show, or that can be derived from them: the total of a table less any named counts of a
 * table, and the difference of the totals of any two tables.
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

/** Checks that no combination of responses shows a count below 280, or lets it be derived. */
function expectNoSmallCounts(answers: readonly Shown[][]): void {
  for (const week of answers.flat()) {
    expect(derivableCounts(week).filter((count) => count !== 0 && count < 280)).toEqual([]);
  }
  // Each fleet has a heartbeat, so at least its week is shown.
  const longest = answers.at(-1)!;
  expect(longest).not.toEqual([]);
  // A response for fewer weeks is a part of that for more weeks, so that subtracting them shows nothing.
  for (const [index, answer] of answers.entries()) expect(answer).toEqual(longest.slice(0, index + 1));
}

/** Checks the tables of all weeks in a response, and the values with a latency. */
function expectTrueWeeks(shown: readonly Shown[], groups: readonly Group[]): void {
  for (const [index, monday] of WEEKS.entries()) {
    const week = shown.find(({ week_end }) => Date.parse(week_end) - Date.parse(monday) === 6 * 86_400_000);
    // A week that is missing in the response is checked as a week with empty tables. The check fails if the week has at least
    // 280 heartbeats.
    for (const table of TABLES) expectTrueCounts(week?.[table] ?? [], countedValues(groups, index, table));
    for (const { soc_name } of week?.latency ?? []) {
      const groupsWithLatency = groups.filter(
        ({ week, values }) =>
          week === index && values['soc_name'] === soc_name && values['recent_inference_ms'] !== null,
      );
      expect(
        groupsWithLatency.reduce((total, { heartbeats }) => total + heartbeats, 0),
      ).toBeGreaterThanOrEqual(280);
      expect(week!.hardware).toContainEqual(expect.objectContaining({ soc_name }));
    }
  }
}

// One test, because each fleet needs a retention run.
test('no count below 280 can be derived from any responses; each listed value has its true count, “other” combines at least two, and a table has all heartbeats of its week or none', async () => {
  await fc.assert(
    fc.asyncProperty(anyFleet, async (groups) => {
      const answers = await allResponses(groups);
      expectNoSmallCounts(answers);
      expectTrueWeeks(answers.at(-1)!, groups);
    }),
    { numRuns: 25 },
  );
});

/** Checks one table of a week. @param counts the true counts */
function expectTrueCounts(cells: readonly ShownCell[], counts: ReadonlyMap<string, number>): void {
  const total = [...counts.values()].reduce((sum, count) => sum + count, 0);
  const named = cells.filter(({ other }) => !other);
  for (const cell of named)
    expect([nameOf(cell), cell.heartbeats]).toEqual([nameOf(cell), counts.get(nameOf(cell))]);
  const unnamed = counts.size - named.length;
  expect(sum(cells)).toBe(total < 280 ? 0 : total);
  expect(cells.length - named.length).toBe(total >= 280 && unnamed > 0 ? 1 : 0);
  if (total >= 280) expect(unnamed).not.toBe(1);
}
