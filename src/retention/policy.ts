import { Config } from '../core/config.js';
import { LICENSE_KEPT_FROM } from '../licenses/license-end.js';

/** How long what stands in a table stays: one line of the whole policy. */
export interface Rule {
  readonly table: string;
  /** What it is, for people. */
  readonly what: string;
  /** How long it stays, and from when, for people. */
  readonly kept: string;
  /** The day or the moment from which a row is kept, as SQL over the row; null while it stays. */
  readonly from: string;
  /** Rows leave so many months, or days, after that; none: at that moment. */
  readonly months?: number;
  readonly days?: number;
  /** What must be done to other tables first, as SQL; `gone` holds the ids that leave. */
  readonly first?: string;
  /** What else must hold for a row to be due, as SQL over the row. */
  readonly only?: string;
  /** What must hold before a row that is due is deleted, as SQL over the row; `$2` is two weeks ago. */
  readonly guard?: string;
}

const YEAR_AFTER = `make_date(extract(year from recorded_on)::integer + 1, 1, 1)`;

/** The whole policy (privacy, Retention and deletion). Every table stands here or in `KEPT`; a test holds that. */
export const policy = ({ taxRetentionYears }: Pick<Config, 'taxRetentionYears'>): readonly Rule[] => [
  {
    table: 'telemetry',
    what: 'Anonymous telemetry',
    kept: '24 months from the day it was received',
    from: 'received_on',
    months: 24,
  },
  {
    table: 'fleet_week',
    what: 'Weekly counts of the telemetry',
    kept: "24 months from the week's end",
    from: 'week_end',
    months: 24,
  },
  {
    table: 'activation',
    what: 'Which machines a license was active on',
    kept: 'while active, and 12 months after the end, at most as long as the license',
    from: 'ended_at',
    months: 12,
  },
  {
    table: 'license',
    what: 'Licenses',
    kept: 'while valid, and 12 months after they end or are erased, or after that was recorded if it was later',
    from: LICENSE_KEPT_FROM,
    months: 12,
    // Activations that never ended keep their license; the foreign key refuses where this statement would not.
    guard: `not exists (select 1 from activation a
              where a.license_id = license.id and coalesce(a.ended_at, 'infinity') > $2)`,
    first: 'delete from activation where license_id in (select id from gone) and ended_at is not null',
  },
  {
    table: 'purchase',
    what: 'What the payment processor reported',
    kept: `${taxRetentionYears} years from the end of the year of purchase, for tax; the e-mail only until an erasure`,
    from: YEAR_AFTER,
    months: taxRetentionYears * 12,
    // What it said goes on as what staff say: a refund is final, and a dispute was never settled.
    first: `update license l set purchase_id = null, staff_status = case
              when p.state = 'refunded' then 'revoked'
              when p.state = 'disputed' and l.staff_status = 'active' then 'suspended' else l.staff_status end
            from purchase p where p.id = l.purchase_id and p.id in (select id from gone)`,
  },
  {
    table: 'one_time_code',
    what: 'Codes to sign in by mail',
    kept: 'until they expire, at most a day longer',
    from: 'expires_at',
  },
  {
    table: 'session',
    what: 'Who is signed in on the web pages',
    kept: 'until they expire, at most a day longer',
    from: 'expires_at',
  },
  {
    table: 'staff_link',
    what: 'Links that sign a person of the staff in once',
    kept: 'until they expire, at most a day longer',
    from: 'expires_at',
  },
  {
    table: 'passkey_challenge',
    what: 'Random bytes for a passkey to sign',
    kept: 'until they expire, at most a day longer',
    from: 'expires_at',
  },
  {
    table: 'staff_token',
    what: 'Tokens of the staff’s scripts',
    kept: 'until they expire, at most a day longer',
    from: 'expires_at',
  },
  // Six, so that with a run a day none is older than seven.
  {
    table: 'mail_recipient',
    what: 'Where a waiting mail goes',
    kept: 'until it is sent, at most 7 days',
    from: 'since',
    days: 6,
  },
  {
    table: 'graphile_worker._private_jobs',
    what: 'Mails and other work that failed for good',
    kept: 'at most 7 days',
    from: 'created_at',
    days: 6,
    only: 'attempts >= max_attempts and locked_at is null',
  },
  // By the database's own clock as well: its trigger deletes none that is younger, whatever `as_of` says.
  {
    table: 'audit_event',
    what: 'What staff did, and which activations retention ended',
    kept: '24 months',
    from: 'at',
    months: 24,
    only: `at <= now() - interval '24 months'`,
  },
  {
    table: 'erasure_request',
    what: 'Requests for deletion; the e-mail only while they wait',
    kept: 'while they wait, and 12 months after they were honoured or taken back',
    from: 'coalesce(honoured_at, cancelled_at)',
    months: 12,
  },
  {
    table: 'repeated_erasure',
    what: 'Erasures that were carried out again after a restore',
    kept: '12 months',
    from: 'repeated_at',
    months: 12,
  },
  {
    table: 'retention_run',
    what: 'The ledger of what was deleted',
    kept: '24 months',
    from: 'started_at',
    months: 24,
  },
];

/** What no run deletes, and why. */
export const KEPT: Readonly<Record<string, string>> = {
  telemetry_inbox: 'holds the telemetry of today; it moves over after midnight (UTC)',
  telemetry_moving: 'holds the telemetry of past days while it moves, after midnight (UTC)',
  fleet_cell: 'leaves with the week that it counts',
  fleet_latency: 'leaves with the week that it counts',
  crash_week: 'leaves with the week that it counts',
  replaced_key: 'leaves with its license',
  release_request: 'leaves with its activation',
  staff: 'stays until a person is removed',
  passkey: 'stays until it is removed, or its person is',
  manifest: 'stays for ever: published versions, nothing personal',
  database_identity: 'stays for ever: which database this is, nothing personal',
  file_rewrite: 'stays for ever: one row per table, nothing personal',
  schema_migration: 'stays for ever: the history of the database, nothing personal',
  'graphile_worker.migrations': 'stays for ever: the history of the job queue, nothing personal',
  'graphile_worker._private_tasks': 'stays for ever: the kinds of work there are, nothing personal',
  'graphile_worker._private_job_queues': 'stays for ever: not used, nothing personal',
  'graphile_worker._private_known_crontabs': 'stays for ever: not used, nothing personal',
};
