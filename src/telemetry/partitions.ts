import { QueryRunner } from 'typeorm';
import { utcDay } from '../core/clock.js';

/** Months made ahead, so that a week without a run never leaves a row without a place. */
const MONTHS_AHEAD = 3;

/** The first day of the month that lies `offset` months from that of `day`, in UTC. */
function monthStart(day: Date, offset: number): Date {
  return new Date(Date.UTC(day.getUTCFullYear(), day.getUTCMonth() + offset, 1));
}

/** The partition that holds the rows of a day (`YYYY-MM-DD`). */
export function partitionOf(day: string): string {
  return `telemetry_${day.slice(0, 7).replace('-', '_')}`;
}

/** Makes the partitions of `telemetry` for the months from `from` to three after `until`, where they are missing. */
export async function makePartitions(runner: QueryRunner, from: Date, until: Date): Promise<void> {
  const last = monthStart(until, MONTHS_AHEAD);
  const known = (await runner.query(PARTITIONS)) as Partition[];
  for (let month = monthStart(from, 0); month <= last; month = monthStart(month, 1)) {
    const first = utcDay(month);
    const name = partitionOf(first);
    const state = known.find((partition) => partition.name === name)?.state ?? 'detached';
    if (state !== 'detached') continue;
    // Made alone and then attached: made as a part, it would lock telemetry, and a long reader everyone with it.
    await runner.query(`create table if not exists ${name} (like telemetry)`);
    await runner.query(
      `alter table telemetry attach partition ${name} for values from ('${first}') to ('${utcDay(monthStart(month, 1))}')`,
    );
  }
}

interface Partition {
  readonly name: string;
  /** Whether it is still a part of telemetry, is being taken out of it, or stands alone. */
  readonly state: 'attached' | 'pending' | 'detached';
}

// A partition's name says its month; what a killed run left behind has no bounds any more to read it from.
const PARTITIONS = `
  select c.relname as name,
         case when i.inhrelid is null then 'detached' when i.inhdetachpending then 'pending' else 'attached' end as state
  from pg_class c left join pg_inherits i on i.inhrelid = c.oid and i.inhparent = 'telemetry'::regclass
  where c.relnamespace = (select relnamespace from pg_class where oid = 'telemetry'::regclass)
    and c.relkind = 'r' and c.relname ~ '^telemetry_\\d{4}_\\d{2}$'
  order by i.inhdetachpending desc nulls last, c.relname`;

/**
 * The partitions whose every row is of before `firstKept` (`YYYY-MM-DD`); first what a killed run was taking out, for
 * nothing else can be taken out before.
 */
export async function pastPartitions(runner: QueryRunner, firstKept: string): Promise<Partition[]> {
  const partitions = (await runner.query(PARTITIONS)) as Partition[];
  return partitions.filter(({ name, state }) => {
    const [, year, month] = /_(\d{4})_(\d{2})/.exec(name)!;
    const next = utcDay(monthStart(new Date(`${year}-${month}-01T00:00:00Z`), 1));
    return state === 'pending' || next <= firstKept;
  });
}

/**
 * Takes a partition out of telemetry, without keeping anyone waiting who inserts, and drops it. Each step may be the one
 * after a run that was killed before it.
 */
export async function dropPartition(runner: QueryRunner, { name, state }: Partition): Promise<void> {
  // Dropping a pending one would stall writers: it is finished first.
  if (state === 'pending') await runner.query(`alter table telemetry detach partition ${name} finalize`);
  if (state === 'attached') await runner.query(`alter table telemetry detach partition ${name} concurrently`);
  await runner.query(`drop table ${name}`);
}
