import { formatBytes, formatCount, formatTime, table } from '../measure.mjs';
import { MILLION } from './clients.mjs';
import { BUSIEST_HOUR_FACTOR, PLANNED_SHARE, TARGET_CLIENTS } from './costs.mjs';
import { columns, percent, rateTitle } from './formats.mjs';

const cores = (value) => (value >= 10 ? formatCount(value) : value.toFixed(value >= 0.1 ? 2 : 4));
const large = (bytes) => (bytes >= 2 ** 40 ? `${(bytes / 2 ** 40).toFixed(1)} TiB` : formatBytes(bytes));
const millions = (clients) => `${(clients / MILLION).toFixed(clients < 10 * MILLION ? 1 : 0)} million`;
const formatHours = (seconds) =>
  seconds >= 7200 ? `${(seconds / 3600).toFixed(1)} hours` : formatTime(seconds * 1000);

/** Writes the costs of a million clients. */
export function millionSection({ monthsKept }, { million }) {
  return `## Cost per million clients

Cores = heartbeats a second × processor time of a heartbeat. Cores for the nights = heartbeats a second × processor time of a row (move,
roll-up and vacuum), as a mean over the day. Disk = rows a day × bytes of a row (inbox: of a row of the inbox) × days kept. WAL a day =
rows a day × WAL of a heartbeat and of the three steps of a row. The columns with the rate of a million clients are measured at that
rate, and include what the programs use without requests; the others are computed from a higher rate, at which one statement handles
more heartbeats.

${columns(
  million.map(({ load }) => `from ${rateTitle(load)}`),
  million,
  [
    ['cores of the service', ({ serviceCores }) => cores(serviceCores)],
    ['cores of the primary, heartbeats', ({ primaryCores }) => cores(primaryCores)],
    ['cores of the primary, nights', ({ nightCores }) => cores(nightCores)],
    ['cores of the replica', ({ load, replicaCores }) => (load.hasReplica ? cores(replicaCores) : '')],
    ['WAL a day', ({ walADay }) => large(walADay)],
    [
      'connections of an instance',
      ({ connections, replicaConnections }) => String(connections + replicaConnections),
    ],
  ],
)}

The same for each load:

${table([['', 'a million clients'], ...nightRows(million[0], monthsKept)])}`;
}

/** Rows that depend on the nights alone. */
const nightRows = (costs, monthsKept) => [
  ['rows a day', formatCount(costs.rowsADay)],
  ['disk a day', large(costs.diskADay)],
  [`disk of ${monthsKept} months`, large(costs.diskKept)],
  ['inbox, at most', large(costs.inboxBytes)],
  ['move of a day', formatHours(costs.moveSeconds)],
  ['temporary files of its sort', large(costs.temporaryBytes)],
  ['roll-up of a week', formatHours(costs.rollUpSeconds)],
];

/** Writes the costs of the planned number of clients, and the limits. */
export function targetSection({ monthsKept }, { target, limits }) {
  const [{ rate, rowsADay, nightFactor, sortFactor, ...one }] = target;
  const factors = target
    .map(({ factor, load }) => `${factor.toFixed(1)} times ${rateTitle(load)}`)
    .join('; ');
  /** A cell with the value at the even rate, and in the busiest hour. */
  const both = (format) => (costs) => [1, BUSIEST_HOUR_FACTOR].map((peak) => format(costs, peak)).join(' / ');
  const ofReplica = (format) => (costs) => (costs.load.hasReplica ? both(format)(costs) : '');
  return `## ${millions(TARGET_CLIENTS)} clients

**Extrapolated, not measured.** ${formatCount(rate)} heartbeats a second are ${factors}.
${formatCount(rowsADay)} rows a day are ${formatCount(nightFactor)} times the rows of a measured night. Costs are multiplied by the number of heartbeats and of rows. An instance that
is in full use has the cost of the closed loop; the cost at a fixed rate is an upper bound. Instances = cores of the service ÷ ${PLANNED_SHARE}, rounded
up: each uses one core, to ${percent(PLANNED_SHARE)}. Connections = instances × connections of an instance. Each cell has the value at an even rate, and in
the busiest hour, with ${BUSIEST_HOUR_FACTOR} times as many heartbeats.

${columns(
  target.map(({ load }) => `from ${rateTitle(load)}`),
  target,
  [
    ['heartbeats a second', both((costs, peak) => formatCount(costs.rate * peak))],
    ['cores of the service', both((costs, peak) => cores(costs.serviceCores * peak))],
    [`instances at ${percent(PLANNED_SHARE)} of a core`, both((costs, peak) => costs.instances(peak))],
    ['cores of the primary, heartbeats', both((costs, peak) => cores(costs.primaryCores * peak))],
    ['cores of the replica', ofReplica((costs, peak) => cores(costs.replicaCores * peak))],
    ['of which its replay', ofReplica((costs, peak) => cores(costs.replayCores * peak))],
    ['WAL of heartbeats a second', both((costs, peak) => formatBytes(costs.walPerSecond * peak))],
    ['connections to the primary', both((costs, peak) => costs.instances(peak) * costs.connections)],
    [
      'connections to the replica',
      ofReplica((costs, peak) => costs.instances(peak) * costs.replicaConnections),
    ],
  ],
)}

The same for each load:

${table([
  ['', `${millions(TARGET_CLIENTS)} clients`],
  ...nightRows({ ...one, rowsADay }, monthsKept),
  ['WAL a day', large(one.walADay)],
])}

The move sorts the rows of a day, and a sort grows faster than its rows: its time may be up to ${sortFactor.toFixed(2)} times that of the table. The replica was
not running during the measured nights, so that its replay of the move is missing.

## What limits first

Clients at which a limit is reached, fewest first, from the costs of the closed loop. In the busiest hour there are ${BUSIEST_HOUR_FACTOR} times the mean
load. A run of the retention may take one hour, because the next one begins then; after half an hour a warning says that it is
still in progress, and it goes on. A disk of 16 TiB and a line of 1 Gbit/s are assumptions.

${table([
  ['what', 'limit', 'clients', 'extended by'],
  ...limits.map(({ name, limit, clients, extension }) => [name, limit, millions(clients), extension]),
])}`;
}
