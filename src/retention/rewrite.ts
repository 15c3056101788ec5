import { setTimeout as wait } from 'node:timers/promises';
import { QueryRunner } from 'typeorm';
import { DAY_MS } from '../core/clock.js';

/** The tables that hold personal data. Their files are rewritten, so that none keeps rows that were erased. */
export const REWRITTEN_TABLES: readonly string[] = [
  'license',
  'activation',
  'purchase',
  'release_request',
  'erasure_request',
  'one_time_code',
  'session',
  'mail_recipient',
  'staff',
  'passkey',
  'audit_event',
  'graphile_worker._private_jobs',
];

/**
 * `vacuum full` takes some 10 ms for each MiB on a slow machine, and nobody can read the table meanwhile. Below this size a
 * request waits for less than its statement timeout.
 */
export const LARGE_TABLE_BYTES = 16 * 1024 * 1024;
/** Runs come each hour: a file is rewritten within 24 hours of any erasure. */
const SMALL_TABLE_INTERVAL_MS = 20 * 60 * 60_000;
/** Leaves nine nights for retries before the promised 30 days are over. */
const LARGE_TABLE_INTERVAL_MS = 21 * DAY_MS;

/** The exclusive lock is requested for so long at a time: every request for the table queues behind it. */
const LOCK_TIMEOUT_MS = 200;
const LOCK_ATTEMPTS = 20;
const LOCK_NOT_AVAILABLE = '55P03';

interface FileState {
  readonly table_name: string;
  readonly is_large: boolean;
  readonly rewritten_at: Date;
}

const STATE = `
  insert into file_rewrite as f (table_name, is_large, rewritten_at)
  select name, coalesce(pg_total_relation_size(to_regclass(name)) > $2, false), $3 from unnest($1::text[]) name
  on conflict (table_name) do update set is_large = excluded.is_large where f.is_large <> excluded.is_large`;

/**
 * The tables whose files are to be rewritten now. A table that is seen for the first time is recorded and rewritten after
 * one interval.
 * @param largeTableHour the hour (UTC) in which large tables may be rewritten
 */
export async function tablesToRewrite(
  runner: QueryRunner,
  now: Date,
  largeTableHour: number,
): Promise<string[]> {
  await runner.query(STATE, [REWRITTEN_TABLES, LARGE_TABLE_BYTES, now]);
  const files = (await runner.query('select * from file_rewrite')) as FileState[];
  const known = files.filter(({ table_name }) => REWRITTEN_TABLES.includes(table_name));
  return known
    .filter(({ is_large, rewritten_at }) => {
      // A time in the future is from a clock that was wrong.
      const age = Math.abs(now.getTime() - rewritten_at.getTime());
      return is_large
        ? age >= LARGE_TABLE_INTERVAL_MS && now.getUTCHours() === largeTableHour
        : age >= SMALL_TABLE_INTERVAL_MS;
    })
    .map(({ table_name }) => table_name);
}

/** A transaction that began before the run can still read rows that were deleted before it, so PostgreSQL copies them. */
export class DeletedRowsRemain extends Error {
  constructor() {
    super(
      'An open transaction, a replication slot or a replica still needs rows that were deleted: their bytes would remain.',
    );
  }
}

/** A busy table always has rows that were deleted a moment ago; what was deleted before the run is what must go. */
const OLD_TRANSACTIONS_TIMEOUT_MS = 10_000;
const OLD_TRANSACTIONS_POLL_MS = 100;

const NEXT_TRANSACTION = 'select pg_snapshot_xmax(pg_current_snapshot())::xid::text as next';
// `vacuum full` keeps what any of these may still read, by the oldest transaction that each of them sees as running.
const OLD_TRANSACTIONS = `
  select count(*)::integer as held from (
    select unnest(array[backend_xid, backend_xmin]) as oldest from pg_stat_activity
    where pid <> pg_backend_pid() and (datname = current_database() or datname is null)
    union all select xmin from pg_replication_slots
    union all select transaction from pg_prepared_xacts where database = current_database()
  ) holder where age(oldest) > age($1::text::xid)`;

/**
 * Waits until PostgreSQL keeps no row for anybody that was deleted before this call: a rewrite then leaves none behind.
 * @throws DeletedRowsRemain where a transaction, a replication slot or a replica stays that may read such rows
 */
export async function waitForOldTransactions(runner: QueryRunner): Promise<void> {
  const [{ next }] = (await runner.query(NEXT_TRANSACTION)) as [{ next: string }];
  for (let waited = 0; ; waited += OLD_TRANSACTIONS_POLL_MS) {
    const [{ held }] = (await runner.query(OLD_TRANSACTIONS, [next])) as [{ held: number }];
    if (held === 0) return;
    if (waited >= OLD_TRANSACTIONS_TIMEOUT_MS) throw new DeletedRowsRemain();
    await wait(OLD_TRANSACTIONS_POLL_MS);
  }
}

/**
 * Rewrites the file of a table and of all its indexes, and records it. A run that ends before that is repeated by the next.
 * @param now a moment before `waitForOldTransactions` was called: what was deleted by then is in no file any more
 */
export async function rewriteTable(runner: QueryRunner, table: string, now: Date): Promise<void> {
  try {
    // With more memory the indexes are rebuilt sooner, and the lock is released sooner.
    await runner.query(`set lock_timeout = ${LOCK_TIMEOUT_MS}; set maintenance_work_mem = '128MB'`);
    await withLockRetries(() => runner.query(`vacuum (full) ${table}`));
  } finally {
    await runner.query("set lock_timeout = '5s'");
  }
  await runner.query('update file_rewrite set rewritten_at = $2 where table_name = $1', [table, now]);
}

async function withLockRetries(work: () => Promise<unknown>): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await work();
      return;
    } catch (error) {
      if ((error as { code?: string }).code !== LOCK_NOT_AVAILABLE || attempt === LOCK_ATTEMPTS) throw error;
      await wait(LOCK_TIMEOUT_MS);
    }
  }
}
