import type { Command } from 'commander';
import { UsageError } from './terminal/output.js';

/** Adds `help` in place of the command of commander, which takes only one name. This one takes several: `help manifest sign`. */
export function helpCommand(mooring: Command): void {
  mooring
    .helpCommand(false)
    .command('help')
    .argument('[command...]', 'the names of the command, such as manifest sign')
    .description('print the help of a command')
    .action((names: string[]) => findCommand(mooring, names).outputHelp());
  for (const group of mooring.commands.filter(({ commands }) => commands.length > 0))
    group.helpCommand('help [command]', 'print the help of a command');
}

/** @throws UsageError if there is no such command */
function findCommand(command: Command, [name, ...names]: readonly string[]): Command {
  if (name === undefined) return command;
  const found = command.commands.find((child) => child.name() === name);
  if (!found) throw new UsageError(`Unknown command '${name}'.`);
  return findCommand(found, names);
}
