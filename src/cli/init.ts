import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Command } from 'commander';
import { Clock } from '../core/clock.js';
import { createKeyRing } from '../keys/tokens/key-ring.js';
import { fromWorkingDirectory, fileError, print, CommandError, printMessage } from './terminal/output.js';

/** The settings that only the operator can give. */
const SETTINGS_TO_FILL_IN = `
# Fill these in:
# DATABASE_URL=postgres://user:password@host:5432/mooring
# The public keys of the keys that may sign a manifest, comma-separated; "mooring manifest keygen" prints one.
# MANIFEST_PUBLIC_KEYS=
# PUBLIC_URL=https://licensing.example.com
`;

/** Adds `init DIR`, which creates the secrets of a production deployment. It reads no settings, because there are none yet. */
export function initCommand(mooring: Command): void {
  mooring
    .command('init')
    .argument('<dir>', 'the folder for the secrets')
    .description('create the secrets of a production deployment and print its settings')
    .action(async (dir: string, _options: unknown, command: Command) => {
      const { file, settings } = await makeSecrets(fromWorkingDirectory(dir));
      print(command, settings, envLines(settings) + SETTINGS_TO_FILL_IN.trimEnd());
      printMessage(
        `These settings are stored in ${file}. Keep a copy of it and of its folder where no one else can read them.`,
      );
    });
}

/**
 * Creates the secrets in a folder. No file is overwritten, because a lost license-key secret or token key cannot be created again.
 * @returns the settings, and the file in which they are stored @throws CommandError
 */
async function makeSecrets(dir: string): Promise<{ file: string; settings: Record<string, string> }> {
  const file = join(dir, 'mooring.env');
  const tokens = join(dir, 'tokens');
  const existing = [file, tokens].find((path) => existsSync(path));
  if (existing) throw new CommandError(`${existing} exists already, and is never overwritten.`);
  const settings = {
    NODE_ENV: 'production',
    LICENSE_KEY_SECRET: randomBytes(32).toString('base64'),
    TOKEN_KEYS_DIR: tokens,
  };
  const lines = envLines(settings);
  await mkdir(dir, { recursive: true, mode: 0o700 }).catch((error: unknown) => {
    throw fileError(dir, error);
  });
  try {
    // This file is written first, so that if two commands run at the same time, the second one fails here.
    await writeFile(file, lines + SETTINGS_TO_FILL_IN, { mode: 0o600, flag: 'wx', flush: true });
  } catch (error) {
    throw fileError(file, error);
  }
  try {
    // Without `recursive` this fails if another program has created the folder meanwhile, so only an own folder is removed below.
    await mkdir(tokens, { mode: 0o700 });
  } catch (error) {
    await rm(file);
    throw fileError(tokens, error);
  }
  try {
    await createKeyRing(tokens, new Clock().now());
  } catch (error) {
    await Promise.all([file, tokens].map((path) => rm(path, { recursive: true })));
    throw error;
  }
  return { file, settings };
}

/** Renders settings as lines of an environment file. */
function envLines(settings: Record<string, string>): string {
  return Object.entries(settings)
    .map(([name, value]) => `${name}=${quoted(value)}\n`)
    .join('');
}

/**
 * Quotes a value so that a shell, systemd (`EnvironmentFile`) and docker compose read the same value. Their escape characters
 * differ, so no escape is written. @throws CommandError if the value would need an escape
 */
function quoted(value: string): string {
  if (/^[\w./:@%+,=-]+$/.test(value)) return value;
  if (/^[^'\\\p{Cc}]+$/u.test(value)) return `'${value}'`;
  if (/^[^"$`\\\p{Cc}]+$/u.test(value)) return `"${value}"`;
  throw new CommandError(
    `${JSON.stringify(value)} cannot be written to mooring.env, because it has a backslash, a control character, or ' together with ", $ or \`: choose another folder.`,
  );
}
