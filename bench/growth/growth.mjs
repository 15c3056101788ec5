// What it costs that a database grows: npm run bench:growth [-- --sizes N,N] [--rounds N] [--seconds N] [--write].
// Databases of each size side by side on one server, a service for each, asked in turn; then how long a service takes to
// start, and what the nightly run does to those who ask meanwhile. Leaves nothing behind.
import { parseArgs } from 'node:util';
import { Fault } from '../../scripts/prepare.mjs';
import { benchCommand, wholeNumbers } from '../command.mjs';
import { benchRun, versionOf } from '../comparison/run.mjs';
import { report } from './report.mjs';
import { retentionUnderLoad } from './retention.mjs';
import { startTimes } from './start.mjs';

/** Activations of each size that the load is spread over. */
const SAMPLE = 20_000;
const CONNECTIONS = 64;
const ASKED = ['heartbeat', 'telemetry', 'activate_new', 'activate_again', 'portal', 'search'];

await benchCommand(import.meta.url, parseOptions, (options) =>
  benchRun((stage) => measureAll(stage, options), {
    report: (measurements) => report(measurements, { ...options, sample: SAMPLE, connections: CONNECTIONS }),
    page: new URL('growth.md', import.meta.url),
    write: options.write,
  }),
);

function parseOptions() {
  const text = (value) => ({ type: 'string', default: value });
  const options = {
    sizes: text('10000,1000000,10000000'),
    rounds: text('7'),
    seconds: text('4'),
    due: text('2000000'),
    write: { type: 'boolean' },
  };
  const { sizes, rounds, seconds, due, write } = parseArgs({ options }).values;
  const all = sizes.split(',').map((size) => wholeNumbers({ sizes: size }).sizes);
  if (all.length < 2 || all.some((size, place) => size <= (all[place - 1] ?? 1)))
    throw new Fault('--sizes wants two or more, from the least to the most.');
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

/** A service and a load for each database; all services are ended after. */
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
