import type pg from 'pg';
import type { Service } from './harness.js';
import { until } from './until.js';

const STATEMENTS_THAT_WAIT =
  "select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()";

/** A transaction of a test, for whose end other statements wait. */
export class OpenTransaction {
  private constructor(
    private readonly database: pg.Pool,
    private readonly client: pg.PoolClient,
  ) {}

  /** Begins a transaction with this statement. */
  static async begin(
    { database }: Pick<Service, 'database'>,
    sql: string,
    values: unknown[] = [],
  ): Promise<OpenTransaction> {
    const transaction = new OpenTransaction(database, await database.connect());
    await transaction.query('begin');
    await transaction.query(sql, values);
    return transaction;
  }

  query(sql: string, values: unknown[] = []): Promise<pg.QueryResult> {
    return this.client.query(sql, values);
  }

  /** Waits until this many statements wait for a lock, or until this work is finished. */
  async untilWaiting(work?: Promise<unknown>, count = 1): Promise<void> {
    const state = { isFinished: false };
    const finish = () => void (state.isFinished = true);
    work?.then(finish, finish);
    await until(
      async () => state.isFinished || (await this.database.query(STATEMENTS_THAT_WAIT)).rowCount! >= count,
    );
  }

  async commit(): Promise<void> {
    await this.client.query('commit');
    this.client.release();
  }
}
