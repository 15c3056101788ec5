import type { Service } from './harness.js';

/** Does something while a table is held by somebody else: the database answers nobody in time. */
export async function whileLocked<Result>(
  service: Service,
  table: string,
  work: () => Promise<Result>,
): Promise<Result> {
  const holder = await service.database.connect();
  try {
    await holder.query(`begin; lock table ${table} in access exclusive mode`);
    return await work();
  } finally {
    await holder.query('rollback');
    holder.release();
  }
}

/** Does something while a table is not there: the service itself is broken. */
export async function whileGone<Result>(
  service: Service,
  table: string,
  work: () => Promise<Result>,
): Promise<Result> {
  await service.sql(`alter table ${table} rename to elsewhere`);
  try {
    return await work();
  } finally {
    await service.sql(`alter table elsewhere rename to ${table}`);
  }
}
