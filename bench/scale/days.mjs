import { join } from 'node:path';
import { fillInbox } from '../growth/telemetry-rows.mjs';
import { createDatabase } from '../load/database.mjs';
import { measureWithWal } from '../measure.mjs';
import { runRetention } from '../retention/run-retention.mjs';
import { Server } from './server.mjs';

const DAY_MS = 86_400_000;
/**
 * A Monday that is the first day of a month. About half of the days are before it, so that the rows are in two months. These are
 * whole weeks, so that the first week is complete.
 */
const FIRST_OF_MONTH = Date.UTC(2026, 5, 1);
/** The time from midnight to the first run of a day. */
const RUN_OFFSET_MS = 5 * 60_000;

/**
 * Fills the inbox with the rows of one day after the other. After each day it runs the retention (the rows move to the partition
 * of their month, and weeks that have ended are rolled up), and then a vacuum of the partition instead of autovacuum, which would
 * run at any moment.
 * @returns `nights` with the measurements after each day (`stored`: the number of rows of the days before it), and `months` with
 *   the size of each partition
 */
export async function measureDays({ url: server, folder, progress }, { days, rows, seed }) {
  const { migrate } = await import('../../dist/database/migrations.js');
  const { partitionOf } = await import('../../dist/telemetry/partitions.js');
  const url = await createDatabase(server, 'scale_days');
  await migrate(url);
  const postgres = await Server.open(url, join(folder, 'data'));
  const first = new Date(FIRST_OF_MONTH - Math.max(1, Math.floor(days / 14)) * 7 * DAY_MS);
  try {
    await postgres.query('alter system set autovacuum = off');
    await postgres.query('select pg_reload_conf()');
    // `setseed` accepts numbers up to 1.
    await postgres.query('select setseed($1)', [(seed % 100_003) / 100_003]);
    const nights = [];
    for (let index = 0; index < days; index += 1) {
      await fillInbox(postgres, { rows, first, index });
      const day = new Date(first.getTime() + index * DAY_MS);
      const run = await measureWork(postgres, () =>
        runRetention(url, new Date(day.getTime() + DAY_MS + RUN_OFFSET_MS)),
      );
      const partition = partitionOf(day.toISOString());
      const vacuum = await measureWork(postgres, () => postgres.query(`vacuum (analyze) ${partition}`));
      nights.push({
        day: day.toISOString().slice(0, 10),
        stored: index * rows,
        moved: run.result.telemetry_rows_moved,
        weeks: run.result.weeks_counted,
        run,
        vacuum,
      });
      progress(`night ${index + 1} of ${days}`);
    }
    return { nights, months: await postgres.query(SELECT_MONTHS) };
  } finally {
    await postgres.end();
  }
}

/** Measures the time, the WAL, the processor time of PostgreSQL and the bytes of temporary files. */
async function measureWork(postgres, work) {
  const { ms, wal, result } = await measureWithWal(postgres, async () => {
    const [before, temporaryBefore] = [postgres.time().total, await readTemporaryBytes(postgres)];
    const value = await work();
    const temporary = (await readTemporaryBytes(postgres)) - temporaryBefore;
    return { value, processorMs: postgres.time().total - before, temporary };
  });
  const { value, processorMs, temporary } = result;
  return { ms, wal, processorMs, temporary, result: value };
}

/** The bytes that sorts have written to temporary files. A connection reports them at the latest when it ends. */
async function readTemporaryBytes(postgres) {
  const sql = 'select temp_bytes::float8 as bytes from pg_stat_database where datname = current_database()';
  return (await postgres.query(sql))[0].bytes;
}

const SELECT_MONTHS = `
  select p.relid::text as name, pg_table_size(p.relid)::float8 as table_bytes, pg_indexes_size(p.relid)::float8 as index_bytes,
    count.rows
  from pg_partition_tree('telemetry') p
  join (select tableoid, count(*)::integer as rows from telemetry group by 1) count on count.tableoid = p.relid
  where p.isleaf order by 1`;
