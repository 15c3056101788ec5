import { Command, CommanderError } from 'commander';
import { ConfigError } from '../core/config.js';
import { printSentence } from '../core/journal.js';
import { packageVersion } from '../core/package-version.js';
import { initCommand } from './init.js';
import { actorName } from './terminal/options.js';
import { errorSentence, oneSentence } from './terminal/error-sentence.js';
import { printMessage, UsageError } from './terminal/output.js';

/**
 * Runs one command (docs/contract.md#command-line).
 * @param args the arguments without the program's name
 * @returns the exit status: 0, 2 for wrong usage or an invalid setting, or 1 for every other error
 */
export async function run(args: readonly string[]): Promise<number> {
  try {
    const mooring = await createProgram(args);
    await mooring.parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    // Commander has printed the message already. For --help and --version it throws too, with the exit code 0.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    printSentence(errorSentence(error), 'error');
    if (/^(debug|trace)$/.test(process.env['LOG_LEVEL'] ?? '') && error instanceof Error)
      printMessage(error.stack!);
    return error instanceof UsageError || error instanceof ConfigError ? 2 : 1;
  }
}

/**
 * The groups of commands. A group is loaded only when it is named: loading the database modules is slow, and some commands,
 * such as `manifest sign`, do not need them.
 */
const GROUPS: Record<string, [description: string, load: () => Promise<(group: Command) => void>]> = {
  license: [
    'issue, show and change licenses',
    async () => (await import('./licenses/license.js')).licenseCommands,
  ],
  purchase: [
    'record purchases by hand',
    async () => (await import('./licenses/purchase.js')).purchaseCommands,
  ],
  activation: ['release machines', async () => (await import('./licenses/activation.js')).activationCommands],
  staff: ['staff accounts and their tokens', async () => (await import('./staff.js')).staffCommands],
  retention: [
    'delete data whose period has ended',
    async () => (await import('./retention.js')).retentionCommands,
  ],
  erasure: ['erasure requests', async () => (await import('./erasure.js')).erasureCommands],
  manifest: [
    'sign and publish versions',
    async () => (await import('./manifest/manifest.js')).manifestCommands,
  ],
  keys: [
    'the keys that sign license tokens, and the secret of license keys',
    async () => (await import('./keys/keys.js')).keysCommands,
  ],
};

/** Builds the commands. A group has its commands only if `args` names the group or `help`. */
export async function createProgram(args: readonly string[]): Promise<Command> {
  const mooring = new Command('mooring')
    .description("Mooring's command line. It works with or without a running service.")
    .version(versionText(args), '--version', 'print the versions of Mooring and Node')
    .helpOption('-h, --help', 'print this help')
    // Without this, `manifest sign --version` would print Mooring's version.
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({ outputError: (text, write) => write(`${oneSentence(text)}\n`) });
  const commandIndex = findCommandIndex(args);
  const commandName = args[commandIndex] ?? '';
  refuseUnknownOptions(args.slice(0, commandIndex));
  initCommand(mooring);
  if (!(commandName in GROUPS)) (await import('./status.js')).statusCommands(mooring);
  for (const [name, [description, load]] of Object.entries(GROUPS)) {
    const group = mooring.command(name).description(description);
    if ([name, 'help'].includes(commandName)) (await load())(group);
  }
  addCommonOptions(mooring);
  return mooring;
}

/** Returns what --version prints. */
function versionText(args: readonly string[]): string {
  const versions = { mooring: packageVersion(), node: process.versions.node };
  return args.includes('--json') ? JSON.stringify(versions) : `${versions.mooring} (Node ${versions.node})`;
}

/**
 * Finds the index of the command's name: the first argument that is neither an option nor the value of `--as`. Without a command
 * it is the number of arguments.
 */
function findCommandIndex(args: readonly string[]): number {
  const index = args.findIndex((arg, i) => !arg.startsWith('-') && args[i - 1] !== '--as');
  return index < 0 ? args.length : index;
}

/**
 * Checks the options that precede the name of the command. Without this, `--bogus manifest sign --version 1` would print
 * Mooring's version.
 */
function refuseUnknownOptions(options: readonly string[]): void {
  const unknown = options.find(
    (arg) => arg.startsWith('-') && !/^(--json|--as(=.*)?|--version|-h|--help)$/.test(arg),
  );
  if (unknown) throw new UsageError(`Unknown option '${unknown}'.`);
}

/** Adds the common options to a command and its subcommands, so that they are accepted before and after each name. */
function addCommonOptions(command: Command): void {
  command
    .option('--json', 'print one JSON value and nothing else')
    .option('--as <name>', 'the name of the caller in the audit trail (default: cli)', actorName);
  command.commands.forEach(addCommonOptions);
}
