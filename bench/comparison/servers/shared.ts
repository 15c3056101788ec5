import { verify } from 'node:crypto';
import { tokenResponse } from '../../../src/activation/token-response.js';
import { problem } from '../../../src/http/problems/problem.js';
import { KeyRing } from '../../../src/keys/tokens/key-ring.js';
import type { LicenseClaims } from '../../../src/keys/tokens/license-token.js';
import { covers, parseSigned } from '../../../src/keys/manifests/signed-manifest.js';
import { expiryRefusal, statusRefusal, type LicenseFacts } from '../../../src/licenses/license.rules.js';
import { PublishedVersions } from '../../../src/manifest/published-versions.js';

// What the rivals have in common with the service: its pure rules, so that the same work is compared and the answers are
// the same. How they read, verify, lock and write is their own.

const { DATABASE_URL, TOKEN_KEYS_DIR, PRODUCT } = process.env as Record<string, string>;
export const databaseUrl = DATABASE_URL!;
/** As many connections as the service has. */
export const POOL_SIZE = 12;
const ring = await KeyRing.open(TOKEN_KEYS_DIR!);
let versions = new PublishedVersions();

/** In memory, as the service has it: nothing is published while the bench runs. */
export function publish(signed: string): void {
  versions = PublishedVersions.of(parseSigned(signed));
}

/** The claims of a token, verified the plain way. @throws Problem `token_invalid` */
export function claimsOf(token: string): LicenseClaims {
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

/** Throws what the license's row says against it, in the contract's order. */
export function demandLicense(license: LicenseFacts, appVersion: string, now: Date, ended_at?: Date | null) {
  const refusal =
    statusRefusal(license) ??
    (ended_at ? problem('binding_released') : undefined) ??
    expiryRefusal(license, now);
  if (refusal) throw refusal;
  const minimum = versions.find(appVersion)?.minimum_license_expiry ?? null;
  if (!covers(minimum, license.expires_at)) throw problem('version_not_covered');
}

type Bound = Parameters<typeof tokenResponse>[2];
export const answerFor = (binding: Bound, now: Date) => tokenResponse(ring, PRODUCT!, binding, now);
