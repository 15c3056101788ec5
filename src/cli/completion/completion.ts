import { Argument, type Command } from 'commander';
import { bashScript } from './bash.js';
import { fishScript } from './fish.js';
import { completionContexts } from './words.js';
import { zshScript } from './zsh.js';
import { print } from '../terminal/output.js';

const SCRIPTS = { bash: bashScript, zsh: zshScript, fish: fishScript };
type Shell = keyof typeof SCRIPTS;

/**
 * Adds the command `completion`, which prints a script that completes commands, options and their values.
 * @param mooring the running program, which may have only the commands of one group
 * @param build makes the program with all its commands
 */
export function completionCommand(mooring: Command, build: () => Promise<Command>): void {
  mooring
    .command('completion')
    .addArgument(new Argument('<shell>', 'the shell').choices(Object.keys(SCRIPTS)))
    .description('print a script with which a shell completes commands and options')
    .action(async (shell: Shell, _options: unknown, command: Command) => {
      const script = SCRIPTS[shell](completionContexts(await build()));
      print(command, { shell, script }, script.trimEnd());
    });
}
