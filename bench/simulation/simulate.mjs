// Simulates a fleet of clients in compressed time: npm run simulate [-- --clients N] [--days N] [--minutes N] [--seed N]
// [--write]. The command starts every process itself and leaves only the folder of its results. Exit code 1 means that a
// response or the database differs from the expected state.
import { randomInt } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ScriptError } from '../../scripts/prepare.mjs';
import { readBenchOptions, runBench } from '../command.mjs';
import { formatMarkdown, readHandwrittenPart, withTemporaryFolder } from '../run.mjs';

/** The requests of a client in a simulated day, and the rate of requests in real time. They give the default of `--minutes`. */
const REQUESTS_A_DAY = 5;
const REQUESTS_A_SECOND = 1_600;
/** The shortest default duration of a simulated day, for small fleets. */
const MIN_MINUTES_A_DAY = 0.05;

await runBench(import.meta.url, parseOptions, run);

function parseOptions() {
  const options = readBenchOptions(
    { clients: 2_000, days: 3, seed: randomInt(1, 2 ** 31) },
    { minutes: { type: 'string' } },
  );
  const { clients, days } = options;
  if (clients < 100) throw new ScriptError('--clients must be at least 100.');
  const defaultMinutes = Math.max(
    (clients * days * REQUESTS_A_DAY) / REQUESTS_A_SECOND / 60,
    days * MIN_MINUTES_A_DAY,
  );
  const minutes = Number(options.minutes ?? defaultMinutes.toFixed(2));
  if (!(minutes > 0)) throw new ScriptError('--minutes must be a number above 0.');
  // Only the test of this program sets this variable.
  const hasPlantedFault = process.env.MOORING_SIMULATE_PLANT === 'lost-activation';
  return { ...options, minutes, hasPlantedFault };
}

async function run(options) {
  const { simulate } = await import('./simulation.mjs');
  const { matchesExpectedState, report } = await import('./report.mjs');
  const { drawPicture } = await import('./picture.mjs');
  const { showProgress } = await import('./progress.mjs');
  console.error(`seed ${options.seed}, ${options.minutes} minutes`);
  return withTemporaryFolder('mooring-simulate-', async (folders) => {
    const result = await simulate({ ...folders, onProgress: showProgress(options) }, options);
    const text = await formatMarkdown(report(result, options));
    const target = options.write ? fileURLToPath(new URL('.', import.meta.url)) : makeResultFolder();
    const page = join(target, 'simulation.md');
    writeFileSync(page, text + readHandwrittenPart(page));
    writeFileSync(join(target, 'simulation.svg'), drawPicture(result, options));
    process.stdout.write(text);
    console.error(`The report and its picture are in ${target}`);
    return matchesExpectedState(result) ? 0 : 1;
  });
}

function makeResultFolder() {
  const folder = join(tmpdir(), `mooring-simulation-${process.pid}`);
  mkdirSync(folder, { recursive: true });
  return folder;
}
