// Measures whether the memory of the service stays constant: npm run bench:soak [-- --minutes N] [--write]. A service in
// production mode answers a steady load of many kinds of request, malformed and aborted ones included.
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { ScriptError, root } from '../../scripts/prepare.mjs';
import { readBenchOptions } from '../command.mjs';
import { prepareData } from '../load/data.mjs';
import { readHeap, readResidentMemory } from '../load/processes.mjs';
import { runPageBench, postgresVersion } from '../run.mjs';
import { report } from './report.mjs';

/** The number of activations that the load uses, each with a license of its own. */
const ACTIVATIONS = 10_000;
/** Requests a second of each kind (`load/senders.mjs`). */
const RATES = {
  heartbeat: 60,
  telemetry: 60,
  manifest: 40,
  manifest_304: 20,
  portal: 10,
  activate_new: 5,
  activate_again: 5,
  search: 2,
  purchase: 2,
  invalid_members: 10,
  malformed_http: 5,
  own_connection: 10,
  aborted: 10,
};
const MINUTE_S = 60;
const HEAP_FLAGS = ['--expose-gc', '--import', join(root, 'bench/load/heap.mjs')];

await runPageBench(import.meta.url, {
  page: 'soak.md',
  parseOptions: () => readBenchOptions({ minutes: 10 }),
  measureAll,
  report: (measurements, options) =>
    report(measurements, { ...options, rates: RATES, activations: ACTIVATIONS }),
});
async function measureAll(environment, { minutes }) {
  const { url, processes, progress } = environment;
  if (readResidentMemory(process.pid) === null)
    throw new ScriptError('This bench reads the memory of a process from /proc, which only Linux has.');
  const data = await prepareData(environment, ACTIVATIONS);
  const server = await processes.startService(data.settings, HEAP_FLAGS);
  const load = processes.startLoad(data.file, 'steady.mjs');
  const etag = (await fetch(`http://127.0.0.1:${server.port}/v1/manifest`)).headers.get('etag');
  const before = { ...(await readHeap(server.child)), resident: readResidentMemory(server.pid) };
  await load({ begin: { port: server.port, etag, rates: RATES } });
  const results = [];
  for (let minute = 1; minute <= minutes; minute += 1) {
    const resident = [];
    for (let second = 0; second < MINUTE_S; second += 1) {
      await pause(1_000);
      resident.push(readResidentMemory(server.pid));
    }
    results.push({ resident, ...(await load({ collect: true })) });
    progress(`minute ${minute} of ${minutes}`);
  }
  await load({ end: true });
  return {
    version: await postgresVersion(url),
    before,
    minutes: results,
    after: await readHeap(server.child),
  };
}
