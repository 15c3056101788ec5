import { existsSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Config, ConfigError } from '../../core/config.js';
import { openExistingKeyRing, tokenKeysDir, trustedManifestKeys } from '../../keys/key-material.js';
import type { Report } from './report.js';

/** Checks the token keys and the public manifest keys. */
export async function checkKeys(config: Config, report: Report): Promise<void> {
  await report.run('token keys', () => checkTokenKeys(config, report));
  // In development the manifest key is generated when it is first needed.
  if (config.manifestPublicKeys) await report.run('manifest keys', () => checkManifestKeys(config));
}

async function checkTokenKeys(config: Config, report: Report): Promise<string> {
  const dir = tokenKeysDir(config);
  if (!config.tokenKeysDir && !existsSync(dir)) return 'The first start creates them.';
  const { active, keys } = await openExistingKeyRing(config);
  if (await isOpenToOthers(dir))
    report.warn(
      'token keys',
      `Every user has access to ${dir} or its files, unless a folder above denies it: run chmod -R o= ${dir}.`,
    );
  return `${dir} has ${keys.length} keys, and ${active.kid} signs.`;
}

/** Whether the modes let users other than the owner and the group enter a folder, and list or change it or open a file in it. */
async function isOpenToOthers(dir: string): Promise<boolean> {
  const [X_BIT, ALL_BITS] = [0o001, 0o007];
  const modeForOthers = async (path: string) => (await stat(path)).mode & ALL_BITS;
  const folderMode = await modeForOthers(dir);
  // Without the x bit of a folder, no file in it can be opened, whatever the mode of the file.
  if ((folderMode & X_BIT) === 0) return false;
  const modes = await Promise.all((await readdir(dir)).map((name) => modeForOthers(join(dir, name))));
  return folderMode !== X_BIT || modes.some((mode) => mode !== 0);
}

async function checkManifestKeys(config: Config): Promise<string> {
  const keys = await trustedManifestKeys(config).catch(() => {
    throw new ConfigError(
      'MANIFEST_PUBLIC_KEYS has a value that is not an Ed25519 public key: copy it again.',
    );
  });
  return `MANIFEST_PUBLIC_KEYS has ${keys.size === 1 ? 'one key' : `${keys.size} keys`}.`;
}
