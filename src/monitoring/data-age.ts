import { DataSource } from 'typeorm';
import { DAY_MS } from '../core/clock.js';
import { queryOne } from '../database/sql.js';
import { createOldestDueQuery } from '../retention/deletion.js';
import { ERASURE_DEADLINE_DAYS } from '../erasure/erasure.view.js';
import type { RetentionRule } from '../retention/policy.js';

/** The oldest day (`YYYY-MM-DD`) of each kind of data that the retention policy deletes; null if there is no row. */
export interface DataAges {
  /** The time of the database's clock. */
  readonly now: Date;
  readonly telemetry: string | null;
  readonly telemetry_inbox: string | null;
  readonly ended_activation: string | null;
  /** The day on which the most urgent deletion request is due. */
  readonly erasure_due: string | null;
  /** The day on which the oldest pending deletion request should have been carried out. */
  readonly erasure_runs: string | null;
  /** By table of the policy: the day of the oldest row that should have been deleted a day ago; null if there is none. */
  readonly overdue: Readonly<Record<string, string | null>>;
  /** When the last scheduled retention run finished; null before the first. */
  readonly retention_finished: Date | null;
  /** When the database was created. */
  readonly database_since: Date;
  /** The day of the oldest table file that the last retention run should have rewritten. */
  readonly file_rewrite: string | null;
  /** The tables where the last retention run failed. */
  readonly failed: readonly string[];
}

// A manual run for another day is ignored: it does not show whether today's data was deleted.
const AGES = `
  select clock_timestamp() as now,
         (select min(received_on) from telemetry)::text as telemetry,
         (select min(received_on) from telemetry_waiting)::text as telemetry_inbox,
         (select min(ended_at)::date from activation where ended_at is not null)::text as ended_activation,
         (select min(received_on) + ${ERASURE_DEADLINE_DAYS} from erasure_request
          where honoured_at is null and cancelled_at is null)::text as erasure_due,
         (select min(runs_at)::date from erasure_request
          where honoured_at is null and cancelled_at is null)::text as erasure_runs,
         (select finished_at from retention_run where finished_at is not null and as_of::date = started_at::date
          order by finished_at desc limit 1) as retention_finished,
         (select min(applied_at) from schema_migration) as database_since,
         (select min(rewritten_at)::date from file_rewrite
          where rewritten_at + case when is_large then interval '25 days' else interval '2 days' end
            < (select max(started_at) from retention_run where finished_at is not null))::text as file_rewrite,
         coalesce((select failed from retention_run where finished_at is not null
                   order by started_at desc limit 1), '{}') as failed`;

/**
 * Reads the age of the data instead of the success of jobs, because every kind of failure makes data too old. Due rows are
 * deleted within the hour; a rule counts as overdue a day later, because an outage can take a night.
 * @param now the service's clock, which decides what is due
 */
export async function readDataAges(
  dataSource: DataSource,
  rules: readonly RetentionRule[],
  now: Date,
): Promise<DataAges> {
  const yesterday = new Date(now.getTime() - DAY_MS);
  const queries = rules.map((rule, index) => createOldestDueQuery(rule, yesterday, `$${index + 1}`));
  const days = queries.map(({ sql }) => `(${sql})`).join(', ');
  const values = queries.map(({ value }) => value);
  const { overdue_days, ...ages } = await queryOne<
    Omit<DataAges, 'overdue'> & { overdue_days: (string | null)[] }
  >(dataSource, `${AGES}, array[${days}] as overdue_days`, values);
  const overdue = Object.fromEntries(rules.map(({ table }, index) => [table, overdue_days[index]!]));
  return { ...ages, overdue };
}

/** The end of the last retention run; before the first one, the creation of the database. */
export const lastRetentionOrCreation = ({ retention_finished, database_since }: DataAges): Date =>
  retention_finished ?? database_since;
