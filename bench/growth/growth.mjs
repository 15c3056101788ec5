// Measures how the size of the database affects the service: npm run bench:growth [-- --sizes N,N] [--rounds N]
// [--seconds N] [--due N] [--write]. One database of each size on one server, one service for each, measured in turn; then
// the start of a service, and the answers during the nightly retention run. It removes its files.
import { parseArgs } from 'node:util';
import { Fault } from '../../scripts/prepare.mjs';
import { option, wholeNumbers } from '../command.mjs';
import { pageBench, versionOf } from '../run.mjs';
import { report } from './report.mjs';
import { retentionUnderLoad } from './retention.mjs';
import { startTimes } from './start.mjs';

/** Number of activations that the load uses, of each size. */
const SAMPLE = 20_000;
const CONNECTIONS = 64;
const ASKED = ['heartbeat', 'telemetry', 'activate_new', 'activate_again', 'portal', 'search'];

await pageBench(import.meta.url, {
  page: 'growth.md',
  parseOptions,
  measureAll,
  report: (measurements, options) =>
    report(measurements, { ...options, sample: SAMPLE, connections: CONNECTIONS }),
});

function parseOptions() {
  const options = {
    sizes: option('10000,1000000,10000000'),
    rounds: option('7'),
    seconds: option('4'),
    due: option('2000000'),
    write: { type: 'boolean' },
  };
  const { sizes, rounds, seconds, due, write } = parseArgs({ options }).values;
  const all = sizes.split(',').map((size) => wholeNumbers({ sizes: size }).sizes);
  if (all.length < 2 || all.some((size, place) => size <= (all[place - 1] ?? 1)))
    throw new Fault('--sizes must be two or more numbers, in ascending order.');
  return { sizes: all, ...wholeNumbers({ rounds, seconds, due }), write };
}

async function measureAll(stage, options) {
  const { makeGrown } = await import('./data.mjs');
  const databases = [];
  for (const size of options.sizes) databases.push(await makeGrown(stage, `growth_${size}`, size, SAMPLE));
  const rows = await ask(stage, databases, options);
  const starts = await startTimes(stage, databases);
  const retention = await retentionUnderLoad(stage, options);
  return { version: await versionOf(stage.url), databases, rows, starts, retention };
}

/** Measures one service for each database in turn, and ends the services. */
async function ask({ processes, progress }, databases, options) {
  const { checkAnswers } = await import('../load/checks.mjs');
  const { measureRows } = await import('../load/measure-rows.mjs');
  const { endProcess } = await import('../load/processes.mjs');
  const [servers, loads] = [[], new Map()];
  for (const { size, data } of databases) {
    const server = await processes.service(data.settings);
    const etag = (await fetch(`http://127.0.0.1:${server.port}/v1/manifest`)).headers.get('etag');
    await checkAnswers([server], { ...data, etag });
    servers.push({ ...server, name: String(size) });
    loads.set(server.port, processes.load(data.file));
  }
  const load = (round) => loads.get(round.port)(round);
  const asked = ASKED.map((row) => ({ row, servers }));
  const rows = await measureRows(asked, load, { ...options, connections: CONNECTIONS, progress });
  await Promise.all(servers.map(({ child }) => endProcess(child)));
  return rows;
}
