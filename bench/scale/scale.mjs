// Measures what a million clients cost, and computes what a hundred million would: npm run bench:scale [-- --seconds N]
// [--rate N] [--days N] [--rows N] [--seed N] [--write]. It measures heartbeats at fixed rates without and with a replica, and
// then the nights of a fleet. Runs on Linux only.
import { ScriptError } from '../../scripts/prepare.mjs';
import { readBenchOptions } from '../command.mjs';
import { postgresVersion, runPageBench } from '../run.mjs';
import { computeCosts } from './costs.mjs';
import { report } from './report.mjs';

/** A week, and the first day of a month. */
const MIN_DAYS = 8;

await runPageBench(import.meta.url, {
  page: 'scale.md',
  // With the default, filling the tables would cause a checkpoint every few seconds.
  databaseSettings: { max_wal_size: '16GB' },
  parseOptions,
  measureAll,
  report: (measurements, options) => report(measurements, computeCosts(measurements), options),
});

function parseOptions() {
  const options = readBenchOptions({ seconds: 20, rate: 500, days: 15, rows: 1_000_000, seed: 1 });
  if (options.days < MIN_DAYS)
    throw new ScriptError(`--days must be at least ${MIN_DAYS}: a week and the first day of a month.`);
  return options;
}

async function measureAll(environment, options) {
  if (process.platform !== 'linux')
    throw new ScriptError('This bench reads processor times from /proc, which only Linux has.');
  const { measureDays } = await import('./days.mjs');
  const { measureHeartbeats } = await import('./heartbeats.mjs');
  const { createRetentionPolicy } = await import('../../dist/retention/policy.js');
  const policy = createRetentionPolicy({ taxRetentionYears: 10 });
  return {
    version: await postgresVersion(environment.url),
    monthsKept: policy.find(({ table }) => table === 'telemetry').months,
    heartbeats: await measureHeartbeats(environment, options),
    days: await measureDays(environment, options),
  };
}
