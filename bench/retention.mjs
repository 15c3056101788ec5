// What retention and the fleet page cost with years of telemetry: node bench/retention.mjs [--rows N] [--months N]
// [--seed N] [--write]. Starts a PostgreSQL of its own in a temporary directory and leaves nothing behind.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Fault } from '../scripts/prepare.mjs';
import { benchCommand } from './bench-command.mjs';
import { report } from './retention-report.mjs';
import { askFleet, askRows, countWeeks, fill, leave, wholeRun } from './retention-steps.mjs';

/** The night that it is in the bench; rows are of the days before. */
const AS_OF = new Date('2026-11-20T00:05:00Z');
/** Those that are kept, and four that are wholly past. */
const LEAST_MONTHS = 28;

await benchCommand(import.meta.url, parseOptions, run);

function parseOptions() {
  const text = (value) => ({ type: 'string', default: value });
  const options = { rows: text('20000000'), months: text('30'), seed: text('1'), write: { type: 'boolean' } };
  const { rows, months, seed, write } = parseArgs({ options }).values;
  const numbers = { rows: Number(rows), months: Number(months), seed: Number(seed) };
  if (!Object.values(numbers).every((number) => Number.isInteger(number) && number > 0))
    throw new Fault('--rows, --months and --seed want a whole number above 0.');
  if (numbers.months < LEAST_MONTHS) throw new Fault(`--months must be at least ${LEAST_MONTHS}.`);
  return { ...numbers, write };
}

async function run(options) {
  let interrupt;
  const interrupted = new Promise((_, reject) => (interrupt = () => reject(new Fault('Interrupted.'))));
  interrupted.catch(() => {});
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, interrupt);
  const { startEmbeddedPostgres } = await import('../dist/database/embedded-postgres.js');
  const directory = mkdtempSync(join(tmpdir(), 'mooring-bench-'));
  let server;
  try {
    server = await startEmbeddedPostgres(directory);
    const figures = await Promise.race([measureAll(server.url, options), interrupted]);
    const { format } = await import('prettier');
    const text = await format(report(figures, options), { parser: 'markdown' });
    if (options.write) writeFileSync(new URL('retention.md', import.meta.url), text);
    process.stdout.write(text);
    return 0;
  } finally {
    await server?.stop();
    rmSync(directory, { recursive: true, force: true });
  }
}

async function measureAll(url, options) {
  const { migrate } = await import('../dist/database/migrations.js');
  const { patientDataSource } = await import('../dist/database/data-source.js');
  await migrate(url);
  const dataSource = await patientDataSource(url).initialize();
  try {
    const runner = dataSource.createQueryRunner();
    const began = Date.now();
    const progress = (what) =>
      console.error(`${String(Math.round((Date.now() - began) / 1000)).padStart(5)} s  ${what}`);
    const month = (offset) =>
      new Date(Date.UTC(AS_OF.getUTCFullYear(), AS_OF.getUTCMonth() - options.months + 1 + offset, 1));
    progress(`seed ${options.seed}`);
    const stage = { url, runner, progress, month, asOf: AS_OF };
    const [{ version }] = await runner.query(`select split_part(version(), ' on ', 1) as version`);
    const rows = await fill(stage, options);
    const weeks = await countWeeks(stage);
    const page = await askFleet(stage);
    const raw = await askRows(stage);
    const leaving = await leave(stage);
    return { version, rows, weeks, page, raw, ...leaving, whole: await wholeRun(stage) };
  } finally {
    await dataSource.destroy();
  }
}
