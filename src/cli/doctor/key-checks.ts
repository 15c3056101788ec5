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
  const files = ['.', ...(await readdir(dir))].map((name) => join(dir, name));
  const OTHERS = 0o007;
  for (const file of files) {
    if (((await stat(file)).mode & OTHERS) === 0) continue;
    report.warn(
      'token keys',
      `The modes in ${dir} give every user access, unless a folder above it does not: run chmod -R o= on it.`,
    );
    break;
  }
  return `${dir} has ${keys.length} keys, and ${active.kid} signs.`;
}

async function checkManifestKeys(config: Config): Promise<string> {
  const keys = await trustedManifestKeys(config).catch(() => {
    throw new ConfigError('MANIFEST_PUBLIC_KEYS has a key that is no point of Ed25519: copy it again.');
  });
  return `MANIFEST_PUBLIC_KEYS has ${keys.size === 1 ? 'one key' : `${keys.size} keys`}.`;
}
