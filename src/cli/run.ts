import { Command, CommanderError } from 'commander';
import { ConfigError } from '../core/config.js';
import { printSentence } from '../core/journal.js';
import { packageVersion } from '../core/package-version.js';
import { completionCommand } from './completion/completion.js';
import { addExamples } from './examples.js';
import { helpCommand } from './help.js';
import { errorSentence, oneSentence } from './terminal/error-sentence.js';
import { actorName } from './terminal/options.js';
import { printMessage, UsageError } from './terminal/output.js';

// What the command line of the operator (program.ts) and that for publishers (publisher.ts) have in common.

/**
 * Runs one command (docs/contract.md#command-line).
 * @param build makes the program for these arguments
 * @param args the arguments without the program's name
 * @returns the exit status: 0, 2 for wrong usage or an invalid setting, or 1 for every other error
 */
export async function runProgram(
  build: (args: readonly string[]) => Promise<Command>,
  args: readonly string[],
): Promise<number> {
  try {
    const mooring = await build(args);
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
 * Makes the program without its commands.
 * @param args decide whether --version prints JSON @throws UsageError if an unknown option precedes the name of the command
 */
export function newProgram(args: readonly string[], description: string): Command {
  refuseUnknownOptions(args.slice(0, commandIndex(args)));
  return (
    new Command('mooring')
      .description(description)
      .version(versionText(args), '--version', 'print the versions of Mooring and Node')
      .helpOption('-h, --help', 'print this help')
      // Without this, `manifest sign --version` would print Mooring's version.
      .enablePositionalOptions()
      .exitOverride()
      .configureOutput({ outputError: (text, write) => write(`${oneSentence(text)}\n`) })
  );
}

/**
 * Adds what every program has, after its own commands were added: completion, help, the common options and the examples.
 * @param buildWhole makes the program again with all its commands, for the completion
 */
export function finishProgram(mooring: Command, buildWhole: () => Promise<Command>): Command {
  completionCommand(mooring, buildWhole);
  helpCommand(mooring);
  addCommonOptions(mooring);
  addExamples(mooring);
  return mooring;
}

/** Returns what --version prints. */
function versionText(args: readonly string[]): string {
  const versions = { mooring: packageVersion(), node: process.versions.node };
  return args.includes('--json') ? JSON.stringify(versions) : `${versions.mooring} (Node ${versions.node})`;
}

/** Returns the name of the command in the arguments; empty without one. */
export const commandNameIn = (args: readonly string[]): string => args[commandIndex(args)] ?? '';

/** The index of the command's name: the first argument that is no option and no value of `--as`; `args.length` without one. */
function commandIndex(args: readonly string[]): number {
  const index = args.findIndex((arg, i) => !arg.startsWith('-') && args[i - 1] !== '--as');
  return index < 0 ? args.length : index;
}

/**
 * Checks the options that precede the name of the command. After an unknown option Commander does not stop at the command:
 * `--bogus manifest sign --version 1` would print Mooring's version.
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
