import { QueryRunner } from 'typeorm';
import { utcDay } from '../core/clock.js';
import { execute, queryRows } from '../database/sql.js';

/** Partitions are created this many months ahead, so that a missed run leaves no row without a partition. */
const MONTHS_AHEAD = 3;

/** Returns the first day (UTC) of the month that is `offset` months after the month of `day`. */
function monthStart(day: Date, offset: number): Date {
  return new Date(Date.UTC(day.getUTCFullYear(), day.getUTCMonth() + offset, 1));
}

/** Returns the name of the partition for the rows of a day (`YYYY-MM-DD`). */
export function partitionOf(day: string): string {
  return `telemetry_${day.slice(0, 7).replace('-', '_')}`;
}

/** Creates the missing partitions of `telemetry`, from the month of `from` to `MONTHS_AHEAD` months after `until`. */
export async function createPartitions(runner: QueryRunner, from: Date, until: Date): Promise<void> {
  const last = monthStart(until, MONTHS_AHEAD);
  const existing = await queryRows<Partition>(runner, PARTITIONS);
  for (let month = monthStart(from, 0); month <= last; month = monthStart(month, 1)) {
    const first = utcDay(month);
    const name = partitionOf(first);
    // A missing table is handled like a detached one: it is created if needed, and then attached.
    const state = existing.find((partition) => partition.name === name)?.state ?? 'detached';
    if (state !== 'detached') continue;
    // Creating the table as a partition would lock `telemetry` exclusively. The lock would wait for each long query,
    // and all readers of `telemetry`, such as the check of its age in /health/ready, would wait behind the lock.
    await execute(runner, `create table if not exists ${name} (like telemetry)`);
    await execute(
      runner,
      `alter table telemetry attach partition ${name} for values from ('${first}') to ('${utcDay(monthStart(month, 1))}')`,
    );
  }
}

/** A partition of `telemetry`, or a table with the name of one. */
interface Partition {
  readonly name: string;
  /** `pending` means that a concurrent detach was interrupted. */
  readonly state: 'attached' | 'pending' | 'detached';
}

// Finds partitions by name, because a table that an interrupted run has detached has no partition bounds.
const PARTITIONS = `
  select c.relname as name,
         case when i.inhrelid is null then 'detached' when i.inhdetachpending then 'pending' else 'attached' end as state
  from pg_class c left join pg_inherits i on i.inhrelid = c.oid and i.inhparent = 'telemetry'::regclass
  where c.relnamespace = (select relnamespace from pg_class where oid = 'telemetry'::regclass)
    and c.relkind = 'r' and c.relname ~ '^telemetry_\\d{4}_\\d{2}$'
  order by c.relname`;

/** Finds the partitions whose rows are all from before `firstKept` (`YYYY-MM-DD`). */
export async function findExpiredPartitions(runner: QueryRunner, firstKept: string): Promise<Partition[]> {
  const partitions = await queryRows<Partition>(runner, PARTITIONS);
  return partitions.filter(({ name }) => {
    const [, year, month] = /_(\d{4})_(\d{2})/.exec(name)!;
    return utcDay(monthStart(new Date(`${year}-${month}-01T00:00:00Z`), 1)) <= firstKept;
  });
}

/**
 * Finishes an interrupted detach, because until then PostgreSQL detaches no other partition concurrently, and a drop
 * without a detach would lock `telemetry` exclusively.
 */
export async function finishInterruptedDetach(runner: QueryRunner): Promise<void> {
  for (const { name, state } of await queryRows<Partition>(runner, PARTITIONS)) {
    if (state === 'pending') await execute(runner, `alter table telemetry detach partition ${name} finalize`);
  }
}

/**
 * Detaches a partition without blocking readers of `telemetry`, unless an interrupted run has already, and drops it. A partition
 * whose detach is `pending` must be finished first (`finishInterruptedDetach`).
 */
export async function dropPartition(runner: QueryRunner, { name, state }: Partition): Promise<void> {
  if (state === 'attached')
    await execute(runner, `alter table telemetry detach partition ${name} concurrently`);
  await execute(runner, `drop table ${name}`);
}
