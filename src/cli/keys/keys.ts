import type { Command } from 'commander';
import { Clock } from '../../core/clock.js';
import { Config } from '../../core/config.js';
import { existingKeyRing, openKeyRing, tokenKeysDir } from '../../keys/key-material.js';
import { keyLines, parseRing, readRingText, type KeyLine } from '../../keys/tokens/ring-file.js';
import { revocableKey, revokeKey, rotateKeys } from '../../keys/tokens/rotation.js';
import { aligned, print, printMessage } from '../terminal/output.js';

/**
 * The token-signing keys. Files alone: neither the database nor a restart of the instances is needed, except that a dry
 * run of a revocation counts in the database.
 */
export function keysCommands(keys: Command): void {
  keys.command('list').description('list the token-signing keys and their states').action(list);
  keys
    .command('rotate')
    .description('next signs from now on, active only verifies, and a new next is published')
    .action(rotate);
  keys
    .command('revoke')
    .argument('<kid>', 'the key that has leaked; keys list names them')
    .description('refuse what a leaked key has signed: those clients activate again by themselves')
    .option('--dry-run', 'count the machines whose tokens it may have signed, and change nothing')
    // One key in 64 has a name that begins like an option.
    .allowUnknownOption()
    .action(revoke);
}

async function list(_options: unknown, command: Command): Promise<void> {
  const ring = await openKeyRing(new Config(process.env), new Clock().now());
  show(ring.keys, command);
}

async function rotate(_options: unknown, command: Command): Promise<void> {
  const config = new Config(process.env);
  const dir = tokenKeysDir(config);
  // Held against its files first: what cannot be used must not be made to sign, nor a ring be made that nobody reads.
  const { active } = await existingKeyRing(config);
  const entries = await rotateKeys(dir, new Clock().now());
  const rotated = entries.some(({ kid, state }) => state === 'active' && kid !== active.kid);
  printMessage(
    rotated
      ? `Every instance that reads ${dir} follows within 2 seconds; every token stays good.`
      : 'There was no next key: one was made, and nothing is rotated yet. Rotate again in 5 seconds.',
  );
  show(keyLines(entries), command);
}

// The leaked key's file may well be destroyed by now, so the files are not opened.
async function revoke(kid: string, { dryRun }: { dryRun?: true }, command: Command): Promise<void> {
  if (dryRun) return countAffected(kid, command);
  const entries = await revokeKey(tokenKeysDir(new Config(process.env)), kid, new Clock().now());
  printMessage(
    'Tokens of this key are refused. Clients that have one activate again by themselves, each on the seat it has.',
  );
  show(keyLines(entries), command);
}

async function countAffected(kid: string, command: Command): Promise<void> {
  const entries = parseRing(await readRingText(tokenKeysDir(new Config(process.env))));
  const key = revocableKey(keyLines(entries), kid);
  // Loaded here: the other commands need no database.
  const [{ withDatabase }, { affectedBy, affectedText }] = await Promise.all([
    import('../database.js'),
    import('./revocation-dry-run.js'),
  ]);
  const affected = await withDatabase(({ dataSource }) => affectedBy(dataSource, key));
  print(command, { kid, state: key.state, ...affected }, affectedText(key, affected));
}

function show(keys: readonly KeyLine[], command: Command): void {
  const rows = keys.map(({ kid, state, since }) => [kid, state, since]);
  print(command, keys, aligned([['Key', 'State', 'Since'], ...rows]));
}
