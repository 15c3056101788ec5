import { Command, CommanderError } from 'commander';
import { ConfigError } from '../config.js';
import { isDatabaseAway } from '../database/database-away.js';
import { Problem, problemDocument } from '../http/problem.js';
import { activationCommands } from './activation.js';
import { initCommand } from './init.js';
import { keysCommands } from './keys.js';
import { licenseCommands } from './license.js';
import { manifestCommands } from './manifest.js';
import { actorName } from './options.js';
import { purchaseCommands } from './purchase.js';
import { erasureCommands } from './erasure.js';
import { retentionCommands } from './retention.js';
import { staffCommands } from './staff.js';
import { migrateCommand, packageVersion, statusCommand } from './status.js';
import { say, UsageError } from './terminal.js';

/**
 * Runs one command of the operator's (contract, section 5).
 * @param args without the program's own name
 * @returns the exit code: 0, 1 (refused) or 2 (usage)
 */
export async function run(args: readonly string[]): Promise<number> {
  try {
    await program().parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    // Commander has said it already; help and version are no errors.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    say(sentence(error));
    if (/^(debug|trace)$/.test(process.env['LOG_LEVEL'] ?? '') && error instanceof Error) say(error.stack!);
    return error instanceof UsageError || error instanceof ConfigError ? 2 : 1;
  }
}

function program(): Command {
  const mooring = new Command('mooring')
    .description("Mooring's command line: beside a running server, or without one.")
    .version(packageVersion(), '--version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    // Else `manifest sign --version` would ask for ours.
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({ outputError: (text, write) => write(`${oneSentence(text)}\n`) });
  initCommand(mooring);
  migrateCommand(mooring);
  statusCommand(mooring);
  licenseCommands(mooring.command('license').description('issue, show and change licenses'));
  purchaseCommands(mooring.command('purchase').description('record purchases made by hand'));
  activationCommands(mooring.command('activation').description('release machines'));
  staffCommands(mooring.command('staff').description('people of the vendor and their tokens'));
  retentionCommands(mooring.command('retention').description('delete what has had its time'));
  erasureCommands(mooring.command('erasure').description('requests for deletion'));
  manifestCommands(mooring.command('manifest').description('sign and publish versions'));
  keysCommands(mooring.command('keys').description('the keys that sign license tokens'));
  takeCommonOptions(mooring);
  return mooring;
}

/** On every command, so that they may stand before and after its name. */
function takeCommonOptions(command: Command): void {
  command
    .option('--json', 'print one JSON value and nothing else')
    .option('--as <name>', 'who acts, for the audit trail (default: cli)', actorName);
  command.commands.forEach(takeCommonOptions);
}

/** `error: unknown option '--x'`, a line break and a guess, as one sentence. */
function oneSentence(text: string): string {
  const said = text
    .trim()
    .replace(/^error: /, '')
    .replaceAll(/\s*\n\s*/g, ' ');
  return `${said.charAt(0).toUpperCase()}${said.slice(1)}${/[.)?]$/.test(said) ? '' : '.'}`;
}

function sentence(error: unknown): string {
  if (!(error instanceof Error)) return 'Something went wrong.';
  if (error instanceof Problem)
    return (JSON.parse(problemDocument(error, '', '')) as { detail: string }).detail;
  const { code } = ((error as { driverError?: unknown }).driverError ?? error) as { code?: unknown };
  if (isDatabaseAway(error)) return `The database does not answer (${String(code ?? error.message)}).`;
  return oneSentence(error.message || String(code ?? error.name));
}
