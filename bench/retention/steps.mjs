// The steps of the bench. Each receives the same context: the URL of the database, a query runner on it, a function that
// prints progress, `month(n)` for the first day of the n-th month from 0, and the night `asOf` on which retention runs.
import { ScriptError } from '../../scripts/prepare.mjs';
import { measureWithWal, median, measureTime } from '../measure.mjs';
import { makeTelemetry } from '../growth/telemetry-rows.mjs';
import { runRetention } from './run-retention.mjs';

const DAY_MS = 86_400_000;
const YEARS_KEPT = 2;
/** The number of days that are deleted one after the other: those of the shortest month (28) without the last one, which stays. */
const NIGHTS = 27;
const dayText = (first, days = 0) => new Date(first.getTime() + days * DAY_MS).toISOString().slice(0, 10);

// Fills `telemetry`. Returns its size, its number of rows and partitions, and the time.
export async function fillTelemetry({ runner, progress, month, asOf }, { rows, seed }) {
  const { createPartitions } = await import('../../dist/telemetry/partitions.js');
  const first = month(0);
  await createPartitions(runner, first, asOf);
  const end = new Date(dayText(asOf));
  const { ms } = await measureTime(() => makeTelemetry(runner, { rows, seed, first, end }, progress));
  // In production, autovacuum does this in the course of months.
  await runner.query('vacuum (analyze) telemetry');
  progress('vacuumed');
  const [size] = await runner.query(
    `select count(*)::integer as partitions, sum(pg_total_relation_size(relid))::float8 as size,
       (select count(*)::integer from telemetry) as rows
     from pg_partition_tree('telemetry') where isleaf`,
  );
  return { ...size, ms };
}

// Rolls up each week on the day on which the first retention run after midnight would have done it. Returns the time of each
// roll-up.
export async function measureRollUp({ runner, progress, month, asOf: last }) {
  const { rollUpWeeks } = await import('../../dist/telemetry/roll-up.js');
  const weeks = [];
  for (let asOf = month(0); asOf <= last; asOf = new Date(asOf.getTime() + DAY_MS)) {
    const { ms, result } = await measureTime(() => rollUpWeeks(runner, asOf, asOf));
    if (result === 1) weeks.push(ms);
    if (result === 1 && weeks.length % 20 === 0) progress(`${weeks.length} weeks counted`);
  }
  await runner.query('vacuum (analyze) fleet_cell, fleet_latency, crash_week, fleet_week');
  return weeks;
}

// Measures the queries of the fleet page on connections with the statement timeout that requests have.
export async function measureFleetPage({ url, progress }) {
  const { DataSource } = await import('typeorm');
  const { requestDataSourceOptions } = await import('../../dist/database/data-source.js');
  const { readFleet } = await import('../../dist/telemetry/fleet.queries.js');
  const { readCrashGroups } = await import('../../dist/telemetry/crash-groups.queries.js');
  const readPage = async (dataSource, weeks) => [
    await readFleet(dataSource, weeks),
    await readCrashGroups(dataSource, weeks, { sigs: [], includesOnlySigs: false }),
  ];
  const dataSource = await new DataSource(requestDataSourceOptions(url)).initialize();
  const measurements = [];
  for (const weeks of [12, 105]) {
    const runs = [];
    for (let run = 0; run < 20; run++)
      runs.push(await measureTime(() => readPage(dataSource, weeks).catch(nullOnTimeout)));
    const completed = runs.filter(({ result }) => result !== null);
    const size = completed.length > 0 ? JSON.stringify(completed[0].result).length : null;
    const ms = median(runs.map((run) => run.ms));
    measurements.push({ weeks, ms, size, timeouts: runs.length - completed.length });
    progress(`fleet page of ${weeks} weeks`);
  }
  await dataSource.destroy();
  return measurements;
}

function nullOnTimeout(error) {
  const queryCanceled = '57014';
  if (error.code === queryCanceled) return null;
  throw error;
}

// Measures the weekly counts of the fleet page, computed from the telemetry rows instead of the roll-ups.
export async function measureFromRows({ runner, progress }) {
  const { DIMENSIONS } = await import('../../dist/telemetry/telemetry.fields.js');
  const since = (from) =>
    `from telemetry where received_on >= date '${from}' and received_on < date '2026-11-16'`;
  // 2024-01-01 is a Monday, so this is the number of a week. Both periods end with the last week before `AS_OF` of
  // retention.mjs.
  const week = `(received_on - date '2024-01-01') / 7`;
  const measurements = [];
  for (const [span, from] of [
    ['one week', '2026-11-09'],
    ['24 months', '2024-11-18'],
  ]) {
    const statements = [
      ...Object.values(DIMENSIONS).map(
        (fields) => `select ${week}, ${fields}, count(*) ${since(from)} group by ${week}, ${fields}`,
      ),
      `select ${week}, soc_name, percentile_disc(array[0.5, 0.9, 0.95]) within group (order by recent_inference_ms)
       ${since(from)} and recent_inference_ms is not null group by 1, 2`,
      `select ${week}, crash_sig, coalesce(crash_app_version, app_version), mode() within group (order by crash_label),
         mode() within group (order by crash_frame), count(*) ${since(from)} and crash_sig is not null group by 1, 2, 3`,
    ];
    const { ms } = await measureTime(async () => {
      for (const statement of statements) await runner.query(statement);
    });
    measurements.push({ span, ms });
    progress(`counts from the rows, ${span}`);
  }
  return measurements;
}

// Measures three ways to delete a month: the partition of the oldest month is dropped, and from each of the next two months
// the same number of rows is deleted, in batches and by one statement. Then measures the nights that each delete one day.
export async function measureDeletion({ runner, progress, month }) {
  const { deleteExpired } = await import('../../dist/retention/deletion.js');
  const { partitionOf } = await import('../../dist/telemetry/partitions.js');
  const { createRetentionPolicy } = await import('../../dist/retention/policy.js');
  const rule = createRetentionPolicy({ taxRetentionYears: 10 }).find(({ table }) => table === 'telemetry');
  // Deletes all days before the day that is `days` days after `first`. A day is deleted once it is two years old, so `asOf` is two
  // years after the last day to delete.
  const deleteBefore = (first, days = 0) => {
    const asOf = new Date(first.getTime() + (days - 1) * DAY_MS);
    asOf.setUTCFullYear(asOf.getUTCFullYear() + YEARS_KEPT);
    return deleteExpired(runner, rule, { asOf, now: asOf });
  };
  // The last day of each month stays, because the deletion drops the partition of a month of which no day is kept. It deletes the
  // 28th and the 29th of February together, so in a month of 29 days both stay.
  const length = Math.min(month(2) - month(1), month(3) - month(2)) / DAY_MS;
  const days = length < 30 ? NIGHTS : length - 1;
  const vacuum = (first) =>
    measureWithWal(runner, () => runner.query(`vacuum ${partitionOf(dayText(first))}`));
  const dropped = await measureWithWal(runner, () => deleteBefore(month(1)));
  progress('a month dropped');
  const batches = await measureWithWal(runner, () => deleteBefore(month(1), days));
  const batchesVacuum = await vacuum(month(1));
  progress('a month deleted in batches');
  const [from, to] = [dayText(month(2)), dayText(month(2), days)];
  const oneDelete = await measureWithWal(runner, async () => {
    const sql = 'delete from telemetry where received_on >= $1 and received_on < $2';
    return (await runner.query(sql, [from, to]))[1];
  });
  const oneDeleteVacuum = await vacuum(month(2));
  progress('a month deleted by one statement');
  await deleteBefore(month(3));
  const nights = [];
  for (let night = 1; night <= NIGHTS; night++)
    nights.push(await measureWithWal(runner, () => deleteBefore(month(3), night)));
  progress('days deleted, night after night');
  return { dropped, batches, batchesVacuum, oneDelete, oneDeleteVacuum, nights };
}

// Measures a complete run of `RetentionService` after a long outage, and checks that no expired row is left.
export async function measureCompleteRun({ url, runner, progress, asOf }) {
  const { firstDayKept } = await import('../../dist/retention/cutoff.js');
  // The data ends at a fixed night, so that time must not be compared with the real time of the database.
  const run = await measureWithWal(runner, () => runRetention(url, asOf));
  const [{ oldest }] = await runner.query('select min(received_on)::text as oldest from telemetry');
  if (oldest !== firstDayKept(asOf, YEARS_KEPT * 12))
    throw new ScriptError(`The run did not delete the rows of ${oldest}.`);
  progress('a complete run');
  return run;
}
