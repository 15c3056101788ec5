// Measures retention and the fleet page with years of telemetry: npm run bench:retention [-- --rows N] [--months N]
// [--seed N] [--write].
import { ScriptError } from '../../scripts/prepare.mjs';
import { readBenchOptions } from '../command.mjs';
import { runPageBench, postgresVersion } from '../run.mjs';
import { report } from './report.mjs';
import {
  fillTelemetry,
  measureCompleteRun,
  measureDeletion,
  measureFleetPage,
  measureFromRows,
  measureRollUp,
} from './steps.mjs';

/** The night on which the bench runs retention; every row is older. */
const AS_OF = new Date('2026-11-20T00:05:00Z');
/** The fewest months of telemetry with which the steps delete only days whose retention period has ended. */
const MIN_MONTHS = 29;

await runPageBench(import.meta.url, { page: 'retention.md', parseOptions, measureAll, report });

function parseOptions() {
  const options = readBenchOptions({ rows: 20_000_000, months: 30, seed: 1 });
  if (options.months < MIN_MONTHS) throw new ScriptError(`--months must be at least ${MIN_MONTHS}.`);
  return options;
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
    const version = await postgresVersion(url);
    const telemetry = await fillTelemetry(context, options);
    const weeks = await measureRollUp(context);
    const fleetPage = await measureFleetPage(context);
    const fromRows = await measureFromRows(context);
    const deletion = await measureDeletion(context);
    const completeRun = await measureCompleteRun(context);
    return { version, telemetry, weeks, fleetPage, fromRows, ...deletion, completeRun };
  } finally {
    await dataSource.destroy();
  }
}
