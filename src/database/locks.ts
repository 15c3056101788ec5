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
