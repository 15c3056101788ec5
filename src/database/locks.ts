import { setTimeout as wait } from 'node:timers/promises';
import { QueryRunner } from 'typeorm';
import { queryOne } from './sql.js';

/** The keys of PostgreSQL's advisory locks, by the work that they protect: distinct numbers, the same in all versions. */
export const LOCKS = {
  migrate: 7_026_001,
  publish: 7_026_002,
  retention: 7_026_003,
  sampleData: 7_026_004,
} as const;

/** Tries to take a lock, without waiting, for the connection of the runner. @returns whether the connection holds the lock */
export async function tryLock(runner: QueryRunner, lock: keyof typeof LOCKS): Promise<boolean> {
  const sql = 'select pg_try_advisory_lock($1) as held';
  const row = await queryOne<{ held: boolean }>(runner, sql, [LOCKS[lock]]);
  return row.held;
}

/** The time limit of an attempt to get an exclusive lock of a busy table. Meanwhile all requests for the table wait too. */
export const LOCK_TIMEOUT_MS = 200;
const MAX_LOCK_ATTEMPTS = 20;
const LOCK_NOT_AVAILABLE = '55P03';

/**
 * Runs `attempt`, and repeats it if it does not get its lock, up to MAX_LOCK_ATTEMPTS attempts in all, with pauses in which the
 * waiting requests run. `attempt` or its caller must set `lock_timeout` to `LOCK_TIMEOUT_MS`.
 */
export async function withLockRetries<Result>(attempt: () => Promise<Result>): Promise<Result> {
  for (let attempts = 1; ; attempts += 1) {
    try {
      return await attempt();
    } catch (error) {
      const isLockTimeout = (error as { code?: string }).code === LOCK_NOT_AVAILABLE;
      if (!isLockTimeout || attempts === MAX_LOCK_ATTEMPTS) throw error;
      await wait(LOCK_TIMEOUT_MS);
    }
  }
}
