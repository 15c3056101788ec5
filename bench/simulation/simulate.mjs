// Simulates a fleet of clients in compressed time: npm run simulate -- --clients N --days D [--minutes M] [--seed N]
// [--write]. It starts every process itself and leaves nothing but its results. Exit code 1: some result is wrong.
import { randomInt } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Fault } from '../../scripts/prepare.mjs';
import { benchCommand, option, wholeNumbers } from '../command.mjs';
import { formatMarkdown, handwrittenPart, inFolder } from '../run.mjs';

/** Requests of a client in a day, and the rate, in requests a second, from which the length of a day follows. */
const REQUESTS_A_DAY = 5;
const REQUESTS_A_SECOND = 1_600;
/** The shortest day, for small fleets. */
const LEAST_MINUTES_A_DAY = 0.05;

await benchCommand(import.meta.url, parseOptions, run);

function parseOptions() {
  const { values } = parseArgs({
    options: {
      clients: option('2000'),
      days: option('3'),
      seed: option(String(randomInt(1, 2 ** 31))),
      minutes: { type: 'string' },
      write: { type: 'boolean' },
    },
  });
  const { clients, days, seed } = wholeNumbers({
    clients: values.clients,
    days: values.days,
    seed: values.seed,
  });
  if (clients < 100) throw new Fault('--clients must be at least 100.');
  const usual = Math.max(
    (clients * days * REQUESTS_A_DAY) / REQUESTS_A_SECOND / 60,
    days * LEAST_MINUTES_A_DAY,
  );
  const minutes = Number(values.minutes ?? usual.toFixed(2));
  if (!(minutes > 0)) throw new Fault('--minutes must be a number above 0.');
  // Only the test of this program sets this variable.
  const plant = process.env.MOORING_SIMULATE_PLANT === 'lost-activation';
  return { clients, days, seed, minutes, write: values.write, plant };
}

async function run(options) {
  const { simulate } = await import('./simulation.mjs');
  const { isRight, report } = await import('./report.mjs');
  const { picture } = await import('./picture.mjs');
  const { showProgress } = await import('./progress.mjs');
  console.error(`seed ${options.seed}, ${options.minutes} minutes`);
  return inFolder('mooring-simulate-', async (folders) => {
    const result = await simulate({ ...folders, onProgress: showProgress(options) }, options);
    const text = await formatMarkdown(report(result, options));
    const into = options.write ? fileURLToPath(new URL('.', import.meta.url)) : results();
    const page = join(into, 'simulation.md');
    writeFileSync(page, text + handwrittenPart(page));
    writeFileSync(join(into, 'simulation.svg'), picture(result, options));
    process.stdout.write(text);
    console.error(`The report and its picture: ${into}`);
    return isRight(result) ? 0 : 1;
  });
}

function results() {
  const folder = join(tmpdir(), `mooring-simulation-${process.pid}`);
  mkdirSync(folder, { recursive: true });
  return folder;
}
