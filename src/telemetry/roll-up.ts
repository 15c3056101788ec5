import { QueryRunner } from 'typeorm';
import { DAY_MS, utcDay } from '../core/clock.js';
import { suppressSmallCells, SMALL_CELL_THRESHOLD, type Cell } from './suppress-small-cells.js';

/**
 * All that is counted, and nothing else ever is: tables that share no field, so that none can be subtracted from another.
 * A Mac stands beside its chip, for everyone knows which chip it has: apart, the one could be subtracted from the other.
 * Each week is counted once, when it is over.
 */
export const DIMENSIONS: Readonly<Record<string, readonly [string, string?]>> = {
  app_version: ['app_version'],
  os_version: ['os_version'],
  hardware: ['mac_model', 'soc_name'],
  ram_gb_bucket: ['ram_gb_bucket'],
  // Configured, and what the detector got.
  detector_compute: ['detector_compute', 'detector_compute_units_resolved'],
};

/** Counts each week that is over and was not counted yet, oldest first. @returns how many */
export async function rollUpWeeks(runner: QueryRunner, asOf: Date): Promise<number> {
  const weekEnds = await weeksToCount(runner, asOf);
  for (const weekEnd of weekEnds) await rollUp(runner, weekEnd);
  return weekEnds.length;
}

// From the week after the last counted one, else from that of the oldest row, to the last that is over. A week of which
// rows still wait in the inbox is not over.
async function weeksToCount(runner: QueryRunner, asOf: Date): Promise<string[]> {
  const [known] = (await runner.query(
    `select (select max(week_end) + 7 from fleet_week)::text as next,
            (select date_trunc('week', min(received_on))::date + 6 from telemetry)::text as first,
            (select min(received_on) from telemetry_waiting)::text as waiting`,
  )) as { next: string | null; first: string | null; waiting: string | null }[];
  const from = known!.next ?? known!.first;
  if (from === null) return [];
  const today = utcDay(asOf);
  const open = known!.waiting !== null && known!.waiting < today ? known!.waiting : today;
  const weeks: string[] = [];
  for (let end = from; end < open; end = utcDay(new Date(Date.parse(end) + 7 * DAY_MS))) weeks.push(end);
  return weeks;
}

async function rollUp(runner: QueryRunner, weekEnd: string): Promise<void> {
  await runner.manager.transaction(async () => {
    await runner.query('insert into fleet_week values ($1)', [weekEnd]);
    for (const [dimension, fields] of Object.entries(DIMENSIONS))
      await countCells(runner, weekEnd, dimension, fields);
    await runner.query(LATENCY, [weekEnd]);
    await runner.query(CRASHES, [weekEnd]);
  });
}

const IN_WEEK = 'received_on between $1::date - 6 and $1::date';

async function countCells(
  runner: QueryRunner,
  weekEnd: string,
  dimension: string,
  [field, field_2 = 'null::text']: readonly [string, string?],
): Promise<void> {
  const rows = (await runner.query(
    `with cell as materialized (
       select ${field} as value, ${field_2} as value_2, count(*)::integer as heartbeats
       from telemetry where ${IN_WEEK} group by 1, 2)
     select value, value_2, heartbeats, false as is_rest from cell where heartbeats >= ${SMALL_CELL_THRESHOLD}
     union all
     select null, null, coalesce(sum(heartbeats), 0)::integer, true from cell where heartbeats < ${SMALL_CELL_THRESHOLD}`,
    [weekEnd],
  )) as (Cell & { is_rest: boolean })[];
  const rest = rows.find(({ is_rest }) => is_rest)!.heartbeats;
  for (const cell of suppressSmallCells(
    rows.filter(({ is_rest }) => !is_rest),
    rest,
  )) {
    await runner.query(
      'insert into fleet_cell (week_end, dimension, value, value_2, is_other, heartbeats) values ($1, $2, $3, $4, $5, $6)',
      [weekEnd, dimension, cell.value, cell.value_2, cell.is_other, cell.heartbeats],
    );
  }
}

// No count stands beside the quantiles, and no chip that is part of the rest: either could be subtracted from what is
// shown.
const LATENCY = `
  insert into fleet_latency (week_end, soc_name, p50, p90, p95)
  select $1::date, soc_name, q[1], q[2], q[3]
  from (select soc_name, percentile_disc(array[0.5, 0.9, 0.95]) within group (order by recent_inference_ms) as q
        from telemetry where ${IN_WEEK} and recent_inference_ms is not null and soc_name in
          (select value_2 from fleet_cell where week_end = $1::date and dimension = 'hardware' and not is_other)
        group by soc_name having count(*) >= ${SMALL_CELL_THRESHOLD}) chip`;

/** Of a week: whoever sends crashes that are alike to none must not make the page wait. */
const MOST_CRASHES = 2_000;

// From a count of 1: a group says where the application broke, and nothing about whom.
const CRASHES = `
  insert into crash_week (week_end, crash_sig, app_version, crash_label, crash_frame, crashes)
  select $1::date, crash_sig, coalesce(crash_app_version, app_version),
         mode() within group (order by crash_label), mode() within group (order by crash_frame), count(*)
  from telemetry where ${IN_WEEK} and crash_sig is not null
  group by crash_sig, coalesce(crash_app_version, app_version)
  order by count(*) desc, crash_sig limit ${MOST_CRASHES}`;
