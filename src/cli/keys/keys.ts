import type { Command } from 'commander';
import { Clock } from '../../core/clock.js';
import { Config } from '../../core/config.js';
import { openExistingKeyRing, readLicenseKeys, tokenKeysDir } from '../../keys/key-material.js';
import { KeyRing } from '../../keys/tokens/key-ring.js';
import { summarizeKeys, parseRing, readRingText, type KeySummary } from '../../keys/tokens/ring-file.js';
import { revocableKey, revokeKey, rotateKeys } from '../../keys/tokens/rotation.js';
import { reason } from '../terminal/options.js';
import { auditContextOf, aligned, CommandError, print, printMessage } from '../terminal/output.js';

/**
 * Adds the commands of `keys`. Those for the keys that sign license tokens change only files, and the service needs no restart.
 * Only the dry run of a revocation, and `accept-secret`, need the database.
 */
export function keysCommands(keys: Command): void {
  keys.command('list').description('list the token-signing keys and their states').action(list);
  keys
    .command('rotate')
    .description('make the next key the active one, and create a new next key')
    .action(rotate);
  keys
    .command('revoke')
    .argument('<key-id>', 'the id of the leaked key, as `keys list` prints it')
    .description('refuse tokens of a leaked key; their clients activate again by themselves')
    .option('--dry-run', 'count the machines that may have a token of this key, and change nothing')
    // A key id can begin with a hyphen, like an option.
    .allowUnknownOption()
    .action(revoke);
  keys
    .command('accept-secret')
    .description('use a new LICENSE_KEY_SECRET with this database, after the former one was lost')
    .requiredOption('--reason <text>', 'why, for the audit trail, without names', reason)
    .action(accept);
}

async function list(_options: unknown, command: Command): Promise<void> {
  const ring = await openExistingKeyRing(new Config(process.env));
  printKeys(ring.keys, command);
}

async function rotate(_options: unknown, command: Command): Promise<void> {
  const config = new Config(process.env);
  const dir = tokenKeysDir(config);
  // The existing key files are opened first: an unusable key must not become active, and no ring is created in a wrong folder.
  const { active } = await openExistingKeyRing(config);
  const entries = await rotateKeys(dir, new Clock().now());
  const isRotated = entries.some(({ kid, state }) => state === 'active' && kid !== active.kid);
  printMessage(
    isRotated
      ? `Every instance that reads ${dir} uses the new key within 2 seconds; all tokens stay valid.`
      : 'There was no next key: one was created, and nothing is rotated yet. Rotate again in 5 seconds.',
  );
  printKeys(summarizeKeys(entries), command);
}

// Unlike `rotate`, this opens the ring only after the change: if the file of the leaked key is destroyed already, opening fails
// until the key is revoked.
async function revoke(kid: string, { dryRun }: { dryRun?: true }, command: Command): Promise<void> {
  if (dryRun) return printAffected(kid, command);
  const dir = tokenKeysDir(new Config(process.env));
  const entries = await revokeKey(dir, kid, new Clock().now());
  await KeyRing.open(dir).catch(({ message }: Error) => {
    throw new CommandError(
      `The key is revoked in ring.json, but no instance can load the ring: ${message} Restore that file, or revoke its key too.`,
    );
  });
  printMessage(
    'Tokens of this key are refused. Clients that have one activate again by themselves and keep their activation.',
  );
  printKeys(summarizeKeys(entries), command);
}

// These modules are loaded on demand, because most commands of `keys` need no database.
async function accept(options: { reason: string }, command: Command): Promise<void> {
  const [{ withDatabase }, { acceptSecret }] = await Promise.all([
    import('../context/command-context.js'),
    import('../../licenses/license-key-secret.js'),
  ]);
  const isChanged = await withDatabase(async ({ config, clock, dataSource }) =>
    acceptSecret(
      dataSource,
      await readLicenseKeys(config),
      auditContextOf(command, options.reason),
      clock.now(),
    ),
  );
  const text = isChanged
    ? 'The database accepts this secret from now on: give it to every instance, and restart each. ' +
      'Existing license keys stay valid, but can no longer be mailed.'
    : 'This is the secret of the database already: nothing was changed.';
  print(command, { accepted: true }, text);
}

/** Prints how many machines a revocation of this key would affect. */
async function printAffected(kid: string, command: Command): Promise<void> {
  const entries = parseRing(await readRingText(tokenKeysDir(new Config(process.env))));
  const key = revocableKey(summarizeKeys(entries), kid);
  // These modules are loaded on demand, because most commands of `keys` need no database.
  const [{ withDatabase }, { countAffected, affectedText }] = await Promise.all([
    import('../context/command-context.js'),
    import('./revocation-dry-run.js'),
  ]);
  const affected = await withDatabase(({ dataSource }) => countAffected(dataSource, key));
  print(command, { key_id: kid, state: key.state, ...affected }, affectedText(key, affected));
}

function printKeys(keys: readonly KeySummary[], command: Command): void {
  const rows = keys.map(({ kid, state, since }) => [kid, state, since]);
  const values = keys.map(({ kid, ...rest }) => ({ key_id: kid, ...rest }));
  print(command, values, aligned([['Key', 'State', 'Since'], ...rows]));
}
