import { verify } from 'node:crypto';
import { tokenResponse } from '../../../src/activation/token-response.js';
import { problem } from '../../../src/http/problems/problem.js';
import { KeyRing } from '../../../src/keys/tokens/key-ring.js';
import type { LicenseClaims } from '../../../src/keys/tokens/license-token.js';
import { covers, parseSigned } from '../../../src/keys/manifests/signed-manifest.js';
import { expiryRefusal, statusRefusal, type LicenseState } from '../../../src/licenses/license.rules.js';
import { PublishedVersions } from '../../../src/manifest/published-versions.js';

// The plain, idiomatic and minimal servers use the pure rules of the service, so that they do the same work and give the same
// responses. Plain and idiomatic share the verification of tokens, and each has its own code to read, lock and write.

const { DATABASE_URL, TOKEN_KEYS_DIR, PRODUCT: product } = process.env as Record<string, string>;
export const databaseUrl = DATABASE_URL!;
export const PRODUCT = product!;
/** The pool size of the service. */
export const POOL_SIZE = 12;
export const ring = await KeyRing.open(TOKEN_KEYS_DIR!);
let versions = new PublishedVersions();

/** Keeps the published versions in memory, as the service does; no version is published while the bench runs. */
export function loadVersions(signed: string): void {
  versions = PublishedVersions.of(parseSigned(signed));
}

/** Verifies a token and returns its claims. @throws Problem `token_invalid` */
export function verifyToken(token: string): LicenseClaims {
  const [header, payload, signature] = token.split('.');
  const key = header && ring.byHeader(header);
  if (!key || !payload || !signature) throw problem('token_invalid');
  const signed = Buffer.from(`${header}.${payload}`);
  if (!verify(null, signed, key.publicKey, Buffer.from(signature, 'base64url')))
    throw problem('token_invalid');
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as LicenseClaims;
  if (claims.iss !== 'mooring' || claims.aud !== PRODUCT) throw problem('token_invalid');
  return claims;
}

/** Throws the first reason to refuse the license, in the order of the contract. */
export function checkLicense(license: LicenseState, appVersion: string, now: Date, ended_at?: Date | null) {
  const refusal =
    statusRefusal(license) ??
    (ended_at ? problem('binding_released') : undefined) ??
    expiryRefusal(license, now);
  if (refusal) throw refusal;
  const minimum = versions.find(appVersion)?.minimum_license_expiry ?? null;
  if (!covers(minimum, license.expires_at)) throw problem('version_not_covered');
}

type TokenData = Parameters<typeof tokenResponse>[2];
export const tokenResponseFor = (data: TokenData, now: Date) => tokenResponse(ring, PRODUCT, data, now);
