// Measures retention and the fleet page with years of telemetry: npm run bench:retention [-- --rows N] [--months N]
// [--seed N] [--write]. The bench starts a PostgreSQL in a temporary directory and removes it.
import { parseArgs } from 'node:util';
import { Fault } from '../../scripts/prepare.mjs';
import { option, wholeNumbers } from '../command.mjs';
import { pageBench, versionOf } from '../run.mjs';
import { report } from './report.mjs';
import { measureFleetPage, measureRawRows, countWeeks, fill, expire, wholeRun } from './steps.mjs';

/** The night on which the bench runs retention; every row is older. */
const AS_OF = new Date('2026-11-20T00:05:00Z');
/** The 24 months that are kept, and four whose retention period has ended. */
const MIN_MONTHS = 28;

await pageBench(import.meta.url, { page: 'retention.md', parseOptions, measureAll, report });

function parseOptions() {
  const options = {
    rows: option('20000000'),
    months: option('30'),
    seed: option('1'),
    write: { type: 'boolean' },
  };
  const { rows, months, seed, write } = parseArgs({ options }).values;
  const numbers = wholeNumbers({ rows, months, seed });
  if (numbers.months < MIN_MONTHS) throw new Fault(`--months must be at least ${MIN_MONTHS}.`);
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
    const context = { url, runner, progress, month, asOf: AS_OF };
    const version = await versionOf(url);
    const rows = await fill(context, options);
    const weeks = await countWeeks(context);
    const page = await measureFleetPage(context);
    const raw = await measureRawRows(context);
    const expiry = await expire(context);
    return { version, rows, weeks, page, raw, ...expiry, whole: await wholeRun(context) };
  } finally {
    await dataSource.destroy();
  }
}
