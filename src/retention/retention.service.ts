import { Injectable } from '@nestjs/common';
import { QueryRunner } from 'typeorm';
import { utcDay } from '../clock.js';
import { DatabaseUrl, patientDataSource } from '../database/data-source.js';
import { LOCKS, tryLock } from '../database/locks.js';
import { makePartitions } from './partitions.js';

/** What leaves, and when. `asOf` is always given: nothing here asks the clock. */
@Injectable()
export class RetentionService {
  constructor(private readonly databaseUrl: DatabaseUrl) {}

  /**
   * The nightly run, one at a time over all instances: makes partitions ahead and moves the past days' telemetry out of the inbox. Idempotent.
   * @returns how many rows moved, or null where another instance is at it
   */
  async run(asOf: Date): Promise<number | null> {
    const dataSource = await patientDataSource(this.databaseUrl.value).initialize();
    // The lock belongs to this one connection; through a pool its unlocking could land on another and do nothing.
    const runner = dataSource.createQueryRunner();
    try {
      await runner.query("set lock_timeout = '5s'");
      if (!(await tryLock(runner, 'retention'))) return null;
      const moved = await this.moveInbox(runner, asOf);
      // Closing the connection would give it back too, but only once the server has noticed.
      await runner.query('select pg_advisory_unlock($1)', [LOCKS.retention]);
      return moved;
    } finally {
      await runner.release();
      await dataSource.destroy();
    }
  }

  // In the order of the random ids and in one transaction: from the next day on, a row's place tells nothing of when it
  // came or with whom (privacy, Telemetry).
  private async moveInbox(runner: QueryRunner, asOf: Date): Promise<number> {
    const today = utcDay(asOf);
    // As text: the driver would read a date in the process's own time zone.
    const [inbox] = (await runner.query(
      'select min(received_on)::text as oldest from telemetry_inbox where received_on < $1',
      [today],
    )) as { oldest: string | null }[];
    await makePartitions(runner, new Date(inbox!.oldest ?? asOf), asOf);
    if (!inbox!.oldest) return 0;
    const [moved] = (await runner.query(
      `with past as (delete from telemetry_inbox where received_on < $1 returning *),
            moved as (insert into telemetry select * from past order by id returning 1)
       select count(*)::int as rows from moved`,
      [today],
    )) as { rows: number }[];
    return moved!.rows;
  }
}
