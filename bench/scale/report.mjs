import {
  describeErrors,
  describeLoad,
  describeMachine,
  formatBytes,
  formatCount,
  formatTime,
  table,
} from '../measure.mjs';
import { HEARTBEATS_A_DAY } from './clients.mjs';
import { columns, percent, rateTitle } from './formats.mjs';
import { millionSection, targetSection } from './report-costs.mjs';

const us = (value) => `${formatCount(value)} µs`;

/** Writes the measurements and the computed costs as a page of Markdown. */
export function report(measurements, costs, options) {
  const { version, heartbeats } = measurements;
  const { seconds, rate, days, rows, seed } = options;
  const command = `npm run bench:scale -- --seconds ${seconds} --rate ${rate} --days ${days} --rows ${rows} --seed ${seed} --write`;
  return `# What a million clients cost

Measured on ${new Date().toISOString().slice(0, 10)} by \`${command}\`.
A client sends a heartbeat every six hours, so that a million clients send ${costs.million[0].rate.toFixed(1)} a second. Each has telemetry.

${describeMachine(version)} Service, databases and load generator share the cores (${describeLoad()}), so that times
vary from run to run; bytes do not. ${describeErrors(describeWrongResponses(heartbeats.loads))}

${heartbeatSection(heartbeats, options)}

${nightSection(measurements, costs.nights)}

${millionSection(measurements, costs)}

${targetSection(measurements, costs)}
`;
}

const describeWrongResponses = (loads) =>
  loads.flatMap((load) =>
    Object.entries(load.counts)
      .filter(([name, times]) => !['right', 'due', 'right_in_window'].includes(name) && times > 0)
      .map(([name, times]) => `${name} at ${rateTitle(load)}: ${times} times`),
  );

function heartbeatSection({ loads, database, inboxBytes }, { seconds }) {
  const pgbench = database
    ? `pgbench alone inserted ${formatCount(database.insert)} rows a second in transactions of one row, over 12 connections.`
    : 'pgbench is not installed, so that the database alone was not measured.';
  return `## A heartbeat

One instance answers heartbeats that arrive as a Poisson process, whether earlier ones were answered or not, for ${seconds} s at each rate.
The lowest rate is that of a million clients; the column "most" is a closed loop of 64 connections, each of which sends the
next heartbeat after a response. The processor time of PostgreSQL is that of all processes of the server,
including processes that have ended. The share of the replica is counted by \`mooring_heartbeats_total\`.

${columns(loads.map(rateTitle), loads, [
  ['heartbeats', ({ heartbeats }) => formatCount(heartbeats)],
  ['processor time of the service', ({ serviceUs }) => us(serviceUs)],
  ['of the primary', ({ primaryUs }) => us(primaryUs)],
  ['of the replica', ({ hasReplica, replicaUs }) => (hasReplica ? us(replicaUs) : '')],
  ['of which its replay', ({ hasReplica, replayUs }) => (hasReplica ? us(replayUs) : '')],
  ['decided by the replica', ({ replicaShare }) => percent(replicaShare)],
  ['WAL', ({ wal }) => `${formatCount(wal)} B`],
  ['connections to the primary', ({ connections }) => String(connections)],
  ['to the replica', ({ replicaConnections }) => String(replicaConnections)],
  ['p50', ({ isCapacity, p50 }) => (isCapacity ? '' : formatTime(p50))],
  ['p99', ({ isCapacity, p99 }) => (isCapacity ? '' : formatTime(p99))],
])}

- A row of the inbox takes ${formatCount(inboxBytes)} bytes with its index.
- ${pgbench}`;
}

function nightSection({ days, monthsKept }, { rows, move, rollUp, vacuum, diskBytes, growth, rollUps }) {
  const some = growth.nights === 1 ? 'night' : `${growth.nights} nights`;
  return `## A night

Each day the inbox receives ${formatCount(rows)} rows in the order of arrival, as many as ${formatCount(rows / HEARTBEATS_A_DAY)} clients send. The retention run after midnight
moves them to the partition of their month, and counts a week that has ended. Then the partition is vacuumed, which in production
autovacuum does. The bench runs ${days.nights.length} nights across a month boundary, in a database without other data. Each step follows a checkpoint,
so that it writes more WAL than without one.

${table([
  [
    'day',
    'stored before',
    'moved',
    'weeks counted',
    'run',
    'its processor time',
    'its WAL',
    'vacuum',
    'its WAL',
  ],
  ...days.nights.map(({ day, stored, moved, weeks, ...night }) => [
    day,
    formatCount(stored),
    formatCount(moved),
    String(weeks),
    formatTime(night.run.ms),
    formatTime(night.run.processorMs),
    formatBytes(night.run.wal),
    formatTime(night.vacuum.ms),
    formatBytes(night.vacuum.wal),
  ]),
])}

- Growth: the runs of the last ${some} without a roll-up took ${growth.time.toFixed(2)} times as long as those of the first ${some}, and
  ${growth.processor.toFixed(2)} times as much processor time (medians), with up to ${formatCount(growth.stored)} rows stored.
- Runs with a roll-up: ${rollUps.map(({ run, stored }) => `${formatTime(run.ms)} and ${formatTime(run.processorMs)} of processor time (${formatCount(stored)} rows stored)`).join('; ')}.
- Partitions: ${days.months.map((month) => `\`${month.name}\` ${formatCount(month.rows)} rows in ${formatBytes(month.table_bytes)}, and ${formatBytes(month.index_bytes)} of indexes`).join('; ')}.

${columns(
  ['move of a day', 'roll-up of a week', 'vacuum'],
  [move, rollUp, vacuum],
  [
    ['time of a million rows', (cost) => formatTime(cost.us * 1000)],
    ['processor time of PostgreSQL, of a row', (cost) => `${cost.processorUs.toFixed(1)} µs`],
    ['WAL of a row', (cost) => `${formatCount(cost.wal)} B`],
    ['temporary files of a row', (cost) => `${formatCount(cost.temporary)} B`],
  ],
)}

The column of the roll-up has the excess of its night over the median of the other nights, divided by the rows of the week. A row takes
${diskBytes.toFixed(0)} bytes in its partition, with the index. It is kept for ${monthsKept} months.`;
}
