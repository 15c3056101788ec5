import type { Config } from '../core/config.js';
import { publicKeyFromX } from '../keys/ed25519/ed25519.js';
import { trustedKeys, verifyManifest } from '../keys/manifests/signed-manifest.js';
import type { LiveManifest } from './manifest.service.js';

/**
 * Finds the settings that contradict the live manifest, and describes each in a sentence. Without this check, a typing error in one
 * would be noticed only at the next publication. Keys that are generated in development are not compared.
 * @param live null if nothing is published, which contradicts no setting
 */
export function findManifestContradictions(live: LiveManifest | null, config: Config): string[] {
  if (!live) return [];
  const { product } = live.content;
  const sentences: string[] = [];
  if (!isSignedByKnownKey(live, config.manifestPublicKeys))
    sentences.push(
      'MANIFEST_PUBLIC_KEYS has no key that signed the live manifest: add the key of its publisher, or correct DATABASE_URL.',
    );
  if (product !== config.product)
    sentences.push(
      `PRODUCT is ${config.product}, and the live manifest is for ${product}: correct PRODUCT or DATABASE_URL.`,
    );
  return sentences;
}

function isSignedByKnownKey({ body }: LiveManifest, publicKeys: readonly string[] | undefined): boolean {
  if (!publicKeys) return true;
  try {
    verifyManifest(JSON.parse(body), trustedKeys(publicKeys.map(publicKeyFromX)));
    return true;
  } catch {
    return false;
  }
}
