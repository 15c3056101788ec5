import { DataSource } from 'typeorm';
import { DAY_MS } from '../core/clock.js';
import { queryOne } from '../database/sql.js';
import { createOldestDueQuery } from '../retention/deletion.js';
import { ERASURE_DEADLINE_DAYS } from '../erasure/erasure.view.js';
import type { RetentionRule } from '../retention/policy.js';

/** The oldest day (`YYYY-MM-DD`) of what is to leave, null where there is none; and by which clock. */
export interface DataAges {
  /** What the database's clock says. */
  readonly now: Date;
  readonly telemetry: string | null;
  readonly telemetry_inbox: string | null;
  readonly ended_activation: string | null;
  /** The day that the most urgent deletion request is due. */
  readonly erasure_due: string | null;
  /** The day on which the oldest one that waits should have been carried out. */
  readonly erasure_runs: string | null;
  /** By each table of the policy: the day from which the oldest row counts that was due a day ago; null where none was. */
  readonly overdue: Readonly<Record<string, string | null>>;
  /** When the last retention run of the schedule finished; null where none has. */
  readonly retention_finished: Date | null;
  /** Since when the database exists. */
  readonly database_since: Date;
  /** The day of the oldest file that should have been rewritten before the last retention run. */
  readonly file_rewrite: string | null;
  /** The tables where the last retention run failed. */
  readonly failed: readonly string[];
}

// A run by hand for another day says nothing of today.
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
 * Watches the age of the data, not the success of a job: whatever goes wrong, this is what it shows as. What is due leaves
 * within the hour; a rule is overdue a day later, because an outage may take a night.
 * @param now the service's clock, by which the rules are due
 */
export async function readDataAges(
  dataSource: DataSource,
  rules: readonly RetentionRule[],
  now: Date,
): Promise<DataAges> {
  const yesterday = new Date(now.getTime() - DAY_MS);
  const looks = rules.map((rule, index) => createOldestDueQuery(rule, yesterday, `$${index + 1}`));
  const days = looks.map(({ sql }) => `(${sql})`).join(', ');
  const values = looks.map(({ value }) => value);
  const { overdue_days, ...ages } = await queryOne<
    Omit<DataAges, 'overdue'> & { overdue_days: (string | null)[] }
  >(dataSource, `${AGES}, array[${days}] as overdue_days`, values);
  const overdue = Object.fromEntries(rules.map(({ table }, index) => [table, overdue_days[index]!]));
  return { ...ages, overdue };
}

/** Since when no retention run has finished: the last one's end, or the making of a database where none ever did. */
export const lastFinished = ({ retention_finished, database_since }: DataAges): Date =>
  retention_finished ?? database_since;
