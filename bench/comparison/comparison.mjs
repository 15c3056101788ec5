// Compares the throughput of the service with that of other servers that do the same work: npm run bench [-- --rounds N]
// [--seconds N] [--connections N] [--activations N] [--only KIND[,KIND]] [--profile] [--write].
import { generateKeyPairSync, sign } from 'node:crypto';
import { join } from 'node:path';
import { root, ScriptError } from '../../scripts/prepare.mjs';
import { readBenchOptions } from '../command.mjs';
import { sharesOfLayers } from './layers.mjs';
import { report } from './report.mjs';
import { runPageBench, postgresVersion } from '../run.mjs';
import { prepareData } from '../load/data.mjs';
import { measureRequestKinds } from '../load/measure-request-kinds.mjs';
import { measureDatabase } from '../load/pgbench.mjs';
import { ask } from '../load/processes.mjs';
import { REQUEST_KINDS } from '../load/request-kinds.mjs';

/** The kinds of requests that other servers answer too. */
const COMPARED_KINDS = Object.keys(REQUEST_KINDS).filter((kind) => REQUEST_KINDS[kind].servers.length > 1);

const SIGNATURES = 10_000;

await runPageBench(import.meta.url, { page: 'results.md', parseOptions, measureAll, report });

function parseOptions() {
  const { only, ...options } = readBenchOptions(
    { rounds: 5, seconds: 3, connections: 64, activations: 10_000 },
    { only: { type: 'string', default: COMPARED_KINDS.join(',') }, profile: { type: 'boolean' } },
  );
  if (options.activations < 2) throw new ScriptError('--activations must be at least 2.');
  const kinds = only.split(',');
  if (!kinds.every((kind) => COMPARED_KINDS.includes(kind)))
    throw new ScriptError(`--only must be a comma-separated list of ${COMPARED_KINDS.join(', ')}.`);
  return { ...options, kinds };
}

async function measureAll(environment, options) {
  const { url, folder, processes, progress } = environment;
  const { startServers } = await import('./start-servers.mjs');
  const data = await prepareData(environment, options.activations);
  progress('starting the servers and checking their responses');
  const { servers, etag } = await startServers(processes, data);
  const load = processes.startLoad(data.file);
  const plan = options.kinds.map((requestKind) => ({
    requestKind,
    servers: servers.filter(({ name }) => REQUEST_KINDS[requestKind].servers.includes(name)),
  }));
  const measurementsByKind = await measureRequestKinds(plan, load, { ...options, etag, progress });
  const layersByKind = options.profile
    ? await profileRequestKinds(await startForProfile(processes, data), load, { ...options, etag, progress })
    : undefined;
  progress('the database without a server');
  const database = await measureDatabase(url, folder, options);
  const signatureUs = measureSignature();
  return { version: await postgresVersion(url), measurementsByKind, layersByKind, signatureUs, database };
}

/** Measures the processor time of one Ed25519 signature over a text of the length of a token, in microseconds. */
function measureSignature() {
  const { privateKey } = generateKeyPairSync('ed25519');
  const text = Buffer.alloc(380, 'a');
  const before = process.cpuUsage();
  for (let count = 0; count < SIGNATURES; count += 1) sign(null, text, privateKey);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / SIGNATURES;
}

/** Starts the modules of dist/ instead of the bundle, in whose profile all layers would be in one file. */
function startForProfile(processes, { settings }) {
  const flags = ['--import', join(root, 'bench/load/profiler.mjs')];
  return processes.startService(settings, flags, { program: join(root, 'dist/main.js') });
}

/** @returns for each kind of request the shares of the layers in the processor time of the service */
async function profileRequestKinds({ port, child }, load, { kinds, seconds, connections, etag, progress }) {
  const shares = {};
  for (const requestKind of kinds) {
    progress(`profile: ${REQUEST_KINDS[requestKind].title}`);
    // A first round compiles the hot functions. It is not counted.
    await load({ requestKind, port, etag, seconds, connections });
    await ask(child, 'profile');
    await load({ requestKind, port, etag, seconds, connections });
    shares[requestKind] = sharesOfLayers(await ask(child, 'profile-end'));
  }
  return shares;
}
