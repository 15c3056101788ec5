// The steps of the bench. Each gets the same `stage`: where the database is, a connection to it, whom to tell of progress,
// the first day of the n-th month, and the night that it is.
import { Fault } from '../../scripts/prepare.mjs';
import { measured, median, timed } from '../measure.mjs';
import { makeTelemetry } from '../growth/telemetry-rows.mjs';

const DAY_MS = 86_400_000;
const YEARS_KEPT = 2;
const NIGHTS = 27;
const day = (first, days = 0) => new Date(first.getTime() + days * DAY_MS).toISOString().slice(0, 10);

export async function fill({ runner, progress, month, asOf }, { rows, seed }) {
  const { createPartitions } = await import('../../dist/telemetry/partitions.js');
  const first = month(0);
  await createPartitions(runner, first, asOf);
  const end = new Date(day(asOf));
  const { ms } = await timed(() => makeTelemetry(runner, { rows, seed, first, end }, progress));
  // As the server does by itself in the course of months.
  await runner.query('vacuum (analyze) telemetry');
  progress('vacuumed');
  const [size] = await runner.query(
    `select count(*)::integer as partitions, sum(pg_total_relation_size(relid))::float8 as size,
       (select count(*)::integer from telemetry) as rows
     from pg_partition_tree('telemetry') where isleaf`,
  );
  return { ...size, ms };
}

// As if there had been a run each night.
export async function countWeeks({ runner, progress, month, asOf: last }) {
  const { rollUpWeeks } = await import('../../dist/telemetry/roll-up.js');
  const weeks = [];
  for (let asOf = month(0); asOf <= last; asOf = new Date(asOf.getTime() + DAY_MS)) {
    const { ms, result } = await timed(() => rollUpWeeks(runner, asOf));
    if (result === 1) weeks.push(ms);
    if (result === 1 && weeks.length % 20 === 0) progress(`${weeks.length} weeks counted`);
  }
  await runner.query('vacuum (analyze) fleet_cell, fleet_latency, crash_week, fleet_week');
  return weeks;
}

// Over the connections that requests use, with their limits.
export async function measureFleetPage({ url, progress }) {
  const { DataSource } = await import('typeorm');
  const { requestDataSource } = await import('../../dist/database/data-source.js');
  const { readFleet } = await import('../../dist/telemetry/fleet.queries.js');
  const dataSource = await new DataSource(requestDataSource(url)).initialize();
  const asked = [];
  for (const weeks of [12, 105]) {
    const answers = [];
    for (let turn = 0; turn < 20; turn++)
      answers.push(await timed(() => readFleet(dataSource, weeks).catch(nullWhereTooLate)));
    const answered = answers.filter(({ result }) => result !== null);
    const size = answered.length > 0 ? JSON.stringify(answered[0].result).length : null;
    const ms = median(answers.map((each) => each.ms));
    asked.push({ weeks, ms, size, tooLate: answers.length - answered.length });
    progress(`fleet page of ${weeks} weeks`);
  }
  await dataSource.destroy();
  return asked;
}

function nullWhereTooLate(error) {
  const queryCanceled = '57014';
  if (error.code === queryCanceled) return null;
  throw error;
}

// What the page would ask, were there no roll-ups: the same counts, by week, of the rows themselves.
export async function measureRawRows({ runner, progress }) {
  const { DIMENSIONS } = await import('../../dist/telemetry/telemetry.fields.js');
  const since = (from) =>
    `from telemetry where received_on >= date '${from}' and received_on < date '2026-11-16'`;
  const week = `(received_on - date '2024-01-01') / 7`;
  const asked = [];
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
      `select ${week}, crash_sig, app_version, count(*) ${since(from)} and crash_sig is not null group by 1, 2, 3`,
    ];
    const { ms } = await timed(async () => {
      for (const statement of statements) await runner.query(statement);
    });
    asked.push({ span, ms });
    progress(`the same of the rows, ${span}`);
  }
  return asked;
}

// A month, by three ways: the oldest is dropped, of the two after it as many rows are deleted. Then the nights of a month.
export async function expire({ runner, progress, month }) {
  const { deleteExpired } = await import('../../dist/retention/deletion.js');
  const { partitionOf } = await import('../../dist/telemetry/partitions.js');
  const { createRetentionPolicy } = await import('../../dist/retention/policy.js');
  const rule = createRetentionPolicy({ taxRetentionYears: 10 }).find(({ table }) => table === 'telemetry');
  // The run of the night after which this day is the first one kept.
  const upTo = (first, days = 0) => {
    const asOf = new Date(first.getTime() + (days - 1) * DAY_MS);
    asOf.setUTCFullYear(asOf.getUTCFullYear() + YEARS_KEPT);
    return deleteExpired(runner, rule, { asOf, now: asOf });
  };
  const days = Math.min(30, (month(1) - month(0)) / DAY_MS);
  const vacuum = (first) => measured(runner, () => runner.query(`vacuum ${partitionOf(day(first))}`));
  const dropped = await measured(runner, () => upTo(month(1)));
  progress('a month dropped');
  const batches = await measured(runner, () => upTo(month(1), days));
  const batchesVacuum = await vacuum(month(1));
  progress('a month deleted in batches');
  const [from, to] = [day(month(2)), day(month(2), days)];
  const plain = await measured(runner, async () => {
    const sql = 'delete from telemetry where received_on >= $1 and received_on < $2';
    return (await runner.query(sql, [from, to]))[1];
  });
  const plainVacuum = await vacuum(month(2));
  progress('a month deleted at once');
  await upTo(month(3));
  const nights = [];
  for (let night = 1; night <= NIGHTS; night++)
    nights.push(await measured(runner, () => upTo(month(3), night)));
  progress('days deleted, night after night');
  return { dropped, batches, batchesVacuum, plain, plainVacuum, nights };
}

// All of it through the front door, as after a long outage; it must leave nothing that is past its day.
export async function wholeRun({ url, runner, progress, asOf }) {
  const { DatabaseUrl } = await import('../../dist/database/data-source.js');
  const { firstDayKept } = await import('../../dist/retention/cutoff.js');
  const { RetentionService } = await import('../../dist/retention/retention.service.js');
  // The data's time is its own: the database is taken to share it.
  const clock = { now: () => asOf, agreesWith: () => true, hasJumpedAhead: () => false };
  const service = new RetentionService(new DatabaseUrl(url), clock, { taxRetentionYears: 10 });
  const run = await measured(runner, () => service.run(asOf));
  const [{ oldest }] = await runner.query('select min(received_on)::text as oldest from telemetry');
  if (run.result.failed.length > 0 || oldest !== firstDayKept(asOf, YEARS_KEPT * 12))
    throw new Fault(`The run left rows of ${oldest}: ${run.result.failed.map(({ error }) => error)}`);
  progress('a whole run');
  return run;
}
