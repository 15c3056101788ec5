import { availableParallelism, cpus, loadavg, totalmem } from 'node:os';
import { performance } from 'node:perf_hooks';

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
/** @param times from the least to the most @param share 0.99 for what 99 of 100 stay below */
export const quantile = (times, share) => times[Math.floor(share * (times.length - 1))] ?? 0;
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

/** What the measurements were measured on, and with. @param version PostgreSQL's own words of it */
export const machine = (version) =>
  `Machine: ${cpus()[0].model.trim()}, ${availableParallelism()} cores, ${bytes(totalmem())} of memory, ${process.platform} ${process.arch}; Node ${process.version.slice(1)}, ${version} with the settings of
the embedded server (\`fsync\` and \`full_page_writes\` on).`;
export const loadAtEnd = () => `at the end the load average was ${loadavg()[0].toFixed(1)}`;

export const reached = (holds) => (holds ? 'reached' : 'missed');

/** Whether every answer was the right one. @param wrong words on each kind that was not */
export const errors = (wrong, otherwise = '.') =>
  wrong.length === 0
    ? `Every answer was the right one${otherwise}`
    : `**Not every answer was right** (by status, 0 is a broken connection): ${wrong.join('; ')}.`;

/** Rows of cells as a Markdown table; the first row is its head. */
export function table([head, ...rows]) {
  const line = (cells) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map((_, place) => (place === 0 ? '---' : '---:'))), ...rows.map(line)].join(
    '\n',
  );
}
