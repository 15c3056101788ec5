import type { DataSource, QueryRunner } from 'typeorm';
import type { Clock } from '../clock.js';

/** Whether our clock and the database's agree. What is asked, is asked of the database each time: clocks jump. */
export async function clocksAgree(clock: Clock, database: DataSource | QueryRunner): Promise<boolean> {
  const [row] = (await database.query('select clock_timestamp() as now')) as [{ now: Date }];
  return clock.agreesWith(row.now);
}
