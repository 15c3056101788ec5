import { setTimeout as wait } from 'node:timers/promises';
import type { PoolClient } from 'pg';
import { QueryRunner } from 'typeorm';
import { DAY_MS } from '../clock.js';

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

/** A transaction that began before the rewrite can still read deleted rows, so PostgreSQL copied them. */
export class DeletedRowsRemain extends Error {
  constructor() {
    super(
      'An open transaction, a replication slot or a replica still needs deleted rows: their bytes remain.',
    );
  }
}

/**
 * Rewrites the file of a table and of all its indexes, and records it. A run that ends before that is repeated by the next.
 * @param now the moment the run began @throws DeletedRowsRemain
 */
export async function rewriteTable(runner: QueryRunner, table: string, now: Date): Promise<void> {
  const client = (await runner.connect()) as PoolClient;
  let deletedRowsCopied: number | undefined;
  // Of all notices of `verbose` one has a detail, which begins with this count in every version and language.
  const read = ({ detail }: { detail?: string | undefined }) => {
    if (detail) deletedRowsCopied = Number(/\d+/.exec(detail)?.[0]);
  };
  client.on('notice', read);
  try {
    // With more memory the indexes are rebuilt sooner, and the lock is released sooner.
    await runner.query(`set lock_timeout = ${LOCK_TIMEOUT_MS}; set maintenance_work_mem = '128MB'`);
    await withLockRetries(() => runner.query(`vacuum (full, verbose) ${table}`));
  } finally {
    client.off('notice', read);
    await runner.query("set lock_timeout = '5s'");
  }
  if (deletedRowsCopied !== 0) throw new DeletedRowsRemain();
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
