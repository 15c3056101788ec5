// What retention and the fleet page cost with years of telemetry: npm run bench:retention [-- --rows N] [--months N]
// [--seed N] [--write]. Starts a PostgreSQL of its own in a temporary directory and leaves nothing behind.
import { parseArgs } from 'node:util';
import { Fault } from '../../scripts/prepare.mjs';
import { benchCommand, wholeNumbers } from '../command.mjs';
import { benchRun, versionOf } from '../comparison/run.mjs';
import { report } from './report.mjs';
import { askFleet, askRows, countWeeks, fill, leave, wholeRun } from './steps.mjs';

/** The night that it is in the bench; rows are of the days before. */
const AS_OF = new Date('2026-11-20T00:05:00Z');
/** Those that are kept, and four that are wholly past. */
const LEAST_MONTHS = 28;

await benchCommand(import.meta.url, parseOptions, (options) =>
  benchRun((stage) => measureAll(stage, options), {
    report: (measurements) => report(measurements, options),
    page: new URL('retention.md', import.meta.url),
    write: options.write,
  }),
);

function parseOptions() {
  const text = (value) => ({ type: 'string', default: value });
  const options = { rows: text('20000000'), months: text('30'), seed: text('1'), write: { type: 'boolean' } };
  const { rows, months, seed, write } = parseArgs({ options }).values;
  const numbers = wholeNumbers({ rows, months, seed });
  if (numbers.months < LEAST_MONTHS) throw new Fault(`--months must be at least ${LEAST_MONTHS}.`);
  return { ...numbers, write };
}

async function measureAll({ url, progress }, options) {
  const { migrate } = await import('../../dist/database/migrations.js');
  const { maintenanceDataSource } = await import('../../dist/database/data-source.js');
  await migrate(url);
  const dataSource = await maintenanceDataSource(url).initialize();
  try {
    const runner = dataSource.createQueryRunner();
    const month = (offset) =>
      new Date(Date.UTC(AS_OF.getUTCFullYear(), AS_OF.getUTCMonth() - options.months + 1 + offset, 1));
    progress(`seed ${options.seed}`);
    const stage = { url, runner, progress, month, asOf: AS_OF };
    const version = await versionOf(url);
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
