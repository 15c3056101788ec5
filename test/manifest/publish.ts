import { createPrivateKey, hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { Config } from '../../src/core/config.js';
import { developmentManifestKeyFile } from '../../src/keys/key-material.js';
import {
  alsoAvailable,
  compareVersions,
  manifestBytes,
  parseSigned,
  signManifest,
  type ManifestEntry,
  type SignedManifest,
} from '../../src/keys/manifests/signed-manifest.js';
import { nextManifest } from '../../src/manifest/manifest.rules.js';
import { ManifestService } from '../../src/manifest/manifest.service.js';
import type { Service } from '../support/harness.js';

/**
 * Publishes a version on top of the live one, or the live one again, signed with the development key.
 * @param minimum `minimum_license_expiry`; null covers all licenses
 * @returns the published document
 */
export async function publish(
  service: Service,
  version: string,
  minimum: string | null = null,
): Promise<SignedManifest> {
  const { live } = service.app.get(ManifestService);
  const dmg = { url: downloadUrl(version), size: 1_000_000, sha256: hash('sha256', version) };
  const isRefresh = live && compareVersions(version, live.content.version) === 0;
  const entry = { version, dmg: isRefresh ? live.content.dmg : dmg, minimum_license_expiry: minimum };
  const also_available = live ? alsoAvailable(minimum, live.content) : [];
  return signAndPublish(service, entry, also_available);
}

/** Withdraws the live version, so that the one before it is live again. */
export async function withdraw(service: Service): Promise<SignedManifest> {
  const before = parseSigned((await service.app.get(ManifestService).findWithdrawalTarget())!.signed);
  const { version, dmg, minimum_license_expiry, also_available } = before;
  const entry = { version, dmg, minimum_license_expiry };
  return signAndPublish(service, entry, also_available, { isWithdrawal: true });
}

async function signAndPublish(
  service: Service,
  entry: ManifestEntry,
  also_available: ManifestEntry[],
  { isWithdrawal = false }: { isWithdrawal?: boolean } = {},
): Promise<SignedManifest> {
  const manifests = service.app.get(ManifestService);
  const config = service.app.get(Config);
  const now = service.clock.now();
  const offer = { entry, also_available, expires: new Date(now.getTime() + 90 * 86_400_000) };
  const signed = manifestBytes(nextManifest(manifests.live, offer, { product: config.product, now }));
  const key = createPrivateKey(await readFile(developmentManifestKeyFile(config)));
  const document = signManifest(signed, [key]);
  await manifests.publish(document, { actor: 'test', reason: 'a new version' }, isWithdrawal);
  return document;
}

export function downloadUrl(version: string): string {
  return `https://dl.example.com/App-${version}.dmg`;
}
