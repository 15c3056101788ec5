import type { Command } from 'commander';
import { rfc3339 } from '../core/clock.js';
import { DatabaseUrl } from '../database/data-source.js';
import { RetentionService } from '../retention/retention.service.js';
import { withDatabase } from './context/command-context.js';
import { moment } from './terminal/options.js';
import { progressBar } from './terminal/progress-bar.js';
import { aligned, print, CommandError } from './terminal/output.js';

interface RunOptions {
  readonly asOf?: Date;
  readonly dryRun?: boolean;
}

/** Adds the commands of `retention`. */
export function retentionCommands(retention: Command): void {
  retention
    .command('run')
    .description('delete data whose period has ended, as the schedule does every hour')
    .option('--as-of <when>', 'the day or time to run for (default: now)', moment('--as-of'))
    .option('--dry-run', 'count what would be deleted, and change nothing')
    .action(run);
}

async function run({ asOf, dryRun = false }: RunOptions, command: Command): Promise<void> {
  const report = await withDatabase(async ({ config, clock, databaseUrl }) => {
    if (asOf && asOf > clock.now() && !dryRun && config.isProduction) {
      throw new CommandError(
        'A future day is accepted only with --dry-run or in development: deleted data cannot be restored.',
      );
    }
    const retention = new RetentionService(new DatabaseUrl(databaseUrl), clock, config);
    return retention.run(asOf, { dryRun, onProgress: progressBar('Retention') });
  });
  if (!report) throw new CommandError('Another retention run is active: try again in a moment.');
  const { as_of, deleted, failed, ...counts } = report;
  const tables = failed.map(({ table }) => table);
  const value = { as_of: rfc3339(as_of), dry_run: dryRun, ...counts, deleted, failed: tables };
  const [moved, outcome] = dryRun ? ['would move', 'would be deleted'] : ['moved', 'deleted'];
  const deletedRows = Object.entries(deleted).map(([table, rows]) => [table, `${rowCount(rows)} ${outcome}`]);
  const text = [
    ['As of', rfc3339(as_of)],
    ['Telemetry inbox', `${rowCount(counts.telemetry_rows_moved)} ${moved} to telemetry`],
    ...(dryRun ? [] : [['Weeks', `${counts.weeks_counted} counted`]]),
    ...(counts.activations_ended > 0
      ? [
          [
            'Activations',
            `${counts.activations_ended} ${dryRun ? 'would be released' : 'released'}, of licenses that ended more than 11 months ago`,
          ],
        ]
      : []),
    ...deletedRows,
    ...(deletedRows.length > 0 ? [] : [['Deleted', 'nothing']]),
    ...(dryRun ? [] : [['Tables', `${counts.tables_rewritten} rewritten`]]),
  ];
  print(command, value, aligned(text));
  if (tables.length > 0)
    throw new CommandError(`The run failed for ${tables.join(', ')}; the other tables are done.`);
}

const rowCount = (rows: number) => (rows === 1 ? '1 row' : `${rows} rows`);
