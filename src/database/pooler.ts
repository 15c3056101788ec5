import type { DataSource, QueryRunner } from 'typeorm';
import { ConfigError } from '../core/config.js';
import { queryOne } from './sql.js';

const POOLER_MESSAGE =
  'DATABASE_URL leads to a pooler that does not keep a connection’s session: give the address of PostgreSQL itself ' +
  '(docs/operations/poolers.md).';

/**
 * Refuses a pooler that gives a connection the sessions of several server processes: locks, LISTEN and named statements belong to
 * one session, and would fail later under load.
 * @throws ConfigError
 */
export async function refusePooler(dataSource: DataSource): Promise<void> {
  const [first, second] = [dataSource.createQueryRunner(), dataSource.createQueryRunner()];
  try {
    // Opens the second connection, so that the pooler has at least two server processes that may be idle.
    await sessionOf(second);
    // Some poolers use the server process that was idle for the longest time: the two statements then have different processes.
    const sessions = [await sessionOf(first), await sessionOf(first)];
    // Other poolers reuse the process that was used last, so a transaction of `second` keeps that process busy.
    await second.startTransaction();
    await sessionOf(second);
    sessions.push(await sessionOf(first));
    await second.rollbackTransaction();
    if (
      new Set(sessions.map(({ pid }) => pid)).size > 1 ||
      !sessions.every(({ hasSessionSettings }) => hasSessionSettings)
    ) {
      throw new ConfigError(POOLER_MESSAGE);
    }
  } finally {
    await Promise.all([first.release(), second.release()]);
  }
}

/** Whether an error is PgBouncer's refusal of the session settings of a connection. */
export function isPoolerRefusal(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('unsupported startup parameter');
}

/** Creates the error for a connection that PgBouncer refused. */
export const poolerError = (cause: unknown) => new ConfigError(POOLER_MESSAGE, { cause });

/**
 * Returns the server process of a connection at this moment, and whether it has the time zone, the date style and the isolation
 * level of `SESSION_SETTINGS` (data-source.ts).
 */
function sessionOf(runner: QueryRunner): Promise<{ pid: number; hasSessionSettings: boolean }> {
  return queryOne(
    runner,
    `select pg_backend_pid() as pid,
            current_setting('timezone') = 'UTC' and current_setting('datestyle') like 'ISO%'
              and current_setting('default_transaction_isolation') = 'read committed' as "hasSessionSettings"`,
  );
}
