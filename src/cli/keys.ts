import type { Command } from 'commander';
import { Clock } from '../clock.js';
import { Config } from '../config.js';
import { openKeyRing, tokenKeysDir } from '../keys/key-material.js';
import type { KeyRing } from '../keys/key-ring.js';
import { revokeKey, rotateKeys } from '../keys/rotation.js';
import { aligned, print, say } from './terminal.js';

/** The token-signing keys. Files alone: neither the database nor a restart of the instances is needed. */
export function keysCommands(keys: Command): void {
  keys
    .command('list')
    .description('list the token-signing keys and their states')
    .action(async (_options: unknown, command: Command) => show((await openedRing()).ring, command));
  keys
    .command('rotate')
    .description('next signs from now on, active only verifies, and a new next is published')
    .action(async (_options: unknown, command: Command) => {
      const { ring, dir, now } = await openedRing();
      await rotateKeys(dir, now);
      await ring.reload();
      say('Every instance that reads this folder follows within 2 seconds; every token stays good.');
      show(ring, command);
    });
  keys
    .command('revoke')
    .argument('<kid>', 'the key that has leaked; keys list names them')
    .description('refuse what a leaked key has signed: those clients activate again by themselves')
    .action(async (kid: string, _options: unknown, command: Command) => {
      const { ring, dir, now } = await openedRing();
      await revokeKey(dir, kid, now);
      await ring.reload();
      say('Clients with its tokens activate again at their next heartbeat, each on the seat it has.');
      show(ring, command);
    });
}

/** Held against the files first: a ring that cannot be used is not made worse. */
async function openedRing(): Promise<{ ring: KeyRing; dir: string; now: Date }> {
  const config = new Config(process.env);
  const now = new Clock().now();
  return { ring: await openKeyRing(config, now), dir: tokenKeysDir(config), now };
}

function show({ keys }: KeyRing, command: Command): void {
  const rows = keys.map(({ kid, state, since }) => [kid, state, since]);
  print(command, keys, aligned([['Key', 'State', 'Since'], ...rows]));
}
