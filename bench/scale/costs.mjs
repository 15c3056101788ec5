// Computes from the measurements what clients cost, and which limit a fleet reaches first. Functions without effects.
import { median, sum } from '../measure.mjs';
import { DAY_SECONDS, HEARTBEATS_A_DAY, heartbeatsPerSecond, MILLION } from './clients.mjs';

/** The share of a core, or of a line, that is planned to be in use. */
export const PLANNED_SHARE = 0.6;
/** The busiest hour of a day has so many times the mean load (docs/operations/load-and-limits.md#sizing). */
export const BUSIEST_HOUR_FACTOR = 3;
/** Retention runs every hour, so that a longer run delays the next one. */
const RUN_SECONDS = 3_600;
/** Assumptions: a large volume of a cloud provider, and a line of 1 Gbit/s to a replica. */
const VOLUME_BYTES = 16 * 2 ** 40;
const LINE_BYTES_PER_SECOND = 1e9 / 8;
export const TARGET_CLIENTS = 100 * MILLION;
const MILLION_RATE = heartbeatsPerSecond(MILLION);
const DAYS_A_WEEK = 7;
const DAYS_A_MONTH = 365.25 / 12;

export function computeCosts({ heartbeats, days, monthsKept }) {
  const nights = computeNights(days);
  const costOf = (load, clients) => cost({ load, clients, nights, heartbeats, monthsKept });
  // `isCapacity` marks the closed loop, which has the costs of an instance at its limit: first without, then with a replica. At a
  // fixed rate fewer heartbeats share a statement, so that its costs are an upper bound.
  const large = heartbeats.loads.filter((load) => load.isCapacity || load.perSecond > MILLION_RATE);
  const full = heartbeats.loads.filter(({ isCapacity }) => isCapacity);
  return {
    nights,
    million: heartbeats.loads.map((load) => costOf(load, MILLION)),
    target: large.map((load) => costOf(load, TARGET_CLIENTS)),
    limits: findLimits(full, nights, monthsKept),
  };
}

/** Computes what retention costs for a telemetry row. A roll-up costs what its night takes above the median of other nights. */
function computeNights({ nights, months }) {
  const moves = nights.filter(({ weeks }) => weeks === 0);
  const rollUps = nights.filter(({ weeks }) => weeks > 0);
  const rows = median(nights.map(({ moved }) => moved));
  const moveCost = (name) => median(moves.map(({ run }) => run[name])) / rows;
  const rollUpCost = (name) =>
    Math.max(0, median(rollUps.map(({ run }) => run[name] / rows - moveCost(name)))) / DAYS_A_WEEK;
  const vacuumCost = (name) => median(nights.map(({ vacuum }) => vacuum[name])) / rows;
  const costsPerRow = (costOf) => ({
    us: costOf('ms') * 1000,
    processorUs: costOf('processorMs') * 1000,
    wal: costOf('wal'),
    temporary: costOf('temporary'),
  });
  const storedRows = sum(months.map((month) => month.rows));
  return {
    rows,
    move: costsPerRow(moveCost),
    /** Per row of the week that is rolled up. */
    rollUp: costsPerRow(rollUpCost),
    vacuum: costsPerRow(vacuumCost),
    diskBytes: sum(months.map(({ table_bytes, index_bytes }) => table_bytes + index_bytes)) / storedRows,
    growth: computeGrowth(moves),
    rollUps,
  };
}

/** Compares the last nights with the first ones. */
function computeGrowth(moves) {
  const nights = Math.min(3, Math.floor(moves.length / 2));
  const medianOf = (someNights, name) => median(someNights.map(({ run }) => run[name]));
  const ratio = (name) => medianOf(moves.slice(-nights), name) / medianOf(moves.slice(0, nights), name);
  return { nights, time: ratio('ms'), processor: ratio('processorMs'), stored: moves.at(-1).stored };
}

/** Computes the costs of clients that send heartbeats at an even rate, from a measured load. */
function cost({ load, clients, nights, heartbeats, monthsKept }) {
  const rate = heartbeatsPerSecond(clients);
  const rowsADay = clients * HEARTBEATS_A_DAY;
  const cores = (us) => (rate * us) / 1e6;
  const { move, rollUp, vacuum, diskBytes } = nights;
  const steps = [move, rollUp, vacuum];
  const ofNight = (name) => sum(steps.map((step) => step[name]));
  return {
    load,
    clients,
    rate,
    rowsADay,
    /** How far the costs are extrapolated from the load, and from the rows of a night. */
    factor: rate / load.perSecond,
    nightFactor: rowsADay / nights.rows,
    serviceCores: cores(load.serviceUs),
    primaryCores: cores(load.primaryUs),
    // A row is moved, rolled up and vacuumed once, so that the rate of the rows is that of the heartbeats.
    nightCores: cores(ofNight('processorUs')),
    replicaCores: cores(load.replicaUs),
    replayCores: cores(load.replayUs),
    instances: (peakFactor) => Math.ceil((peakFactor * cores(load.serviceUs)) / PLANNED_SHARE),
    walADay: rowsADay * (load.wal + ofNight('wal')),
    walPerSecond: rate * load.wal,
    inboxBytes: rowsADay * heartbeats.inboxBytes,
    diskADay: rowsADay * diskBytes,
    diskKept: rowsADay * diskBytes * monthsKept * DAYS_A_MONTH,
    moveSeconds: (rowsADay * move.us) / 1e6,
    rollUpSeconds: (rowsADay * DAYS_A_WEEK * rollUp.us) / 1e6,
    temporaryBytes: rowsADay * move.temporary,
    /** The largest factor by which the time of a row could grow: that of a run that only sorts, in n log n steps. */
    sortFactor: Math.log(rowsADay) / Math.log(nights.rows),
    connections: load.connections,
    replicaConnections: load.replicaConnections,
  };
}

/** Finds how many clients reach each limit, fewest first, and what extends the limit. */
function findLimits([withoutReplica, withReplica], { move, rollUp, diskBytes }, monthsKept) {
  const clientsOfRate = (rate) => (rate * DAY_SECONDS) / HEARTBEATS_A_DAY;
  const inBusiestHour = (resource) => `${PLANNED_SHARE * 100} % of ${resource}, busiest hour`;
  const core = inBusiestHour('a core');
  const clientsOfCore = (us) => clientsOfRate((PLANNED_SHARE * 1e6) / us) / BUSIEST_HOUR_FACTOR;
  const clientsOfLine = clientsOfRate((PLANNED_SHARE * LINE_BYTES_PER_SECOND) / withReplica.wal);
  const rowsKept = HEARTBEATS_A_DAY * monthsKept * DAYS_A_MONTH;
  return [
    ['service', core, clientsOfCore(withoutReplica.serviceUs), 'instances'],
    ['primary, heartbeats', core, clientsOfCore(withoutReplica.primaryUs), 'cores'],
    ['primary with a replica, heartbeats', core, clientsOfCore(withReplica.primaryUs), 'cores'],
    ['replica', core, clientsOfCore(withReplica.replicaUs), 'cores, replicas'],
    ['replay of the replica', core, clientsOfCore(withReplica.replayUs), 'none: one process'],
    ['WAL to a replica', inBusiestHour('1 Gbit/s'), clientsOfLine / BUSIEST_HOUR_FACTOR, 'a faster line'],
    // On a Monday one run does both.
    [
      'move of a day and roll-up of a week',
      'one hour',
      (RUN_SECONDS * 1e6) / (HEARTBEATS_A_DAY * (move.us + DAYS_A_WEEK * rollUp.us)),
      'none: one connection',
    ],
    [`telemetry of ${monthsKept} months`, '16 TiB', VOLUME_BYTES / diskBytes / rowsKept, 'disk'],
  ]
    .map(([name, limit, clients, extension]) => ({ name, limit, clients, extension }))
    .toSorted((a, b) => a.clients - b.clients);
}
