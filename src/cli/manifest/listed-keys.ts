import type { KeyObject } from 'node:crypto';
import { basename } from 'node:path';
import type { Config } from '../../core/config.js';
import { isObject } from '../../core/json-object.js';
import { publicJwk, publicKeyFromX, thumbprint } from '../../keys/ed25519/ed25519.js';
import { confirm } from '../terminal/confirm.js';
import { fetchText, isPublicUrlSet } from './live-manifest.js';

/** The keys that sign a manifest, and the keys that need no confirmation. */
interface SigningKeys {
  readonly keys: readonly KeyObject[];
  /** The files of the keys, in the order of the keys; empty for the key of development. */
  readonly files: readonly string[];
  /** The keys of --public-key. */
  readonly named: readonly KeyObject[];
  /** The keys that the settings trust (`knownManifestKeys`). */
  readonly known: readonly KeyObject[];
}

/**
 * Asks before a manifest is signed with a key that no server is known to trust. If it is a wrong key, the service may accept the
 * manifest because of another signature, and applications that do not trust that one receive no update. A key that --public-key
 * names needs no confirmation.
 * @throws CommandError
 */
export async function confirmUnlistedKeys(
  { keys, files, named, known }: SigningKeys,
  config: Config,
): Promise<void> {
  if (keys.length === 0) return;
  const { from, ids } = await listedKeyIds(known, config);
  const confirmed = new Set([...ids, ...named.map(thumbprint)]);
  for (const [i, key] of keys.entries()) {
    if (confirmed.has(thumbprint(key))) continue;
    const name = basename(files[i] ?? 'the development key');
    await confirm({
      sentence: `${name} is a key that ${from} lacks (id ${thumbprint(key)}): applications and servers that trust only the keys there refuse its signature.`,
      name,
      option: `--public-key ${publicJwk(key).x}`,
    });
  }
}

/** Finds the ids of the keys that servers trust: in the settings, else at the public address. @returns also where they are from */
async function listedKeyIds(
  known: readonly KeyObject[],
  { publicUrl }: Config,
): Promise<{ from: string; ids: string[] }> {
  if (known.length > 0 || !isPublicUrlSet())
    return { from: 'MANIFEST_PUBLIC_KEYS', ids: known.map(thumbprint) };
  const url = `${publicUrl}/v1/keys`;
  return { from: url, ids: await fetchKeyIds(url) };
}

/** Reads the ids of the manifest keys in `/v1/keys`. Without a valid answer there are none. */
async function fetchKeyIds(url: string): Promise<string[]> {
  try {
    const { keys } = JSON.parse((await fetchText(url)).body) as { keys: unknown[] };
    return keys.filter(isManifestKey).map(({ x }) => thumbprint(publicKeyFromX(x)));
  } catch {
    return [];
  }
}

const isManifestKey = (key: unknown): key is { x: string } =>
  isObject(key) && key['for'] === 'update-manifest' && typeof key['x'] === 'string';
