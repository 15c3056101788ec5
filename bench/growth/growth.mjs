// Measures how the number of licenses affects the service: npm run bench:growth [-- --sizes N,N…] [--rounds N] [--seconds N]
// [--due N] [--write]. One PostgreSQL server has a database of each size, and each database has its own service. Each kind of
// request is measured in rounds that alternate between the services. Then the bench measures how long a service takes to start,
// and how a retention run with as much work as the first one after midnight (`--due` rows of telemetry to delete) slows heartbeats.
import { ScriptError } from '../../scripts/prepare.mjs';
import { parseWholeNumber, readBenchOptions } from '../command.mjs';
import { measureRequestKinds } from '../load/measure-request-kinds.mjs';
import { endProcess } from '../load/processes.mjs';
import { runPageBench, postgresVersion } from '../run.mjs';
import { report } from './report.mjs';
import { measureStarts } from './start.mjs';

/** The number of activations of each database that the load uses. */
const SAMPLE_SIZE = 20_000;
const CONNECTIONS = 64;
const MEASURED_KINDS = ['heartbeat', 'telemetry', 'activate_new', 'activate_again', 'portal', 'search'];

/**
 * With the default of `max_wal_size`, filling the tables would cause a checkpoint every few seconds. `shared_buffers` holds what
 * the load reads, as docs/operations/load-and-limits.md recommends for a large installation.
 */
const DATABASE_SETTINGS = { max_wal_size: '16GB', shared_buffers: '2GB' };

await runPageBench(import.meta.url, {
  page: 'growth.md',
  databaseSettings: DATABASE_SETTINGS,
  parseOptions,
  measureAll,
  report: (measurements, options) =>
    report(measurements, { ...options, sample: SAMPLE_SIZE, connections: CONNECTIONS }),
});

function parseOptions() {
  const options = readBenchOptions(
    { rounds: 7, seconds: 4, due: 2_000_000 },
    { sizes: { type: 'string', default: '10000,1000000,10000000' } },
  );
  const sizes = options.sizes.split(',').map((size) => parseWholeNumber('sizes', size));
  if (sizes.length < 2 || sizes.some((size, index) => size <= (sizes[index - 1] ?? 1)))
    throw new ScriptError('--sizes must be two or more numbers, in ascending order.');
  return { ...options, sizes };
}

async function measureAll(environment, options) {
  const { makeDatabase } = await import('./data.mjs');
  const { measureRetentionUnderLoad } = await import('./retention.mjs');
  const { measureStatement } = await import('./statement.mjs');
  const databases = [];
  for (const size of options.sizes)
    databases.push(await makeDatabase(environment, `growth_${size}`, size, SAMPLE_SIZE));
  const measurementsByKind = await measureRequests(environment, databases, options);
  const statement = await measureStatement(databases, options);
  const starts = await measureStarts(environment, databases);
  const retention = await measureRetentionUnderLoad(environment, options);
  return {
    version: await postgresVersion(environment.url),
    databases,
    measurementsByKind,
    statement,
    starts,
    retention,
  };
}

/** Starts a service for each database, measures the services in alternation, and ends them. */
async function measureRequests({ processes, progress }, databases, options) {
  const { checkAnswers } = await import('../load/checks.mjs');
  const [servers, loads] = [[], new Map()];
  for (const { size, data } of databases) {
    const server = await processes.startService(data.settings);
    const etag = (await fetch(`http://127.0.0.1:${server.port}/v1/manifest`)).headers.get('etag');
    await checkAnswers([server], { ...data, etag });
    servers.push({ ...server, name: String(size) });
    loads.set(server.port, processes.startLoad(data.file));
  }
  const load = (round) => loads.get(round.port)(round);
  const plan = MEASURED_KINDS.map((requestKind) => ({ requestKind, servers }));
  const measurements = await measureRequestKinds(plan, load, {
    ...options,
    connections: CONNECTIONS,
    progress,
  });
  await Promise.all(servers.map(({ child }) => endProcess(child)));
  return measurements;
}
