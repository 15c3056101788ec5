import { QueryRunner } from 'typeorm';
import { queryOne } from './sql.js';

/** The advisory locks of this database: any numbers, the same for every instance, and no two alike. */
export const LOCKS = {
  migrate: 7_026_001,
  publish: 7_026_002,
  retention: 7_026_003,
  sample: 7_026_004,
} as const;

/** Takes a lock for the runner's own connection, or says that another has it. */
export async function tryLock(runner: QueryRunner, lock: keyof typeof LOCKS): Promise<boolean> {
  const sql = 'select pg_try_advisory_lock($1) as held';
  const row = await queryOne<{ held: boolean }>(runner, sql, [LOCKS[lock]]);
  return row.held;
}
