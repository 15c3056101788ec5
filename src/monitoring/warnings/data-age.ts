import { DataSource } from 'typeorm';
import { DAY_MS } from '../../core/clock.js';
import { queryOne } from '../../database/sql.js';
import { createOldestDueQuery } from '../../retention/deletion.js';
import { ERASURE_DEADLINE_DAYS, IS_WAITING } from '../../erasure/erasure.view.js';
import { hasFinished } from '../../retention/finished-runs.js';
import type { RetentionRule } from '../../retention/policy.js';
import { REWRITTEN_TABLES } from '../../retention/rewrite.js';

/** The ages of stored data and the results of retention runs. `mooring status --json` prints them. Days are `YYYY-MM-DD`. */
export interface DataAges {
  /** The time of the database's clock. */
  readonly now: Date;
  /** The oldest day of telemetry outside the inbox; null if there is none. */
  readonly telemetry: string | null;
  /** The oldest day of telemetry that has not moved to `telemetry` yet (the view `telemetry_waiting`); null if there is none. */
  readonly telemetry_inbox: string | null;
  /** The earliest day on which a stored activation ended; null if none ended. */
  readonly ended_activation: string | null;
  /** The earliest deadline (30 days after the receipt) of the waiting erasure requests; null if none waits. */
  readonly erasure_due: string | null;
  /** The earliest day, past or future, for which a waiting erasure request is scheduled; null if none waits. */
  readonly erasure_scheduled_for: string | null;
  /**
   * By table of the policy: the day on which the period of the oldest overdue row started (`RetentionRule.keptFrom`);
   * null if no row has been due for more than a day.
   */
  readonly overdue: Readonly<Record<string, string | null>>;
  /**
   * The end of the last retention run for its own day; null before the first one. Runs for another day (`--as-of`) do not
   * count.
   */
  readonly retention_finished: Date | null;
  /** When the database was created. */
  readonly database_since: Date;
  /**
   * The day of the last rewrite of a table file whose next rewrite was overdue when the last finished retention run started: the
   * earliest such day; null if there is none.
   */
  readonly file_rewrite: string | null;
  /** The tables of the steps that failed in the last finished retention run. */
  readonly failed: readonly string[];
}

// `retention_finished` ignores manual runs for another day: they do not show whether today's data was deleted. `file_rewrite`
// and `failed` use every finished run, because each run rewrites files and runs every step. The rewrite of a file is overdue
// after 2 days, or after 25 days for a large one: the intervals of `retention/rewrite.ts` with time for retries. A table that only
// an earlier version rewrote ($1 does not have it) is never overdue.
const AGES = `
  select clock_timestamp() as now,
         (select min(received_on) from telemetry)::text as telemetry,
         (select min(received_on) from telemetry_waiting)::text as telemetry_inbox,
         (select min(ended_at)::date from activation where ended_at is not null)::text as ended_activation,
         (select min(received_on) + ${ERASURE_DEADLINE_DAYS} from erasure_request
          where ${IS_WAITING})::text as erasure_due,
         (select min(runs_at)::date from erasure_request
          where ${IS_WAITING})::text as erasure_scheduled_for,
         (select finished_at from retention_run where ${hasFinished('$2')} and as_of::date = started_at::date
          order by finished_at desc limit 1) as retention_finished,
         (select min(applied_at) from schema_migration) as database_since,
         (select min(rewritten_at)::date from file_rewrite
          where table_name = any($1) and rewritten_at + case when is_large then interval '25 days' else interval '2 days' end
            < (select max(started_at) from retention_run where ${hasFinished('$2')}))::text as file_rewrite,
         coalesce((select failed from retention_run where ${hasFinished('$2')}
                   order by started_at desc limit 1), '{}') as failed`;

/**
 * Reads the age of the data, and not only the results of retention runs, because every kind of failure makes data too old. Rows
 * are deleted within an hour after they are due. They count as overdue a day after they are due, because an outage can last for
 * hours.
 * @param now the service's clock, which decides what is due
 */
export async function readDataAges(
  dataSource: DataSource,
  rules: readonly RetentionRule[],
  now: Date,
): Promise<DataAges> {
  const yesterday = new Date(now.getTime() - DAY_MS);
  const queries = rules.map((rule, index) => createOldestDueQuery(rule, yesterday, `$${index + 3}`));
  const days = queries.map(({ sql }) => `(${sql})`).join(', ');
  const values = [REWRITTEN_TABLES, now, ...queries.map(({ value }) => value)];
  const { overdue_days, ...ages } = await queryOne<
    Omit<DataAges, 'overdue'> & { overdue_days: (string | null)[] }
  >(dataSource, `${AGES}, array[${days}] as overdue_days`, values);
  const overdue = Object.fromEntries(rules.map(({ table }, index) => [table, overdue_days[index]!]));
  return { ...ages, overdue };
}

/** Returns `retention_finished`; before the first such run, the time at which the database was created. */
export const lastRetentionOrCreation = ({ retention_finished, database_since }: DataAges): Date =>
  retention_finished ?? database_since;
