import { join } from 'node:path';
import { freePort } from '../../scripts/free-port.mjs';
import { prepareData } from '../load/data.mjs';
import { measureDatabase } from '../load/pgbench.mjs';
import { endProcess, readProcessorTime } from '../load/processes.mjs';
import { quantile } from '../measure.mjs';
import { heartbeatsPerSecond, MILLION } from './clients.mjs';
import { startReplica, waitForReplay } from './replica.mjs';
import { Server } from './server.mjs';

const ACTIVATIONS = 5_000;
const WARM_UP_SECONDS = 3;
/** The connections of the closed loop that measures what the machine answers at most. */
const CAPACITY_CONNECTIONS = 64;
/** How long the closed loop and pgbench last. */
const CAPACITY_SECONDS = 5;

/**
 * Measures heartbeats with telemetry on one instance, without and with a replica: at the rate of a million clients, at `rate`,
 * and at the highest rate that the instance reaches.
 * @returns `loads`, `database` (load/pgbench.mjs) and `inboxBytes`, the size of a row of the inbox
 */
export async function measureHeartbeats(environment, options) {
  const { url, folder, processes, progress } = environment;
  const data = await prepareData(environment, ACTIVATIONS);
  const primary = await Server.open(url, join(folder, 'data'));
  const generator = processes.startLoad(data.file, 'open.mjs');
  const measureService = (replica, settings, work) =>
    withService(environment, { ...data.settings, ...settings }, (service) =>
      work({ primary, replica, service, generator, progress }),
    );
  let replica;
  try {
    const withoutReplica = await measureService(null, {}, (context) => measureRates(context, options));
    const inboxBytes = await readInboxBytes(primary);
    progress('replica');
    replica = await startReplica(primary, join(folder, 'replica'));
    const settings = { DATABASE_READ_URL: replica.server.url };
    const withReplica = await measureService(replica.server, settings, (context) =>
      measureRates(context, options),
    );
    await dropReplica(primary, replica);
    replica = undefined;
    progress('pgbench');
    const database = await measureDatabase(url, folder, {
      activations: ACTIVATIONS,
      seconds: CAPACITY_SECONDS,
    });
    return { loads: [...withoutReplica, ...withReplica], database, inboxBytes };
  } finally {
    await replica?.end();
    await primary.end();
  }
}

async function withService({ processes }, settings, work) {
  const metricsPort = await freePort();
  const server = await processes.startService({ ...settings, METRICS_PORT: String(metricsPort) });
  try {
    return await work({ ...server, metricsPort });
  } finally {
    await endProcess(server.child);
  }
}

/** Ends the replica, and removes its replication slot, for which the primary would keep its write-ahead log. */
async function dropReplica(primary, replica) {
  await replica.end();
  await primary.query(`select pg_drop_replication_slot('scale')`);
}

async function measureRates(context, { rate, seconds, seed }) {
  const { generator, service, progress } = context;
  const load = { port: service.port, connectionKind: 'kept' };
  const arrivals = { ...load, load: 'arrivals', warmUpSeconds: 0, seed };
  const closedLoop = {
    ...load,
    load: 'capacity',
    connectionCount: CAPACITY_CONNECTIONS,
    seconds: CAPACITY_SECONDS,
  };
  // After a checkpoint, the first change of a page writes the whole page to the log, which would distort a measurement of seconds.
  // So a checkpoint is made before the warm-up, which changes most of the pages: they are written before the measurement.
  await context.primary.query('checkpoint');
  await generator({ ...arrivals, perSecond: rate, seconds: WARM_UP_SECONDS });
  const loads = [];
  for (const message of [
    { ...arrivals, perSecond: heartbeatsPerSecond(MILLION), seconds },
    { ...arrivals, perSecond: rate, seconds },
    closedLoop,
  ]) {
    const what = message.perSecond ? `${Math.round(message.perSecond)} heartbeats a second` : 'capacity';
    progress(`${what} ${context.replica ? 'with' : 'without'} a replica`);
    loads.push(await measureLoad(context, message));
  }
  return loads;
}

/** Measures one load: the processor times and the WAL for each heartbeat, the times of the answers, and what was counted. */
async function measureLoad(context, message) {
  const { primary, replica, generator } = context;
  const before = await readCounters(context);
  const answers = await generator(message);
  if (replica) await waitForReplay(primary, replica);
  const after = await readCounters(context);
  const used = Object.fromEntries(Object.keys(after).map((name) => [name, after[name] - before[name]]));
  const times = (answers.times ?? []).toSorted((a, b) => a - b);
  const microsecondsPerHeartbeat = (ms) => (ms * 1000) / used.stored;
  return {
    perSecond: message.perSecond ?? answers.perSecond,
    isCapacity: message.load === 'capacity',
    hasReplica: replica !== null,
    heartbeats: used.stored,
    serviceUs: microsecondsPerHeartbeat(used.service),
    primaryUs: microsecondsPerHeartbeat(used.primary),
    replicaUs: microsecondsPerHeartbeat(used.replica),
    replayUs: microsecondsPerHeartbeat(used.replay),
    wal: used.wal / used.stored,
    replicaShare: used.byReplica / (used.byReplica + used.byPrimary),
    connections: await countConnections(primary),
    replicaConnections: replica ? await countConnections(replica) : 0,
    p50: quantile(times, 0.5),
    p99: quantile(times, 0.99),
    counts: answers.counts,
  };
}

async function readCounters({ primary, replica, service }) {
  const metrics = await (await fetch(`http://127.0.0.1:${service.metricsPort}/metrics`)).text();
  const metric = (name) =>
    Number(
      metrics
        .split('\n')
        .find((line) => line.startsWith(`${name} `))
        ?.split(' ')[1],
    );
  const [{ wal }] = await primary.query(`select pg_current_wal_insert_lsn() - '0/0'::pg_lsn as wal`);
  const replicaTime = replica?.time() ?? { total: 0, replay: 0 };
  return {
    wal: Number(wal),
    service: readProcessorTime(service.pid),
    primary: primary.time().total,
    replica: replicaTime.total,
    replay: replicaTime.replay,
    stored: metric('mooring_telemetry_blocks_total{outcome="stored"}'),
    byReplica: metric('mooring_heartbeats_total{database="replica"}'),
    byPrimary: metric('mooring_heartbeats_total{database="primary"}'),
  };
}

/** Counts the connections of the service; it closes an idle one after a minute. */
async function countConnections(server) {
  const sql = `select count(*)::integer as connections from pg_stat_activity
    where backend_type = 'client backend' and pid <> pg_backend_pid()`;
  return (await server.query(sql))[0].connections;
}

async function readInboxBytes(primary) {
  const sql = `select pg_total_relation_size('telemetry_inbox')::float8 / count(*) as bytes from telemetry_inbox`;
  return (await primary.query(sql))[0].bytes;
}
