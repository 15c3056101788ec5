import type { Command } from 'commander';
import { rfc3339 } from '../core/clock.js';
import { DatabaseUrl } from '../database/data-source.js';
import { RetentionService } from '../retention/retention.service.js';
import { withDatabase } from './database.js';
import { moment } from './terminal/options.js';
import { progressBar } from './terminal/progress-bar.js';
import { aligned, orClocksDiffer, print, Refused } from './terminal/output.js';

interface RunOptions {
  readonly asOf?: Date;
  readonly dryRun?: boolean;
}

export function retentionCommands(retention: Command): void {
  retention
    .command('run')
    .description('delete what has had its time, as the schedule does every hour')
    .option('--as-of <when>', 'the day to run for (default: now)', moment('--as-of'))
    .option('--dry-run', 'count what would leave, and change nothing')
    .action(run);
}

async function run({ asOf, dryRun = false }: RunOptions, command: Command): Promise<void> {
  const report = await withDatabase(async ({ config, clock, databaseUrl }) => {
    // A shell without a production's settings is in development mode, whatever its database is.
    const mayPretend =
      !config.production && (!config.databaseUrl || process.env['NODE_ENV'] === 'development');
    if (asOf && asOf > clock.now() && !dryRun && !mayPretend) {
      throw new Refused(
        'A day that is yet to come is for --dry-run, or for development: what is deleted is gone.',
      );
    }
    const retention = new RetentionService(new DatabaseUrl(databaseUrl), clock, config);
    return orClocksDiffer(retention.run(asOf, { dryRun, onProgress: progressBar('Retention') }));
  });
  if (!report) throw new Refused('Another run is at it: try again in a moment.');
  const { as_of, deleted, failed, ...counts } = report;
  const tables = failed.map(({ table }) => table);
  const value = { as_of: rfc3339(as_of), dry_run: dryRun, ...counts, deleted, failed: tables };
  const rows = Object.entries(deleted).map(([table, rows]) => [table, `${rows} rows`]);
  const done = dryRun ? 'would be deleted' : 'deleted';
  const text = [
    ['As of', rfc3339(as_of)],
    ['Telemetry', `${counts.telemetry_rows_moved} rows ${dryRun ? 'would move' : 'moved'} out of the inbox`],
    ...(dryRun ? [] : [['Weeks', `${counts.weeks_counted} counted`]]),
    ...(counts.activations_ended > 0
      ? [
          [
            'Activations',
            `${counts.activations_ended} ${dryRun ? 'would be released' : 'released'}, of licenses that ended 11 months ago`,
          ],
        ]
      : []),
    ...rows.map(([table, count]) => [table!, `${count} ${done}`]),
    ...(rows.length > 0 ? [] : [['Deleted', 'nothing']]),
    ...(dryRun ? [] : [['Files', `${counts.files_rewritten} rewritten`]]),
  ];
  print(command, value, aligned(text));
  if (tables.length > 0)
    throw new Refused(`It went wrong at ${tables.join(', ')}; what else was due is done.`);
}
