import type { Command } from 'commander';
import { manifestCommands } from './manifest/manifest.js';
import { endOnProcessEvents } from './process-events.js';
import { finishProgram, newProgram, runProgram } from './run.js';

/*
 * The program of the command line for publishers: the commands of `manifest`. `npm run package:cli` makes one file of it, with
 * without-database.ts in place of the modules that open a database.
 */

function build(args: readonly string[]): Promise<Command> {
  const mooring = newProgram(
    args,
    "Mooring's command line for publishers: signs, verifies and publishes versions.",
  );
  manifestCommands(mooring.command('manifest').description('sign and publish versions'));
  // The command `completion` builds the program again, because it lists the commands.
  return Promise.resolve(finishProgram(mooring, () => build([])));
}

endOnProcessEvents((error) => {
  process.stderr.write(`An unknown error occurred (${(error as Partial<Error>).name}).\n`);
  return Promise.resolve();
});

void runProgram(build, process.argv.slice(2)).then((status) => {
  process.exitCode = status;
});
