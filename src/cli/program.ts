import { Command, CommanderError } from 'commander';
import { ConfigError } from '../core/config.js';
import { isConnectionError } from '../database/connection-errors.js';
import { Problem, problemDocument } from '../http/problems/problem.js';
import { packageVersion } from '../core/package-version.js';
import { initCommand } from './init.js';
import { actorName } from './terminal/options.js';
import { printMessage, UsageError } from './terminal/output.js';

/**
 * Runs one command of the operator's (docs/contract.md#command-line).
 * @param args without the program's own name
 * @returns the exit code: 0, 1 (refused) or 2 (usage)
 */
export async function run(args: readonly string[]): Promise<number> {
  try {
    const mooring = await createProgram(args);
    await mooring.parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    // Commander has said it already; help and version are no errors.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    printMessage(sentence(error));
    if (/^(debug|trace)$/.test(process.env['LOG_LEVEL'] ?? '') && error instanceof Error)
      printMessage(error.stack!);
    return error instanceof UsageError || error instanceof ConfigError ? 2 : 1;
  }
}

/** The groups of commands. Each is loaded where it is named: what signs a manifest needs nothing that asks a database. */
const GROUPS: Record<string, [description: string, load: () => Promise<(group: Command) => void>]> = {
  license: [
    'issue, show and change licenses',
    async () => (await import('./licenses/license.js')).licenseCommands,
  ],
  purchase: [
    'record purchases made by hand',
    async () => (await import('./licenses/purchase.js')).purchaseCommands,
  ],
  activation: ['release machines', async () => (await import('./licenses/activation.js')).activationCommands],
  staff: ['people of the vendor and their tokens', async () => (await import('./staff.js')).staffCommands],
  retention: ['delete what has had its time', async () => (await import('./retention.js')).retentionCommands],
  erasure: ['requests for deletion', async () => (await import('./erasure.js')).erasureCommands],
  manifest: [
    'sign and publish versions',
    async () => (await import('./manifest/manifest.js')).manifestCommands,
  ],
  keys: ['the keys that sign license tokens', async () => (await import('./keys/keys.js')).keysCommands],
};

/** Builds the commands. A group has its commands only if `args` names it. */
export async function createProgram(args: readonly string[]): Promise<Command> {
  const mooring = new Command('mooring')
    .description("Mooring's command line: beside a running server, or without one.")
    .version(packageVersion(), '--version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    // Else `manifest sign --version` would ask for ours.
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({ outputError: (text, write) => write(`${oneSentence(text)}\n`) });
  const asked = firstWord(args);
  refuseStray(args.slice(0, args.indexOf(asked)));
  initCommand(mooring);
  if (!(asked in GROUPS)) (await import('./status.js')).statusCommands(mooring);
  for (const [name, [description, load]] of Object.entries(GROUPS)) {
    const group = mooring.command(name).description(description);
    if ([name, 'help'].includes(asked)) (await load())(group);
  }
  takeCommonOptions(mooring);
  return mooring;
}

/** The command's own name: what is neither an option nor the value of the one that takes one. */
function firstWord(args: readonly string[]): string {
  return args.find((arg, i) => !arg.startsWith('-') && args[i - 1] !== '--as') ?? '';
}

/** Before a command, else `--bogus manifest sign --version 1` would be taken for our own `--version`. */
function refuseStray(options: readonly string[]): void {
  const stray = options.find(
    (arg) => arg.startsWith('-') && !/^(--json|--as(=.*)?|--version|-h|--help)$/.test(arg),
  );
  if (stray) throw new UsageError(`Unknown option '${stray}'.`);
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
  // Not the name of a file, nor an address.
  const begun = /^[a-z]+[\s,]/.test(said) ? said.charAt(0).toUpperCase() + said.slice(1) : said;
  return /[.)?]$/.test(begun) ? begun : `${begun}.`;
}

function sentence(error: unknown): string {
  if (!(error instanceof Error)) return 'Something went wrong.';
  if (error instanceof Problem)
    return (JSON.parse(problemDocument(error, '', '')) as { detail: string }).detail;
  const { code } = ((error as { driverError?: unknown }).driverError ?? error) as { code?: unknown };
  if (isConnectionError(error)) return `The database does not answer (${String(code ?? error.message)}).`;
  return oneSentence(error.message || String(code ?? error.name));
}
