import { randomBytes } from 'node:crypto';
import { mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Command } from 'commander';
import { Clock } from '../core/clock.js';
import { createKeyRing } from '../keys/tokens/key-ring.js';
import { renderSettingsFile } from './settings-file.js';
import { resolveFromCallerFolder, refuseExisting, writeError, writeNew } from './terminal/files.js';
import { print, printMessage } from './terminal/output.js';

/** Every setting with its comment. The relative path is the same from `src` and from `dist`. */
const EXAMPLE = new URL('../../.env.example', import.meta.url);
/** The folder that the service may write, if `--data-dir` names no other: the state directory of deploy/mooring@.service. */
const DATA_DIR = '/var/lib/mooring';

/** What `init` has made: paths, and no secret. */
interface Deployment {
  readonly settingsFile: string;
  readonly tokenKeysDir: string;
  readonly namesToFillIn: readonly string[];
}

/** Adds `init DIR`, which makes the settings of a production deployment. It reads no settings, because there are none yet. */
export function initCommand(mooring: Command): void {
  mooring
    .command('init')
    .argument('<dir>', 'the folder for the settings and the token keys')
    .option('--data-dir <dir>', 'the folder that the service may write', DATA_DIR)
    .description('make the settings file of a production deployment, with new secrets')
    .action(async (dir: string, options: { dataDir: string }, command: Command) => {
      const made = await makeDeployment(
        resolveFromCallerFolder(dir),
        resolveFromCallerFolder(options.dataDir),
      );
      const { settingsFile, tokenKeysDir, namesToFillIn } = made;
      print(
        command,
        { settings_file: settingsFile, token_keys_dir: tokenKeysDir, fill_in: namesToFillIn },
        `Settings and secrets: ${settingsFile}\nToken keys: ${tokenKeysDir}`,
      );
      printMessage(
        `Fill in ${namesToFillIn.join(', ')} in ${settingsFile}: the service does not start without them.`,
      );
      printMessage('Keep a copy of this file and of the token keys where no one else can read it.');
    });
}

/**
 * Makes the settings file and the token keys in a folder. No file is overwritten, because a lost license-key secret or token key
 * cannot be created again. @throws CommandError
 */
async function makeDeployment(dir: string, dataDir: string): Promise<Deployment> {
  const settingsFile = join(dir, 'mooring.env');
  const tokenKeysDir = join(dir, 'tokens');
  for (const path of [settingsFile, tokenKeysDir]) refuseExisting(path);
  const { text, namesToFillIn } = renderSettingsFile(await readFile(EXAMPLE, 'utf8'), {
    NODE_ENV: 'production',
    LICENSE_KEY_SECRET: randomBytes(32).toString('base64'),
    TOKEN_KEYS_DIR: tokenKeysDir,
    DATA_DIR: dataDir,
    TOMBSTONE_FILE: join(dataDir, 'erased.txt'),
  });
  await mkdir(dir, { recursive: true, mode: 0o700 }).catch((error: unknown) => {
    throw writeError(dir, error);
  });
  // This file is written first, so that if two commands run at the same time, the second one fails here.
  await writeNew(settingsFile, text, 0o600);
  try {
    // Without `recursive` this fails if another program has created the folder meanwhile, so its folder is never removed below.
    await mkdir(tokenKeysDir, { mode: 0o700 });
  } catch (error) {
    await rm(settingsFile);
    throw writeError(tokenKeysDir, error);
  }
  try {
    await createKeyRing(tokenKeysDir, new Clock().now());
  } catch (error) {
    await Promise.all([settingsFile, tokenKeysDir].map((path) => rm(path, { recursive: true })));
    throw writeError(tokenKeysDir, error);
  }
  return { settingsFile, tokenKeysDir, namesToFillIn };
}
