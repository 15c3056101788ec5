import { QueryRunner } from 'typeorm';
import { utcDay } from '../clock.js';

/** Months made ahead, so that a week without a run never leaves a row without a place. */
const MONTHS_AHEAD = 3;

/** The first day of the month that lies `offset` months from that of `day`, in UTC. */
function monthStart(day: Date, offset: number): Date {
  return new Date(Date.UTC(day.getUTCFullYear(), day.getUTCMonth() + offset, 1));
}

/** Makes the partitions of `telemetry` for the months from `from` to three after `asOf`, where they are missing. */
export async function makePartitions(runner: QueryRunner, from: Date, asOf: Date): Promise<void> {
  const last = monthStart(asOf, MONTHS_AHEAD);
  for (let month = monthStart(from, 0); month <= last; month = monthStart(month, 1)) {
    const first = utcDay(month);
    const name = `telemetry_${first.slice(0, 7).replace('-', '_')}`;
    await runner.query(
      `create table if not exists ${name} partition of telemetry
       for values from ('${first}') to ('${utcDay(monthStart(month, 1))}')`,
    );
  }
}
