// Measures the service under more load than it can answer: npm run bench:overload [-- --factors 0.5,1,2,5,10] [--seconds N]
// [--clients N] [--seed N] [--only new,kept,reconnection] [--write]. Arrivals are a Poisson process that does not wait for
// responses.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { ScriptError } from '../../scripts/prepare.mjs';
import { readBenchOptions } from '../command.mjs';
import { prepareData } from '../load/data.mjs';
import { readProcessorTime } from '../load/processes.mjs';
import { postgresVersion, runPageBench } from '../run.mjs';
import { report } from './report.mjs';

/**
 * The parts of the bench, which --only selects. `new`: each request on a new connection. `kept`: requests on open connections.
 * `reconnection`: all clients return within a second.
 */
const PARTS = ['new', 'kept', 'reconnection'];
const ACTIVATIONS = 5_000;
const WARM_UP_SECONDS = 3;
/** Connections of the closed loop that measures the capacity. */
const CAPACITY_CONNECTIONS = 64;
const CAPACITY_SECONDS = 5;
/** The number of clients that the reconnection represents: its waits are shortened by the ratio of this number to `--clients`. */
const REAL_CLIENTS = 1_000_000;
/** The reconnection is stopped after this multiple of the number of clients divided by the capacity. */
const MAX_RECONNECTION_FACTOR = 2.5;

await runPageBench(import.meta.url, { page: 'overload.md', parseOptions, measureAll, report });

function parseOptions() {
  const options = readBenchOptions(
    { seconds: 8, clients: 20_000, seed: 1 },
    {
      factors: { type: 'string', default: '0.5,1,2,5,10' },
      only: { type: 'string', default: PARTS.join(',') },
    },
  );
  const factors = options.factors.split(',').map(Number);
  if (!factors.every((factor) => factor > 0))
    throw new ScriptError('--factors must be a comma-separated list of numbers above 0.');
  const only = options.only.split(',');
  if (!only.every((part) => PARTS.includes(part)))
    throw new ScriptError(`--only must be a comma-separated list of ${PARTS.join(', ')}.`);
  return { ...options, factors, only };
}

async function measureAll(environment, options) {
  const { url, folder, processes, progress } = environment;
  const data = await prepareData(environment, ACTIVATIONS);
  const { port, pid } = await processes.startService({ ...data.settings, METRICS_PORT: '0' });
  const generator = processes.startLoad(data.file, 'open.mjs');
  const isPinned = await separateCores(folder, pid, generator);
  const measureLoad = async (message) => {
    const before = readProcessorTime(pid);
    const result = await generator({ port, ...message });
    return { ...result, serviceMs: before === null ? null : readProcessorTime(pid) - before };
  };
  const measureCapacity = async (connectionKind, seconds = CAPACITY_SECONDS) => {
    const { perSecond } = await measureLoad({
      load: 'capacity',
      connectionKind,
      connectionCount: CAPACITY_CONNECTIONS,
      seconds,
    });
    return perSecond;
  };
  const points = [];
  for (const connectionKind of ['new', 'kept'].filter((each) => options.only.includes(each))) {
    await measureCapacity(connectionKind, WARM_UP_SECONDS);
    let before = await measureCapacity(connectionKind);
    for (const factor of options.factors) {
      const perSecond = factor * before;
      const load = { load: 'arrivals', connectionKind, opensAll: true, perSecond, seed: options.seed };
      const result = await measureLoad({ ...load, seconds: options.seconds, warmUpSeconds: WARM_UP_SECONDS });
      const after = await measureCapacity(connectionKind);
      // The mean of both, because other work of the machine changes the capacity.
      points.push({ connectionKind, factor, capacity: (before + after) / 2, ...result });
      const { counts } = result;
      progress(
        `${connectionKind} ${factor} ${Math.round(before)} ${Math.round(after)}: ${JSON.stringify([counts, result.reasons])}`,
      );
      before = after;
    }
  }
  let reconnection;
  if (options.only.includes('reconnection')) {
    await measureCapacity('new', WARM_UP_SECONDS);
    const before = await measureCapacity('new');
    progress('reconnection');
    const { clients, seed } = options;
    const load = {
      load: 'reconnection',
      clients,
      returnSeconds: 1,
      speed: REAL_CLIENTS / clients,
      limitSeconds: (clients / before) * MAX_RECONNECTION_FACTOR,
    };
    const result = await measureLoad({ ...load, seed });
    const after = await measureCapacity('new');
    reconnection = { ...result, clients, capacity: (before + after) / 2 };
    progress(
      `reconnection ${JSON.stringify(result.counts)} ${result.answeredAfterMs.length} ${result.answeredAfterMs.at(-1)} ${clients / reconnection.capacity}`,
    );
  }
  const version = await postgresVersion(url);
  return { isPinned, points, reconnection, version, capacityConnections: CAPACITY_CONNECTIONS };
}

/**
 * Runs the service and its database on the first half of the processor cores, and the generator on the others, so that the requests
 * that the service cannot answer do not take its processor time.
 * @returns whether the system could do it
 */
async function separateCores(folder, servicePid, generator) {
  const cores = availableParallelism();
  if (cores < 2) return false;
  const { pid } = await generator({ load: 'pid' });
  const databasePid = Number(
    readFileSync(join(folder, 'data/postgres/postmaster.pid'), 'utf8').split('\n')[0],
  );
  const half = Math.floor(cores / 2);
  const pin = (range, id) => spawnSync('taskset', ['-acp', range, String(id)]).status === 0;
  const children = String(spawnSync('pgrep', ['-P', String(databasePid)]).stdout)
    .trim()
    .split('\n');
  return (
    [servicePid, databasePid, ...children].every((id) => pin(`0-${half - 1}`, id)) &&
    pin(`${half}-${cores - 1}`, pid)
  );
}
