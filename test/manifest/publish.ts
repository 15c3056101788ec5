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

const AUDIT_CONTEXT = { actor: 'test', reason: 'a new version' };

/**
 * Publishes a version on top of the live one, or the live one again, signed with the development key.
 * @param minimum `minimum_license_expiry`; null covers all licenses
 * @returns the published document
 */
export async function publish(
  service: Service,
  version: string,
  minimum: string | null = null,
  url = downloadUrl(version),
): Promise<SignedManifest> {
  const document = await signOnTop(service, version, minimum, url);
  await service.app.get(ManifestService).publish(document, AUDIT_CONTEXT);
  return document;
}

/** Signs what `publish` publishes. */
export async function signOnTop(
  service: Service,
  version: string,
  minimum: string | null = null,
  url = downloadUrl(version),
): Promise<SignedManifest> {
  const { live } = service.app.get(ManifestService);
  const dmg = { url, size: 1_000_000, sha256: hash('sha256', version) };
  const isRefresh = live && compareVersions(version, live.content.version) === 0;
  const entry = { version, dmg: isRefresh ? live.content.dmg : dmg, minimum_license_expiry: minimum };
  const also_available = live ? alsoAvailable(minimum, live.content) : [];
  return sign(service, entry, also_available);
}

/** Withdraws the live version, so that the one before it is live again. */
export async function withdraw(service: Service): Promise<SignedManifest> {
  const before = parseSigned((await service.app.get(ManifestService).findWithdrawalTarget())!.signed);
  const { version, dmg, minimum_license_expiry, also_available } = before;
  const entry = { version, dmg, minimum_license_expiry };
  const document = await sign(service, entry, also_available);
  await service.app.get(ManifestService).publish(document, AUDIT_CONTEXT, true);
  return document;
}

/** Signs a manifest on top of the live one with the development key. */
async function sign(
  service: Service,
  entry: ManifestEntry,
  also_available: ManifestEntry[],
): Promise<SignedManifest> {
  const config = service.app.get(Config);
  const now = service.clock.now();
  const offer = { entry, also_available, expires: new Date(now.getTime() + 90 * 86_400_000) };
  const { live } = service.app.get(ManifestService);
  const signed = manifestBytes(nextManifest(live, offer, { product: config.product, now }));
  const key = createPrivateKey(await readFile(developmentManifestKeyFile(config)));
  return signManifest(signed, [key]);
}

export function downloadUrl(version: string): string {
  return `https://dl.example.com/App-${version}.dmg`;
}
