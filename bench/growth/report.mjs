import { ROWS } from '../load/rows.mjs';
import { bytes, count, errors, loadAtEnd, machine, median, reached, sum, table, time } from '../measure.mjs';

/** How many times as long a heartbeat may take in the largest database as in the smallest. */
const MAX_RATIO = 1.25;
/** How many times as long the 99th percentile of heartbeats may be while retention runs. */
const MAX_RATIO_DURING_RETENTION = 2;

/** The measurements as a page of Markdown. */
export function report({ version, databases, rows, starts, retention }, options) {
  const { sizes, rounds, seconds, due, sample, connections } = options;
  return `# What growth costs

Measured on ${new Date().toISOString().slice(0, 10)} by \`npm run bench:growth -- --sizes ${sizes.join(',')} --rounds ${rounds} --seconds ${seconds} --due ${due} --write\`:
one server has a database of each size, each with its own service. Each row is measured in ${rounds} rounds of ${seconds} s that alternate between the
services, after a warm-up, with ${connections} keep-alive connections in a closed loop. The load uses ${count(sample)} activations, a random sample of
all from the oldest to the newest. Each ratio is the median over pairs of neighbouring rounds, with the minimum and the maximum.

${machine(version)} Its \`max_wal_size\` is 16 GB, so that checkpoints do not slow the filling of the tables; \`shared_buffers\` are 128 MB as
always. Load, services and database share the cores, so absolute measurements are noisy and low (${loadAtEnd()}); the
ratios are comparable. ${errors(wrongOf(rows))}

## Slowdown relative to ${count(sizes[0])} licenses

${table([
  ['', ...sizes.slice(1).map((size) => `${count(size)} licenses`)],
  ...Object.entries(rows).map(([row, measurements]) => slowdownRow(row, measurements, sizes)),
])}

## Absolute measurements

${table([
  ['', 'licenses', 'responses a second', 'p50', 'p99'],
  ...Object.entries(rows).flatMap(([row, measurements]) =>
    sizes.map((size) => {
      const { perSecond, p50, p99 } = measurements[size];
      return [ROWS[row].title, count(size), count(perSecond), `${p50.toFixed(1)} ms`, `${p99.toFixed(1)} ms`];
    }),
  ),
])}

${sizesOf(databases, sample)}

${startsOf(starts)}

${retentionOf(retention)}
`;
}

const slowdownRow = (row, measurements, sizes) => [
  ROWS[row].title,
  ...sizes.slice(1).map((size, index) => {
    const { ratio, least, most } = measurements[size];
    const hasGoal = row === 'heartbeat' || row === 'telemetry';
    const isLargest = index === sizes.length - 2;
    const verdict =
      hasGoal && isLargest ? `; goal: at most ${MAX_RATIO}: ${reached(ratio <= MAX_RATIO)}` : '';
    return `${ratio.toFixed(2)} (${least.toFixed(2)} to ${most.toFixed(2)}${verdict})`;
  }),
];

function wrongOf(rows) {
  return Object.entries(rows).flatMap(([row, sizes]) =>
    Object.entries(sizes).flatMap(([size, { wrong }]) =>
      Object.entries(wrong).map(
        ([status, times]) => `${ROWS[row].title}, ${count(size)}: ${times} times ${status}`,
      ),
    ),
  );
}

function sizesOf(databases, sample) {
  const total = ({ relations }) => sum(relations.map(({ size }) => size));
  const names = databases.at(-1).relations.filter(({ size }) => size > 8192);
  const sizeOf = ({ relations }, name) => bytes(relations.find((relation) => relation.name === name).size);
  return `## Disk space

Half of the licenses were sold, so there are half as many purchases as licenses; indexes are indented. Each activation of
the load may need five pages that no other needs (activation, license, purchase, and an index page of two of them). In the
largest database that makes ${bytes(5 * 8192 * sample)}, which fit in the cache of the operating system but not in \`shared_buffers\`.

${table([
  ['', ...databases.map(({ size }) => `${count(size)} licenses`)],
  ...names.map(({ name, is_index }) => [
    `${is_index ? '&nbsp;&nbsp;' : ''}\`${name}\``,
    ...databases.map((database) => sizeOf(database, name)),
  ]),
  ['total', ...databases.map((database) => bytes(total(database)))],
  ['bytes for each license', ...databases.map((database) => count(total(database) / database.size))],
  ['time to fill', ...databases.map(({ ms }) => time(ms))],
])}`;
}

const startsOf = ({ starts, rows, first, later }) => `## Start-up

The time from the start of the process to the first \`200\` of \`/health/ready\`, ${starts} times each, in alternation.

${table([
  ['', 'median', 'minimum', 'maximum'],
  ...rows.map(({ size, ...times }) => [`in production, ${count(size)} licenses`, ...spread(times)]),
  ['in development, from the second start on', ...spread(later)],
])}

The first start in development, which creates the database cluster, took ${time(first)}.`;

const spread = ({ median, least, most }) => [time(median), time(least), time(most)];

function retentionOf({ due, rates, quietMs, rounds }) {
  const ratio = median(rounds.map((round) => round.ratio));
  const perSecond = sum(Object.values(rates));
  const wrong = rounds.flatMap(({ without, during }) => [...without.wrong, ...during.wrong]);
  return `## The nightly run under load

The load sends ${perSecond} heartbeats a second in an open loop, every other one with telemetry; a time counts from when the request was
due. Each round measures ${time(quietMs)} without the nightly run, and then the time of one run. Before each round, ${count(due)} rows of telemetry
reached the end of their retention period (one whole month, and days of the next one), and so did ${count(due / 20)} ended activations;
${count(due / 4)} rows were in the inbox, and one week was not counted yet. ${wrong.length === 0 ? 'Every heartbeat got a correct response.' : `**Not every response was correct**: ${JSON.stringify(wrong)}.`}

${table([
  [
    '',
    'time of the run',
    'rows deleted',
    'p50 without',
    'p50 during the run',
    'p99 without',
    'p99 during the run',
    'p99, ratio',
  ],
  ...rounds.map(({ ms, deleted, without, during, ratio }, index) => [
    `round ${index + 1}`,
    time(ms),
    count(sum(Object.values(deleted))),
    ...[without.p50, during.p50, without.p99, during.p99].map((ms) => `${ms.toFixed(1)} ms`),
    ratio.toFixed(2),
  ]),
])}

The median of the ratios is ${ratio.toFixed(2)}; the goal is less than ${MAX_RATIO_DURING_RETENTION}: ${reached(ratio < MAX_RATIO_DURING_RETENTION)}.`;
}
