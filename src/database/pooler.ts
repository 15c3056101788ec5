import type { DataSource, QueryRunner } from 'typeorm';
import { ConfigError } from '../core/config.js';
import { queryOne } from './sql.js';

const SENTENCE =
  'DATABASE_URL leads to a pooler that does not keep a connection’s session: give the address of PostgreSQL itself ' +
  '(docs/operations/poolers.md).';

/**
 * Refuses what stands between us and PostgreSQL and shares sessions: locks, LISTEN and named statements belong to one,
 * and would fail later, oddly, and only under load.
 * @throws ConfigError
 */
export async function refusePooler(dataSource: DataSource): Promise<void> {
  const [one, other] = [dataSource.createQueryRunner(), dataSource.createQueryRunner()];
  try {
    await sessionOf(other);
    // Some poolers give out the process that was free the longest: then the second is another.
    const seen = [await sessionOf(one), await sessionOf(one)];
    // Others the one that was last used: then it is taken away here.
    await other.startTransaction();
    await sessionOf(other);
    seen.push(await sessionOf(one));
    await other.rollbackTransaction();
    if (new Set(seen.map(({ pid }) => pid)).size > 1 || !seen.every(({ ours }) => ours)) {
      throw new ConfigError(SENTENCE);
    }
  } finally {
    await Promise.all([one.release(), other.release()]);
  }
}

/** How PgBouncer says no to the settings that a session begins with. */
export function isPoolersRefusal(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('unsupported startup parameter');
}

/** The refusal, as a sentence. */
export const poolerRefused = (cause: unknown) => new ConfigError(SENTENCE, { cause });

async function sessionOf(runner: QueryRunner): Promise<{ pid: number; ours: boolean }> {
  const session = await queryOne<{ pid: number; ours: boolean }>(
    runner,
    `select pg_backend_pid() as pid,
            current_setting('timezone') = 'UTC' and current_setting('default_transaction_isolation') = 'read committed' as ours`,
  );
  return session;
}
