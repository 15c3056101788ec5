import { setTimeout as wait } from 'node:timers/promises';
import { QueryRunner } from 'typeorm';
import { DAY_MS } from '../core/clock.js';
import { LOCK_TIMEOUT_MS, withLockRetries } from '../database/locks.js';
import { execute, queryOne, queryRows } from '../database/sql.js';

/** The tables with personal data. Their files are rewritten, so that no file keeps deleted rows (docs/decisions/0025). */
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
 * `vacuum full` takes about 10 ms for each MiB on a slow machine, and its lock blocks all readers of the table. Below this
 * size a request waits for less than its statement timeout.
 */
export const LARGE_TABLE_BYTES = 16 * 1024 * 1024;
/** With hourly runs, a file is rewritten within 24 hours of any erasure. */
const SMALL_TABLE_INTERVAL_MS = 20 * 60 * 60_000;
/**
 * Erased data must be gone from the files 30 days after the request (docs/decisions/0025). A holder can cancel the
 * request for 3 days, and this interval has 21, so 6 days remain for retries.
 */
const LARGE_TABLE_INTERVAL_MS = 21 * DAY_MS;
/**
 * A large table that is due waits this long for LARGE_TABLE_HOUR. After that, each hourly run tries to rewrite it: a dump that runs
 * in that hour every day would otherwise always prevent the rewrite.
 */
const LARGE_TABLE_WAIT_MS = 2 * DAY_MS;

interface FileState {
  readonly table_name: string;
  readonly is_large: boolean;
  readonly rewritten_at: Date;
}

const UPSERT_FILE_STATE = `
  insert into file_rewrite as f (table_name, is_large, rewritten_at)
  select name, coalesce(pg_total_relation_size(to_regclass(name)) > $2, false), $3 from unnest($1::text[]) name
  on conflict (table_name) do update set is_large = excluded.is_large where f.is_large <> excluded.is_large`;

/**
 * Returns the tables whose files must be rewritten now. It records new tables, whose files are due after one interval.
 * @param largeTableHour the hour (UTC) in which large tables are rewritten, unless they are overdue
 */
export async function tablesToRewrite(
  runner: QueryRunner,
  now: Date,
  largeTableHour: number,
): Promise<string[]> {
  await execute(runner, UPSERT_FILE_STATE, [REWRITTEN_TABLES, LARGE_TABLE_BYTES, now]);
  // An earlier version may have recorded a table that is not rewritten any more.
  const sql = 'select * from file_rewrite where table_name = any($1)';
  const files = await queryRows<FileState>(runner, sql, [REWRITTEN_TABLES]);
  return files
    .filter(({ is_large, rewritten_at }) => {
      // A time in the future was recorded by a clock that was ahead. If it is far ahead, the table is due at once.
      const age = Math.abs(now.getTime() - rewritten_at.getTime());
      if (!is_large) return age >= SMALL_TABLE_INTERVAL_MS;
      const isInHour = now.getUTCHours() === largeTableHour;
      return age >= LARGE_TABLE_INTERVAL_MS + (isInHour ? 0 : LARGE_TABLE_WAIT_MS);
    })
    .map(({ table_name }) => table_name);
}

/** Thrown if an older transaction may still read rows that are already deleted, so that a rewrite would copy these rows. */
export class DeletedRowsRemain extends Error {
  constructor() {
    super(
      'Tables are not rewritten, because an open transaction, a replication slot or a replica still needs deleted rows. ' +
        'End the transaction, or repair the slot or the replica; the next hourly run tries again.',
    );
  }
}

/** How long a run waits for the transactions that started before it. */
const OLD_TRANSACTIONS_TIMEOUT_MS = 10_000;
const OLD_TRANSACTIONS_POLL_MS = 100;

const SELECT_NEXT_TRANSACTION = 'select pg_snapshot_xmax(pg_current_snapshot())::xid::text as next';
// `vacuum full` keeps deleted rows that a session, a replication slot or a prepared transaction can still read. `oldest` is the
// oldest transaction that each of these regards as running. Sessions that run a plain `vacuum`, which can take hours, are left out:
// no deleted rows are kept for them.
const COUNT_OLD_TRANSACTIONS = `
  select count(*)::integer as blockers from (
    select unnest(array[backend_xid, backend_xmin]) as oldest from pg_stat_activity
    where pid <> pg_backend_pid() and (datname = current_database() or datname is null)
      and coalesce(leader_pid, pid) not in (select pid from pg_stat_progress_vacuum)
    union all select xmin from pg_replication_slots
    union all select transaction from pg_prepared_xacts where database = current_database()
  ) blocker where age(oldest) > age($1::text::xid)`;

/**
 * Waits until no transaction can read rows that were deleted before this call, so that a rewrite removes all of them.
 * @throws DeletedRowsRemain if a transaction, a replication slot or a replica can still read such rows
 */
export async function waitForOldTransactions(runner: QueryRunner): Promise<void> {
  const { next } = await queryOne<{ next: string }>(runner, SELECT_NEXT_TRANSACTION);
  for (let waited = 0; ; waited += OLD_TRANSACTIONS_POLL_MS) {
    const { blockers } = await queryOne<{ blockers: number }>(runner, COUNT_OLD_TRANSACTIONS, [next]);
    if (blockers === 0) return;
    if (waited >= OLD_TRANSACTIONS_TIMEOUT_MS) throw new DeletedRowsRemain();
    await wait(OLD_TRANSACTIONS_POLL_MS);
  }
}

/**
 * Rewrites the files of a table and its indexes, and records the rewrite.
 * @param now a time before the call of `waitForOldTransactions`. The rewritten files have no row that was deleted before this time.
 */
export async function rewriteTable(runner: QueryRunner, table: string, now: Date): Promise<void> {
  try {
    // With more memory the indexes are rebuilt faster, which shortens the exclusive lock.
    await execute(runner, `set lock_timeout = ${LOCK_TIMEOUT_MS}; set maintenance_work_mem = '128MB'`);
    await withLockRetries(() => execute(runner, `vacuum (full) ${table}`));
  } finally {
    // The value for the other statements of the run (`RetentionService.run`).
    await execute(runner, "set lock_timeout = '5s'");
  }
  await execute(runner, 'update file_rewrite set rewritten_at = $2 where table_name = $1', [table, now]);
}
