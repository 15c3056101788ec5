import { availableParallelism, cpus, loadavg, totalmem } from 'node:os';
import { performance } from 'node:perf_hooks';

/** Runs `work` and returns its result, its time, and the bytes it wrote to the write-ahead log. */
export async function measured(runner, work) {
  // A checkpoint gives each measurement the same start: the first change of a page after it writes the whole page to the log.
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

/** The median; of an even number of times, the later of the two in the middle. */
export const median = (times) => times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)];
/** @param times in ascending order @param share 0.99 for the 99th percentile */
export const quantile = (times, share) => times[Math.floor(share * (times.length - 1))] ?? 0;
export const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);

export const count = (number) => Math.round(number).toLocaleString('en-GB');
export const time = (ms) => {
  if (ms >= 10_000) return `${count(ms / 1000)} s`;
  return ms >= 1000 ? `${(ms / 1000).toFixed(1)} s` : `${ms < 10 ? ms.toFixed(1) : count(ms)} ms`;
};
export const bytes = (size) => {
  if (size >= 2 ** 30) return `${(size / 2 ** 30).toFixed(1)} GiB`;
  return size >= 2 ** 20 ? `${(size / 2 ** 20).toFixed(1)} MiB` : `${count(size / 1024)} KiB`;
};
/** The ratio of two numbers as text: `37`, or `0.4`. */
export const times = (one, other) => (one / other >= 10 ? count(one / other) : (one / other).toFixed(1));

/** The machine and the versions that were measured. @param version as PostgreSQL reports its own version */
export const machine = (version) =>
  `Machine: ${cpus()[0].model.trim()}, ${availableParallelism()} cores, ${bytes(totalmem())} of memory, ${process.platform} ${process.arch}; Node ${process.version.slice(1)}, ${version} with the settings of
the embedded server (\`fsync\` and \`full_page_writes\` on).`;
export const loadAtEnd = () => `at the end the load average was ${loadavg()[0].toFixed(1)}`;

export const reached = (isReached) => (isReached ? 'reached' : 'missed');

/**
 * Reports whether every response was correct.
 * @param wrong a description of each kind of incorrect response
 * @param ending of the sentence where all were correct
 */
export const errors = (wrong, ending = '.') =>
  wrong.length === 0
    ? `Every response was correct${ending}`
    : `**Not every response was correct** (by status; 0 is a broken connection): ${wrong.join('; ')}.`;

/** Rows of cells as a Markdown table; the first row is its head. */
export function table([head, ...rows]) {
  const line = (cells) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map((_, column) => (column === 0 ? '---' : '---:'))), ...rows.map(line)].join(
    '\n',
  );
}
