import type { Command } from 'commander';
import { print } from './terminal/output.js';

// What the commands do is loaded on demand: it loads the modules of the database, which takes longer than help and --version do.
const loadContext = () => import('./context/command-context.js');

/** Adds the commands `migrate`, `status` and `doctor`. */
export function statusCommands(mooring: Command): void {
  mooring
    .command('migrate')
    .description('apply the pending migrations')
    .action(async (_options: unknown, command: Command) => {
      const { withDatabase } = await loadContext();
      const applied = await withDatabase(async (_context, names) => names, { mayMigrate: true });
      const text = applied.length > 0 ? `Applied: ${applied.join(', ')}.` : 'Nothing to apply.';
      print(command, { applied }, text);
    });
  mooring
    .command('status')
    .description('versions, counts, keys, ages of data, warnings')
    .action(async (_options: unknown, command: Command) => {
      const [{ withDatabase }, { readStatus, statusText }] = await Promise.all([
        loadContext(),
        import('./status-report.js'),
      ]);
      const status = await withDatabase(readStatus);
      print(command, status, statusText(status));
    });
  mooring
    .command('doctor')
    .description('check settings, database, keys, mail server, files and ports, with a remedy for each fault')
    .action(async (...args: [unknown, Command]) => (await import('./doctor/doctor.js')).doctor(...args));
}
