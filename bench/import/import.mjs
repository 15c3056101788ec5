// Measures license import: npm run bench:import [-- --rows N] [--kill-rows N] [--seed N] [--write]. Of each system, one export is
// imported in one run, and another one in runs that are killed and started again. Then the holder of each
// license of the second export signs in by the previous key.
import { readBenchOptions } from '../command.mjs';
import { postgresVersion, runPageBench } from '../run.mjs';
import { report } from './report.mjs';

await runPageBench(import.meta.url, { page: 'import.md', parseOptions, measureAll, report });

function parseOptions() {
  const numbers = { rows: 100_000, 'kill-rows': 10_000, seed: 1 };
  const { 'kill-rows': killRows, ...options } = readBenchOptions(numbers);
  return { ...options, killRows };
}

async function measureAll({ url, folder, processes, progress }, { rows, killRows, seed }) {
  const { importKilled, importOnce, signInAll, SYSTEMS } = await import('./steps.mjs');
  progress(`seed ${seed}`);
  const context = { url, folder, progress, processes };
  const systems = [];
  for (const system of SYSTEMS) {
    const once = await importOnce(context, system, { rows, seed });
    const killed = await importKilled(context, system, { rows: killRows, seed: seed + 1 });
    const signIns = await signInAll(context, killed);
    systems.push({ system, once, killed, signIns });
  }
  return { version: await postgresVersion(url), systems };
}
