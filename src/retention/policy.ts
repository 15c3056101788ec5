import { Config } from '../core/config.js';
import { LICENSE_RETENTION_START } from '../licenses/license-end.js';
import { KEPT_MONTHS } from './kept-months.js';

/** How long the rows of a table are kept. */
export interface RetentionRule {
  readonly table: string;
  /** What the rows are, as text for readers of the privacy pages. */
  readonly description: string;
  /** How long the rows are kept, and from when, as text for readers of the privacy pages; with `{months}` or `{years}`. */
  readonly period: string;
  /** SQL expression over the row: the day or time at which its period starts; null while the period has not started. */
  readonly keptFrom: string;
  /** The length of the period; without `months` and `days` the row is due at `keptFrom`. */
  readonly months?: number;
  readonly days?: number;
  /** SQL statement that runs in a `with` clause of the deletion; its table `expired` has the ids of the rows to delete. */
  readonly beforeDelete?: string;
  /** Table or view of the rows that a run moves to `table` before it deletes, so that a dry run counts them too. */
  readonly movedFrom?: string;
  /** SQL condition over the row. A row for which it is false is not due. */
  readonly dueCondition?: string;
  /**
   * SQL condition over the row. A row that is due, and for which it is false, is not deleted yet. `$2` is 14 days before the
   * time of `--as-of` or before now, whichever is earlier.
   */
  readonly deleteCondition?: string;
}

const START_OF_NEXT_YEAR = `make_date(extract(year from recorded_on)::integer + 1, 1, 1)`;

/** The rule of a table whose rows are due as soon as they have expired. */
const untilExpiry = (table: string, description: string): RetentionRule => ({
  table,
  description,
  period: 'until they expire, at most a day longer',
  keptFrom: 'expires_at',
});

/** Creates the retention policy (docs/privacy.md#retention). Each table is listed here or in `EXEMPT_TABLES`. */
export const createRetentionPolicy = ({
  taxRetentionYears,
}: Pick<Config, 'taxRetentionYears'>): readonly RetentionRule[] => [
  {
    table: 'telemetry',
    description: 'Anonymous telemetry',
    period: '{months} from the day it was received',
    months: 24,
    keptFrom: 'received_on',
    movedFrom: 'telemetry_waiting',
  },
  {
    table: 'fleet_week',
    description: 'Weekly counts of the telemetry',
    period: "{months} from the week's end",
    months: 24,
    keptFrom: 'week_end',
  },
  {
    table: 'activation',
    description: 'Activations of licenses on machines',
    period: 'while active, and {months} after the end, at most as long as the license',
    months: KEPT_MONTHS.activation,
    keptFrom: 'ended_at',
  },
  {
    table: 'license',
    description: 'Licenses',
    period:
      'while valid, and {months} from the end or erasure, or from the day on which the end was recorded if that is later',
    months: KEPT_MONTHS.license,
    keptFrom: LICENSE_RETENTION_START,
    // A license is kept while an activation of it is active or ended within 14 days. A foreign key also protects it.
    deleteCondition: `not exists (select 1 from activation a
              where a.license_id = license.id and coalesce(a.ended_at, 'infinity') > $2)`,
    beforeDelete:
      'delete from activation where license_id in (select id from expired) and ended_at is not null',
  },
  {
    table: 'purchase',
    description: 'Purchases reported by the payment processor',
    period:
      '{years} from the end of the year in which they were reported, for tax; the e-mail address only until an erasure',
    keptFrom: START_OF_NEXT_YEAR,
    months: taxRetentionYears * 12,
    // Before a purchase is deleted, its licenses get a staff status with the same effect: `revoked` after a refund, and
    // `suspended` during a dispute that was never settled, unless staff have revoked them.
    beforeDelete: `update license l set purchase_id = null, staff_status = case
              when p.state = 'refunded' then 'revoked'
              when p.state = 'disputed' and l.staff_status = 'active' then 'suspended' else l.staff_status end
            from purchase p where p.id = l.purchase_id and p.id in (select id from expired)`,
  },
  untilExpiry('one_time_code', 'Sign-in codes sent by mail, and the release hints whose code was used'),
  untilExpiry('session', 'Sessions of the web pages'),
  untilExpiry('staff_link', 'One-time sign-in links of staff'),
  untilExpiry('passkey_challenge', 'Used challenges of passkey sign-ins and registrations'),
  untilExpiry('staff_token', 'Access tokens for scripts of staff'),
  // The period is six days, so that no row is older than seven days even if only one run a day succeeds.
  {
    table: 'mail_recipient',
    description: 'Recipients of queued mails',
    period: 'until the mail is sent, at most 7 days',
    keptFrom: 'since',
    days: 6,
  },
  {
    table: 'graphile_worker._private_jobs',
    description: 'Mails and other jobs that failed permanently',
    period: 'at most 3 days after the last attempt',
    // The last failed attempt set `run_at` to a time about six hours later. `created_at` does not show how old the failure is: the
    // mails of a large import wait for days before their first attempt. A job that will be attempted has no period, and so no day
    // on the public privacy page: a mail with a code that is being sent would show that an address has a license.
    keptFrom: 'case when attempts >= max_attempts and locked_at is null then run_at end',
    days: 2,
  },
  {
    table: 'outgoing_event',
    description: "Events for the vendor's program: ids of licenses and activations",
    period: 'at most 30 days while they wait, and at most 30 days after they were delivered or given up',
    keptFrom: 'coalesce(delivered_at, given_up_at, queued_at)',
    days: 29,
  },
  // A trigger refuses to delete entries that are younger than 24 months by the clock of the database, also in a run for a later
  // day. The condition excludes these entries.
  {
    table: 'audit_event',
    description: 'Audit trail: actions of staff and of commands, and activations that retention ended',
    period: '{months} from the action',
    months: KEPT_MONTHS.audit_event,
    keptFrom: 'at',
    dueCondition: `at <= now() - interval '24 months'`,
  },
  {
    table: 'erasure_request',
    description: 'Erasure requests; the e-mail address only while they wait',
    period: 'while they wait, and {months} after they were carried out or cancelled',
    months: KEPT_MONTHS.erasure_request,
    keptFrom: 'coalesce(honoured_at, cancelled_at)',
  },
  {
    table: 'repeated_erasure',
    description: 'Erasures that were carried out again after a restore',
    period: '{months} from the repetition',
    months: 12,
    keptFrom: 'repeated_at',
  },
  {
    table: 'retention_run',
    description: 'Retention runs, with the number of deleted rows',
    period: '{months} from the start of the run',
    months: 24,
    keptFrom: 'started_at',
  },
];

/** The tables whose rows no rule deletes, and why. */
export const EXEMPT_TABLES: Readonly<Record<string, string>> = {
  telemetry_inbox: 'contains the telemetry of today, which is moved after midnight (UTC)',
  telemetry_inbox_draining: 'contains the telemetry of past days while it is moved, after midnight (UTC)',
  fleet_cell: 'deleted with its week',
  fleet_latency: 'deleted with its week',
  crash_week: 'deleted with its week',
  crash_group_state: 'deleted with the last week in which its group crashed',
  replaced_key: 'deleted with its license',
  release_request: 'deleted with its activation; its language only until the decision',
  staff: 'kept until the person is removed',
  passkey: 'kept until the passkey or its person is removed',
  manifest: 'kept permanently: published versions, no personal data',
  database_identity: 'kept permanently: the identity of the database, no personal data',
  license_key_secret_check: 'kept permanently: the check value of a secret, no personal data',
  event_recording: 'one row while events are recorded, no personal data',
  file_rewrite: 'kept permanently: one row for each table, no personal data',
  schema_migration: 'kept permanently: the history of the database, no personal data',
  'graphile_worker.migrations': 'kept permanently: the history of the job queue, no personal data',
  'graphile_worker._private_tasks': 'kept permanently: the kinds of jobs, no personal data',
  'graphile_worker._private_job_queues': 'kept permanently: not used, no personal data',
  'graphile_worker._private_known_crontabs': 'kept permanently: not used, no personal data',
};
