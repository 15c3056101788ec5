import { availableParallelism, cpus, totalmem } from 'node:os';
import { performance } from 'node:perf_hooks';
import pg from 'pg';

/** Runs the work and answers its result, its time, and the bytes it wrote to the write-ahead log. */
export async function measured(runner, work) {
  // Each begins alike: the first change of any page after a checkpoint writes the whole page.
  await runner.query('checkpoint');
  const [{ lsn }] = await runner.query('select pg_current_wal_insert_lsn() as lsn');
  const { ms, result } = await timed(work);
  const [{ wal }] = await runner.query(
    'select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), $1)::float8 as wal',
    [lsn],
  );
  return { ms, wal, result };
}

export async function timed(work) {
  const start = performance.now();
  const result = await work();
  return { ms: performance.now() - start, result };
}

/** The middle of an odd number of times, the later of the two middle ones of an even one. */
export const median = (times) => times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)];
export const sum = (numbers) => numbers.reduce((total, each) => total + each, 0);

export const count = (number) => Math.round(number).toLocaleString('en-GB');
export const time = (ms) => {
  if (ms >= 10_000) return `${count(ms / 1000)} s`;
  return ms >= 1000 ? `${(ms / 1000).toFixed(1)} s` : `${ms < 10 ? ms.toFixed(1) : count(ms)} ms`;
};
export const bytes = (size) => {
  if (size >= 2 ** 30) return `${(size / 2 ** 30).toFixed(1)} GiB`;
  return size >= 2 ** 20 ? `${(size / 2 ** 20).toFixed(1)} MiB` : `${count(size / 1024)} KiB`;
};
/** How many times as much, as people say it: `37`, or `0.4`. */
export const times = (one, other) => (one / other >= 10 ? count(one / other) : (one / other).toFixed(1));

/** Rows of cells as a Markdown table; the first row is its head. */
export function table([head, ...rows]) {
  const line = (cells) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map((_, place) => (place === 0 ? '---' : '---:'))), ...rows.map(line)].join(
    '\n',
  );
}

/** What a server says that it is: `PostgreSQL 18.4`. */
export async function versionOf(url) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query(`select split_part(version(), ' on ', 1) as version`);
  await client.end();
  return rows[0].version;
}

/** Where the figures come from, as every page says it. @param version of PostgreSQL */
export const machine = (version) =>
  `Machine: ${cpus()[0].model.trim()}, ${availableParallelism()} cores, ${bytes(totalmem())} of memory, ${process.platform} ${process.arch}; Node ${process.version.slice(1)}, ${version} with the settings of
the embedded server (\`fsync\` and \`full_page_writes\` on).`;
