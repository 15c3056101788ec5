import { QueryRunner } from 'typeorm';
import { DAY_MS, utcDay } from '../core/clock.js';
import { execute, queryOne, queryRows } from '../database/sql.js';
import { suppressSmallCells, SMALL_CELL_THRESHOLD, type Cell } from './suppress-small-cells.js';
import { DIMENSIONS } from './telemetry.fields.js';

/**
 * Counts each week that has ended and is not yet counted, oldest first. A week is counted again only if it was counted before it
 * ended, and has no counts.
 * @param asOf the earlier of `now` and the time for which the retention run applies the policy
 * @returns the number of weeks
 */
export async function rollUpWeeks(runner: QueryRunner, asOf: Date, now: Date): Promise<number> {
  await execute(runner, DELETE_EMPTY_UNENDED_WEEKS, [utcDay(now)]);
  const weekEnds = await findWeeksToCount(runner, asOf, now);
  for (const weekEnd of weekEnds) await rollUpWeek(runner, weekEnd);
  return weekEnds.length;
}

// A run whose clock was ahead may have counted weeks that have not ended (docs/decisions/0015). The empty ones are counted again.
const DELETE_EMPTY_UNENDED_WEEKS = `
  delete from fleet_week w where week_end >= $1::date
    and not exists (select from fleet_cell where week_end = w.week_end)
    and not exists (select from crash_week where week_end = w.week_end)`;

// The first week is the one after the last counted week that ended before the day of `now`, or the week of the oldest row if none
// is counted. The last one is the last that ended before the day of `asOf` and of which no row waits in an inbox
// (telemetry_waiting).
async function findWeeksToCount(runner: QueryRunner, asOf: Date, now: Date): Promise<string[]> {
  const { first_week_end, first_open_day } = await queryOne<{
    first_week_end: string;
    first_open_day: string;
  }>(
    runner,
    `select coalesce((select max(week_end) + 7 from fleet_week where week_end < $2::date),
                     (select date_trunc('week', min(received_on))::date + 6 from telemetry), $1::date)::text as first_week_end,
            least((select min(received_on) from telemetry_waiting), $1::date)::text as first_open_day`,
    [utcDay(asOf), utcDay(now)],
  );
  const weekEnds: string[] = [];
  for (let end = first_week_end; end < first_open_day; end = utcDay(new Date(Date.parse(end) + 7 * DAY_MS)))
    weekEnds.push(end);
  return weekEnds;
}

async function rollUpWeek(runner: QueryRunner, weekEnd: string): Promise<void> {
  await runner.manager.transaction(async () => {
    await execute(runner, 'insert into fleet_week values ($1)', [weekEnd]);
    for (const [dimension, fields] of Object.entries(DIMENSIONS))
      await countCells(runner, weekEnd, dimension, fields);
    await execute(runner, INSERT_LATENCY, [weekEnd]);
    await execute(runner, INSERT_CRASH_GROUPS, [weekEnd]);
    await execute(runner, UPDATE_CRASH_GROUP_STATES, [weekEnd]);
  });
}

const IN_WEEK = 'received_on between $1::date - 6 and $1::date';

async function countCells(
  runner: QueryRunner,
  weekEnd: string,
  dimension: string,
  [field, field_2 = 'null::text']: readonly string[],
): Promise<void> {
  const rows = await queryRows<Cell & { is_rest: boolean }>(
    runner,
    `with cell as materialized (
       select ${field} as value, ${field_2} as value_2, count(*) as heartbeats
       from telemetry where ${IN_WEEK} group by 1, 2)
     select value, value_2, heartbeats::float8, false as is_rest from cell where heartbeats >= ${SMALL_CELL_THRESHOLD}
     union all
     select null, null, coalesce(sum(heartbeats), 0)::float8, true from cell where heartbeats < ${SMALL_CELL_THRESHOLD}`,
    [weekEnd],
  );
  const cells = rows.filter(({ is_rest }) => !is_rest);
  const rest = rows.find(({ is_rest }) => is_rest)!.heartbeats;
  for (const cell of suppressSmallCells(cells, rest)) {
    await execute(
      runner,
      'insert into fleet_cell (week_end, dimension, value, value_2, is_other, heartbeats) values ($1, $2, $3, $4, $5, $6)',
      [weekEnd, dimension, cell.value, cell.value_2, cell.is_other, cell.heartbeats],
    );
  }
}

// For each chip (soc_name, the second field of the dimension `hardware`) the table stores only quantiles. It has no number of
// heartbeats, and no chip that is counted as `other`: from either, a small cell could be computed.
const INSERT_LATENCY = `
  insert into fleet_latency (week_end, soc_name, p50, p90, p95)
  select $1::date, soc_name, q[1], q[2], q[3]
  from (select soc_name, percentile_disc(array[0.5, 0.9, 0.95]) within group (order by recent_inference_ms) as q
        from telemetry where ${IN_WEEK} and recent_inference_ms is not null and soc_name in
          (select value_2 from fleet_cell where week_end = $1::date and dimension = 'hardware' and not is_other)
        group by soc_name having count(*) >= ${SMALL_CELL_THRESHOLD}) chip`;

/** Each row is a crash group in one version. The limit keeps the page fast if a client sends many signatures. */
const MAX_CRASH_ROWS_PER_WEEK = 2_000;

// Crash groups have no minimum count: a group identifies a place in the application and no machine.
const INSERT_CRASH_GROUPS = `
  insert into crash_week (week_end, crash_sig, app_version, crash_label, crash_frame, crashes)
  select $1::date, crash_sig, coalesce(crash_app_version, app_version),
         mode() within group (order by crash_label), mode() within group (order by crash_frame), count(*)
  from telemetry where ${IN_WEEK} and crash_sig is not null
  group by crash_sig, coalesce(crash_app_version, app_version)
  order by count(*) desc, crash_sig limit ${MAX_CRASH_ROWS_PER_WEEK}`;

// `last_week_end` is the last week in which the group crashed: retention deletes the state together with this week.
// This runs after the insert, and setting a state locks the table before it reads the last week (`CrashGroupsService.set`): either
// this update waits for the new state and changes it, or the state is set after this transaction and gets the new week.
const UPDATE_CRASH_GROUP_STATES = `
  update crash_group_state set last_week_end = $1::date
  where crash_sig in (select crash_sig from crash_week where week_end = $1::date)`;
