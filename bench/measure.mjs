import { availableParallelism, cpus, loadavg, totalmem } from 'node:os';
import { performance } from 'node:perf_hooks';

/** Runs `work`. @returns its result, its time in milliseconds, and the bytes that it wrote to the write-ahead log */
export async function measureWithWal(runner, work) {
  // A checkpoint gives each measurement the same start: the first change of a page after it writes the whole page to the log.
  await runner.query('checkpoint');
  const [{ lsn }] = await runner.query('select pg_current_wal_insert_lsn() as lsn');
  const { ms, result } = await measureTime(work);
  const [{ wal }] = await runner.query(
    'select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), $1)::float8 as wal',
    [lsn],
  );
  return { ms, wal, result };
}

export async function measureTime(work) {
  const start = performance.now();
  const result = await work();
  return { ms: performance.now() - start, result };
}

/** Returns the median; of an even number of values, the larger of the two in the middle. */
export const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
/** Returns a quantile; 0 without any times. @param times in ascending order @param share 0.99 for the 99th percentile */
export const quantile = (times, share) => times[Math.floor(share * (times.length - 1))] ?? 0;
export const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);

export const formatCount = (number) => Math.round(number).toLocaleString('en-GB');
export const formatTime = (ms) => {
  if (ms >= 10_000) return `${formatCount(ms / 1000)} s`;
  return ms >= 1000 ? `${(ms / 1000).toFixed(1)} s` : `${ms < 10 ? ms.toFixed(1) : formatCount(ms)} ms`;
};
export const formatBytes = (size) => {
  if (size >= 2 ** 30) return `${(size / 2 ** 30).toFixed(1)} GiB`;
  return size >= 2 ** 20 ? `${(size / 2 ** 20).toFixed(1)} MiB` : `${formatCount(size / 1024)} KiB`;
};
/** Returns the ratio of two numbers as text: `37`, or `0.4`. */
export const formatRatio = (numerator, denominator) => {
  const ratio = numerator / denominator;
  return ratio >= 10 ? formatCount(ratio) : ratio.toFixed(1);
};

/**
 * Describes the machine and the versions that were measured. @param version the name and version of the database, such as
 * PostgreSQL 18.4
 */
export const describeMachine = (
  version,
  settings = `the settings of
the embedded server (\`fsync\` and \`full_page_writes\` on)`,
) =>
  `Machine: ${cpus()[0].model.trim()}, ${availableParallelism()} cores, ${formatBytes(totalmem())} of memory, ${process.platform} ${process.arch}; Node ${process.version.slice(1)}, ${version} with ${settings}.`;
/** Describes the load of the machine at the end of the bench, which shows whether other work disturbed it. */
export const describeLoad = () => `at the end the load average was ${loadavg()[0].toFixed(1)}`;

export const reachedOrMissed = (isReached) => (isReached ? 'reached' : 'missed');

/**
 * Writes a sentence that says whether every response was correct.
 * @param wrongResponses a description of each kind of wrong response
 * @param ending the end of the sentence if all were correct
 */
export const describeErrors = (wrongResponses, ending = '.') =>
  wrongResponses.length === 0
    ? `Every response was correct${ending}`
    : `**Not every response was correct** (by status; 0 is a broken connection): ${wrongResponses.join('; ')}.`;

/** Formats rows of cells as a Markdown table; the first row is its head. */
export function table([head, ...rows]) {
  const line = (cells) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map((_, column) => (column === 0 ? '---' : '---:'))), ...rows.map(line)].join(
    '\n',
  );
}
