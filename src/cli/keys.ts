import type { Command } from 'commander';
import { Clock } from '../clock.js';
import { Config } from '../config.js';
import { openKeyRing } from '../keys/key-material.js';
import { aligned, print } from './terminal.js';

export function keysCommands(keys: Command): void {
  keys
    .command('list')
    .description('list the token-signing keys and their states')
    .action(async (_options: unknown, command: Command) => {
      const ring = await openKeyRing(new Config(process.env), new Clock().now());
      const rows = ring.keys.map(({ kid, state, since }) => [kid, state, since]);
      print(command, ring.keys, aligned([['Key', 'State', 'Since'], ...rows]));
    });
}
