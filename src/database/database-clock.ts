import type { Clock } from '../clock.js';

/** Nothing is deleted by a clock that is wrong: what is deleted is gone (decision 0015). */
export class ClocksDiffer extends Error {
  constructor() {
    super(
      'The clocks here and of the database differ by more than an hour: nothing is deleted before they agree.',
    );
  }
}

/** A connection, a pool of them or a transaction. */
interface Asked {
  query(sql: string): Promise<unknown>;
}

/** Whether our clock and the database's agree. What is asked, is asked of the database each time: clocks jump. */
export async function clocksAgree(clock: Clock, database: Asked): Promise<boolean> {
  return clock.agreesWith(await databaseTime(database));
}

/** What the database's clock says. */
export async function databaseTime(database: Asked): Promise<Date> {
  const [row] = (await database.query('select clock_timestamp() as now')) as [{ now: Date }];
  return row.now;
}
