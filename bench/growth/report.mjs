import { REQUEST_KINDS } from '../load/request-kinds.mjs';
import {
  formatBytes,
  formatCount,
  describeErrors,
  describeLoad,
  describeMachine,
  median,
  reachedOrMissed,
  sum,
  table,
  formatTime,
} from '../measure.mjs';
import { IDS_PER_STATEMENT } from './statement.mjs';

/** The goal for the slowdown of heartbeats: their time with the largest database, as a multiple of that with the smallest. */
const MAX_SLOWDOWN = 1.1;
/** The goal for the 99th percentile of heartbeats during the nightly run, as a multiple of that without the run. */
const MAX_P99_RATIO_DURING_RUN = 1.3;

/** The size of a page of PostgreSQL. */
const PAGE_BYTES = 8192;
/** The pages that one activation of the load may need and no other one needs: three of tables and two of indexes. */
const PAGES_PER_ACTIVATION = 5;

/** Writes the measurements as a page of Markdown. @param measurementsByKind by the names of REQUEST_KINDS, then by database size */
export function report({ version, databases, measurementsByKind, statement, starts, retention }, options) {
  const { sizes, rounds, seconds, due, sample, connections } = options;
  return `# How the number of licenses affects the service

Measured on ${new Date().toISOString().slice(0, 10)} by \`npm run bench:growth -- --sizes ${sizes.join(',')} --rounds ${rounds} --seconds ${seconds} --due ${due} --write\`:
one PostgreSQL server has a database of each size, and each database has its own instance of the service. Each kind of request is
measured in ${rounds} rounds of ${seconds} s after a warm-up; the rounds alternate between the instances. The load keeps ${connections} connections open and sends the next
request on a connection as soon as it has the response (a closed loop). Its requests use ${formatCount(sample)} activations of each database: a random sample,
spread from the oldest to the newest. Each ratio compares two databases in rounds with the same number; the table has the median of
these ratios, with the minimum and the maximum.

${describeMachine(version)} \`max_wal_size\` is 16 GB, so that checkpoints do not slow the filling of the tables, and \`shared_buffers\` is
2 GB. Load, services and database share the cores, so absolute measurements are noisy and low (${describeLoad()}); the
ratios are comparable. ${describeErrors(describeWrongResponses(measurementsByKind))}

## Slowdown relative to ${formatCount(sizes[0])} licenses

${table([
  ['', ...sizes.slice(1).map((size) => `${formatCount(size)} licenses`)],
  ...Object.entries(measurementsByKind).map(([requestKind, measurements]) =>
    slowdownCells(requestKind, measurements, sizes),
  ),
])}

${statementSection(statement, sizes)}

## Absolute measurements

${table([
  ['', 'licenses', 'responses a second', 'p50', 'p99'],
  ...Object.entries(measurementsByKind).flatMap(([requestKind, measurements]) =>
    sizes.map((size) => {
      const { perSecond, p50, p99 } = measurements[size];
      return [
        REQUEST_KINDS[requestKind].title,
        formatCount(size),
        formatCount(perSecond),
        `${p50.toFixed(1)} ms`,
        `${p99.toFixed(1)} ms`,
      ];
    }),
  ),
])}

${diskSpaceSection(databases, sample)}

${startUpSection(starts)}

${retentionSection(retention)}
`;
}

const slowdownCells = (requestKind, measurements, sizes) => [
  REQUEST_KINDS[requestKind].title,
  ...sizes.slice(1).map((size, index) => {
    const { ratio, least, most } = measurements[size];
    const hasGoal = requestKind === 'heartbeat' || requestKind === 'telemetry';
    const isLargest = index === sizes.length - 2;
    const verdict =
      hasGoal && isLargest
        ? `; goal: at most ${MAX_SLOWDOWN}: ${reachedOrMissed(ratio <= MAX_SLOWDOWN)}`
        : '';
    return `${ratio.toFixed(2)} (${least.toFixed(2)} to ${most.toFixed(2)}${verdict})`;
  }),
];

function statementSection({ spread, neighbouring }, sizes) {
  const row = (title, { us, ratio }) => [
    title,
    ...us.map((each) => `${each.toFixed(1)} µs`),
    ratio.toFixed(2),
  ];
  return `## The statement of a heartbeat alone

The time of an activation in the statement that a heartbeat needs, without the service: over one connection, ${IDS_PER_STATEMENT} activations in each
statement, in rounds that alternate between the databases. The activations of the load are spread over all pages of the tables. The others
are as many that are stored beside each other, so their pages are as near to each other in both databases.

${table([
  ['', `${formatCount(sizes[0])} licenses`, `${formatCount(sizes.at(-1))} licenses`, 'ratio'],
  row('the activations of the load', spread),
  row('activations stored beside each other', neighbouring),
])}`;
}

/** Describes the wrong responses: the kind of request, the size of the database, the status, and how often it came. */
function describeWrongResponses(measurementsByKind) {
  return Object.entries(measurementsByKind).flatMap(([requestKind, measurements]) =>
    Object.entries(measurements).flatMap(([size, { wrongByStatus }]) =>
      Object.entries(wrongByStatus).map(
        ([status, times]) =>
          `${REQUEST_KINDS[requestKind].title}, ${formatCount(size)}: ${times} times ${status}`,
      ),
    ),
  );
}

function diskSpaceSection(databases, sample) {
  const total = ({ relations }) => sum(relations.map(({ size }) => size));
  const shownRelations = databases.at(-1).relations.filter(({ size }) => size > PAGE_BYTES);
  const sizeOf = ({ relations }, name) =>
    formatBytes(relations.find((relation) => relation.name === name).size);
  return `## Disk space

Half of the licenses come from a purchase, so there are half as many purchases as licenses. The indexes of a table are indented
below it. In the largest database, each activation of the load may need five pages of 8 KiB that no other activation of the load needs: one
page each of the tables \`activation\`, \`license\` and \`purchase\`, and one page each of two of their indexes. Together these are ${formatBytes(PAGES_PER_ACTIVATION * PAGE_BYTES * sample)}, which
fit in \`shared_buffers\`. With its default of 128 MB, most of them are read from the cache of the operating system.

${table([
  ['', ...databases.map(({ size }) => `${formatCount(size)} licenses`)],
  ...shownRelations.map(({ name, is_index }) => [
    `${is_index ? '&nbsp;&nbsp;' : ''}\`${name}\``,
    ...databases.map((database) => sizeOf(database, name)),
  ]),
  ['total', ...databases.map((database) => formatBytes(total(database)))],
  ['bytes for each license', ...databases.map((database) => formatCount(total(database) / database.size))],
  ['time to fill', ...databases.map(({ ms }) => formatTime(ms))],
])}`;
}

const startUpSection = ({ starts, rows, first, later }) => `## Start-up

The table shows the time from the start of the process to the first \`200\` of \`/health/ready\`, measured ${starts} times in each row. In production,
the starts alternate between the smallest and the largest database.

${table([
  ['', 'median', 'minimum', 'maximum'],
  ...rows.map(({ size, ...times }) => [`in production, ${formatCount(size)} licenses`, ...timeCells(times)]),
  ['in development, from the second start on', ...timeCells(later)],
])}

The first start in development, which creates the database cluster, took ${formatTime(first)}.`;

const timeCells = ({ median, least, most }) => [formatTime(median), formatTime(least), formatTime(most)];

function retentionSection({ due, rates, withoutRunMs, rounds }) {
  const ratio = median(rounds.map((round) => round.ratio));
  const perSecond = sum(Object.values(rates));
  const wrongCounts = rounds.flatMap(({ without, during }) => [
    ...without.wrongCounts,
    ...during.wrongCounts,
  ]);
  return `## The nightly run under load

The load sends ${perSecond} heartbeats a second, half of them with telemetry, whether earlier ones were answered or not (an open loop); the time
of a response counts from when its request was due. Each round measures heartbeats for ${formatTime(withoutRunMs)} without the nightly run, and then during
one run. Before each round, the bench inserts ${formatCount(due)} rows of telemetry whose retention period has ended (one whole month, and the
first days of the next one), ${formatCount(due / 20)} activations whose retention period has ended, and ${formatCount(due / 4)} rows of yesterday into the inbox; one
week is not rolled up yet. ${wrongCounts.length === 0 ? 'Every heartbeat got a correct response.' : `**Not every response was correct**: ${JSON.stringify(wrongCounts)}.`}

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
    formatTime(ms),
    formatCount(sum(Object.values(deleted))),
    ...[without.p50, during.p50, without.p99, during.p99].map((ms) => `${ms.toFixed(1)} ms`),
    ratio.toFixed(2),
  ]),
])}

The median of the ratios is ${ratio.toFixed(2)}; the goal is at most ${MAX_P99_RATIO_DURING_RUN}: ${reachedOrMissed(ratio <= MAX_P99_RATIO_DURING_RUN)}.`;
}
