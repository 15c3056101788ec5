import type { Command } from 'commander';
import { initCommand } from './init.js';
import { commandNameIn, finishProgram, newProgram, runProgram } from './run.js';
import { statusCommands } from './status.js';

/** Runs one command. @param args the arguments without the program's name @returns the exit status, as `runProgram` */
export const run = (args: readonly string[]): Promise<number> => runProgram(createProgram, args);

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
  events: ["events for the vendor's program", async () => (await import('./events.js')).eventCommands],
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
  const mooring = newProgram(args, "Mooring's command line. It works with or without a running service.");
  const commandName = commandNameIn(args);
  initCommand(mooring);
  statusCommands(mooring);
  for (const [name, [description, load]] of Object.entries(GROUPS)) {
    const group = mooring.command(name).description(description);
    if ([name, 'help'].includes(commandName)) (await load())(group);
  }
  // Shell completion needs the commands of all groups, which `help` loads.
  return finishProgram(mooring, () => createProgram(['help']));
}
