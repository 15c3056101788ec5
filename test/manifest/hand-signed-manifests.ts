import { createPrivateKey, createPublicKey, hash, type KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Clock } from '../../src/core/clock.js';
import { Config } from '../../src/core/config.js';
import { maintenanceDataSource } from '../../src/database/data-source.js';
import { AppLogger } from '../../src/core/logger.js';
import { signText, thumbprint } from '../../src/keys/ed25519/ed25519.js';
import { ManifestKeys } from '../../src/keys/manifests/manifest-keys.js';
import {
  alsoAvailable,
  manifestBytes,
  signManifest,
  trustedKeys,
  type ManifestContent,
  type SignedManifest,
} from '../../src/keys/manifests/signed-manifest.js';
import { nextManifest, MANIFEST_VALIDITY_DAYS, type LiveContent } from '../../src/manifest/manifest.rules.js';
import { ManifestService } from '../../src/manifest/manifest.service.js';
import { downloadUrl } from './publish.js';

const PRODUCT = 'com.example.app';
const AUDIT_CONTEXT = { actor: 'test', reason: null };

/**
 * Signs any text with this key, also one that the commands would refuse to sign.
 * @param content has the values of the unsigned copies
 */
export function signUnchecked(signed: string, content: ManifestContent, key: KeyObject): SignedManifest {
  const [key_id, signature] = [thumbprint(key), signText(key, signed)];
  const { version, dmg, minimum_license_expiry } = content;
  const copies = { version, dmg_sha256: dmg.sha256, minimum_license_expiry };
  return { ...copies, signature, key_id, signed, signatures: [{ key_id, signature }] };
}

/** Reads a private key without a passphrase from a PEM file. */
export const readPrivateKey = (file: string) => createPrivateKey(readFileSync(file));
/** Returns the SHA-256 of this name in hex, in place of the digest of an image. */
export const digest = (name: string) => hash('sha256', name);

/** The manifests of a database, as one instance has them. */
export interface Manifests extends AsyncDisposable {
  readonly service: ManifestService;
  /** Signs a content with the key and publishes it. */
  publish(content: ManifestContent, isWithdrawal?: boolean): Promise<SignedManifest>;
  /** Builds the content of a version after the live one, as the commands do. */
  next(version: string, minimum?: string | null): ManifestContent;
  /** Builds the content that withdraws the live version. */
  withdrawal(): Promise<ManifestContent>;
  sign(content: ManifestContent): SignedManifest;
}

/** Opens the manifests of a database, so that a test can publish without a command. */
export async function openManifests(databaseUrl: string, key: KeyObject): Promise<Manifests> {
  // As many as the publishers that a test starts at once at one instance: a publisher needs one connection.
  const options = { poolSize: 5 };
  const dataSource = await maintenanceDataSource(databaseUrl, options).initialize();
  const trusted = new ManifestKeys(trustedKeys([createPublicKey(key)]));
  const config = new Config({ PRODUCT });
  const service = new ManifestService(
    dataSource,
    trusted,
    config,
    new Clock(),
    new AppLogger('warn', process.stderr),
  );
  await service.refresh();
  const sign = (content: ManifestContent) => signManifest(manifestBytes(content), [key]);
  return {
    service,
    sign,
    async publish(content, isWithdrawal) {
      const document = sign(content);
      await service.publish(document, AUDIT_CONTEXT, isWithdrawal);
      return document;
    },
    next: (version, minimum = null) => nextContent(service.live, version, minimum),
    async withdrawal() {
      const before = JSON.parse((await service.findWithdrawalTarget())!.signed) as ManifestContent;
      return { ...nextContent(service.live, before.version, null), ...offerOf(before) };
    },
    [Symbol.asyncDispose]: () => dataSource.destroy(),
  };
}

/** Returns the part of a content that its publisher chooses. A withdrawal copies it from an earlier manifest. */
export const offerOf = ({ version, dmg, minimum_license_expiry, also_available }: ManifestContent) => ({
  version,
  dmg,
  minimum_license_expiry,
  also_available,
});

/** Builds the content of a version after the live one. The digest of its image is derived from the version. */
export function nextContent(
  live: LiveContent | null,
  version: string,
  minimum: string | null,
): ManifestContent {
  const now = new Date();
  const dmg = { url: downloadUrl(version), size: 1_000_000, sha256: digest(version) };
  const entry = { version, dmg, minimum_license_expiry: minimum };
  const also_available = live ? alsoAvailable(minimum, live.content) : [];
  const expires = new Date(now.getTime() + MANIFEST_VALIDITY_DAYS * 86_400_000);
  return nextManifest(live, { entry, also_available, expires }, { product: PRODUCT, now });
}
