import { ROWS } from '../load/rows.mjs';
import { bytes, count, errors, loadAtEnd, machine, median, reached, sum, table, time } from '../measure.mjs';

/** A heartbeat among ten million may take this many times as long as one among ten thousand. */
const SLOWER_AT_MOST = 1.25;
/** And this many times as long, in the 99th percentile, while the retention runs. */
const SLOWER_DURING_RETENTION_AT_MOST = 2;

/** The measurements as a page of Markdown. */
export function report({ version, databases, rows, starts, retention }, options) {
  const { sizes, rounds, seconds, due, sample, connections } = options;
  return `# What growth costs

Measured on ${new Date().toISOString().slice(0, 10)} by \`npm run bench:growth -- --sizes ${sizes.join(',')} --rounds ${rounds} --seconds ${seconds} --due ${due} --write\`:
a database of each size, all on one server, with a service for each; each row in ${rounds} rounds of ${seconds} s for each in turn, after
a warm-up, ${connections} kept connections in a closed loop. The load is spread over ${count(sample)} activations, a random sample of all from the
oldest to the newest. Each factor is the median over pairs of neighbouring rounds, with the minimum and the maximum.

${machine(version)} Its \`max_wal_size\` is 16 GB, so that the filling is not held up; \`shared_buffers\` are 128 MB as
ever. Load, services and database share the cores, so absolute measurements are noisy and low (${loadAtEnd()}); the
ratios are what counts. ${errors(wrongOf(rows))}

## Times as slow as among ${count(sizes[0])}

${table([
  ['', ...sizes.slice(1).map((size) => `among ${count(size)}`)],
  ...Object.entries(rows).map(([row, measurements]) => slower(row, measurements, sizes)),
])}

## Absolute measurements

${table([
  ['', 'licenses', 'answers a second', 'p50', 'p99'],
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

const slower = (row, measurements, sizes) => [
  ROWS[row].title,
  ...sizes.slice(1).map((size, place) => {
    const { ratio, least, most } = measurements[size];
    const isGoal = row === 'heartbeat' || row === 'telemetry';
    const isLast = place === sizes.length - 2;
    const verdict =
      isGoal && isLast ? `; wanted at most ${SLOWER_AT_MOST}: ${reached(ratio <= SLOWER_AT_MOST)}` : '';
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

Half of the licenses were sold, so there are half as many purchases; indexes are indented. Each heartbeat of the load may
touch five pages that no other touches (binding, license and purchase, and an index page of two of them): ${bytes(5 * 8192 * sample)} among the
most, which the operating system's cache holds and \`shared_buffers\` do not.

${table([
  ['', ...databases.map(({ size }) => `${count(size)} licenses`)],
  ...names.map(({ name, is_index }) => [
    `${is_index ? '&nbsp;&nbsp;' : ''}\`${name}\``,
    ...databases.map((database) => sizeOf(database, name)),
  ]),
  ['together', ...databases.map((database) => bytes(total(database)))],
  ['bytes a license', ...databases.map((database) => count(total(database) / database.size))],
  ['made in', ...databases.map(({ ms }) => time(ms))],
])}`;
}

const startsOf = ({ starts, rows, first, second }) => `## Start-up

From the start of the process to the first \`200\` of \`/health/ready\`, ${starts} times each, in turn.

${table([
  ['', 'median', 'least', 'most'],
  ...rows.map(({ size, ...times }) => [`in production, ${count(size)} licenses`, ...spread(times)]),
  ['in development, from the second time on', ...spread(second)],
])}

The first time in development, with the database cluster to make, took ${time(first)}.`;

const spread = ({ median, least, most }) => [time(median), time(least), time(most)];

function retentionOf({ due, rates, quietMs, rounds }) {
  const factor = median(rounds.map((round) => round.factor));
  const perSecond = sum(Object.values(rates));
  const wrong = rounds.flatMap(({ without, during }) => [...without.wrong, ...during.wrong]);
  return `## The nightly run under load

${perSecond} heartbeats a second, every other one with telemetry, whether they are answered or not (an open loop; a time counts from when the
request was due), ${time(quietMs)} without and then as long as a run takes. Before each, ${count(due)} rows of telemetry became due (a month that goes
whole, and days of the next one), ${count(due / 4)} rows waited in the inbox for the night, ${count(due / 20)} activations had reached the end of their retention period, and a week was to
be counted. ${wrong.length === 0 ? 'Every heartbeat was answered rightly.' : `**Not every answer was right**: ${JSON.stringify(wrong)}.`}

${table([
  [
    '',
    'the run took',
    'rows deleted',
    'p50 without',
    'p50 under it',
    'p99 without',
    'p99 under it',
    'p99, ratio',
  ],
  ...rounds.map(({ ms, deleted, without, during, factor }, place) => [
    `round ${place + 1}`,
    time(ms),
    count(sum(Object.values(deleted))),
    ...[without.p50, during.p50, without.p99, during.p99].map((each) => `${each.toFixed(1)} ms`),
    factor.toFixed(2),
  ]),
])}

The median of the factors is ${factor.toFixed(2)}; wanted less than ${SLOWER_DURING_RETENTION_AT_MOST}: ${reached(factor < SLOWER_DURING_RETENTION_AT_MOST)}.`;
}
