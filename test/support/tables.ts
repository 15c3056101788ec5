import { setTimeout as pause } from 'node:timers/promises';
import type { Service } from './harness.js';

/** Does something while another transaction locks a table. */
export function whileHeld<Result>(
  service: Service,
  table: string,
  work: () => Promise<Result>,
): Promise<Result> {
  return within(service, `lock table ${table} in access exclusive mode`, work);
}

/** Does something while another transaction locks the rows of a table: they can be read but not changed. */
export function whileRowsHeld<Result>(
  service: Service,
  table: string,
  work: () => Promise<Result>,
): Promise<Result> {
  return within(service, `select 1 from ${table} for update`, work);
}

/** Does something between a statement and the end of its transaction. */
async function within<Result>(
  service: Service,
  statement: string,
  work: () => Promise<Result>,
): Promise<Result> {
  const holder = await service.database.connect();
  try {
    await holder.query(`begin; ${statement}`);
    return await work();
  } finally {
    await holder.query('rollback');
    holder.release();
  }
}

const END_WAITS = `
  select pg_cancel_backend(pid) from pg_stat_activity
  where datname = current_database() and application_name = 'mooring' and wait_event_type = 'Lock'`;

/**
 * Does something, and meanwhile ends each statement of a request that waits for a lock, with the error of its time limit
 * (57014). So no test waits for that limit, and it does not end statements that are only slow.
 * @param query runs a statement in the database of the service
 */
export async function endingWaits<Result>(
  query: (sql: string) => Promise<unknown>,
  work: () => Promise<Result>,
): Promise<Result> {
  const over = new AbortController();
  const ending = (async () => {
    for (; !over.signal.aborted; await pause(5)) {
      // Inside a transaction PostgreSQL would show an old snapshot of the activity.
      await query('select pg_stat_clear_snapshot()');
      await query(END_WAITS);
    }
  })();
  try {
    return await work();
  } finally {
    over.abort();
    await ending;
  }
}

/** Does something while another transaction locks a table, so that requests that need it reach their time limit. */
export async function whileLocked<Result>(
  service: Service,
  table: string,
  work: () => Promise<Result>,
): Promise<Result> {
  return whileHeld(service, table, () => endingWaits((sql) => service.sql(sql), work));
}

/** Does something while a table is missing, which makes the service fail. */
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
