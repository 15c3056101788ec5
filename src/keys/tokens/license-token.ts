import { hash } from 'node:crypto';
import { isObject } from '../../core/json-object.js';
import { isSignature, signText } from '../ed25519/ed25519.js';
import type { KeyRing, TokenKey } from './key-ring.js';

/** The `iss` claim of every token. */
export const ISSUER = 'mooring';
/** The time for which a token allows the application to restart without the network (docs/contract.md#heartbeat). */
export const OFFLINE_SECONDS = 7 * 86_400;
/** The largest length of a token in characters, for service and client (docs/clients.md#which-responses-to-accept). */
export const MAX_TOKEN_LENGTH = 2048;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** The claims of a token (docs/keys.md#license-tokens). Times are Unix seconds; `lxp` null is a license without expiry. */
export interface LicenseClaims {
  iss: string;
  aud: string;
  sub: string;
  lic: string;
  mch: string;
  lxp: number | null;
  iat: number;
  exp: number;
}

/** The `mch` claim is the first 16 bytes of the SHA-256 of this prefix and the machine_id. No other hash has this prefix. */
export const MACHINE_DOMAIN_SEPARATOR = Buffer.from('mooring machine v1\0');
export const MACHINE_DIGEST_BYTES = 16;

/**
 * Returns the `mch` claim, the machine digest, of a machine_id of 32 bytes. Only a client compares the claim with its own machine
 * (docs/clients.md): a heartbeat carries no machine_id, so the service does not know which machine sent a token.
 */
export function machineDigest(machineId: Buffer): string {
  const digest = hash('sha256', Buffer.concat([MACHINE_DOMAIN_SEPARATOR, machineId]), 'buffer');
  return digest.subarray(0, MACHINE_DIGEST_BYTES).toString('base64url');
}

/** Signs a token in the form of a compact JWS. @throws Error if the key has no private half */
export function signLicenseToken(key: TokenKey, claims: LicenseClaims): string {
  if (!key.privateKey) throw new Error(`The token key ${key.kid} is held without its private half.`);
  const { iss, aud, sub, lic, mch, lxp, iat, exp } = claims;
  // The order of the claims is part of the format. JSON.stringify takes less than 2% of the time of the signature.
  const payload = Buffer.from(JSON.stringify({ iss, aud, sub, lic, mch, lxp, iat, exp })).toString(
    'base64url',
  );
  const input = `${key.header}.${payload}`;
  return `${input}.${signText(key.privateKey, input)}`;
}

/**
 * Returns the claims of a token that this service signed for this product; null for any other text. An expired token is
 * accepted, because a client may have been offline for months (docs/contract.md#heartbeat).
 */
export function verifyLicenseToken(ring: KeyRing, product: string, token: string): LicenseClaims | null {
  if (token.length > MAX_TOKEN_LENGTH) return null;
  const [header, payload, signature, ...furtherParts] = token.split('.');
  if (!header || !payload || !signature || furtherParts.length > 0) return null;
  // The encoded header is looked up as a whole: no key has a header with another alg, typ or kid (docs/keys.md#license-tokens).
  const key = ring.byHeader(header);
  if (!key || !isSignature(signature)) return null;
  if (!key.verifier.accepts(`${header}.${payload}`, Buffer.from(signature, 'base64url'))) return null;
  const claims = readClaims(payload);
  return claims?.iss === ISSUER && claims.aud === product ? claims : null;
}

function readClaims(payload: string): LicenseClaims | null {
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(payload, 'base64url').toString());
  } catch {
    return null;
  }
  if (!isObject(value)) return null;
  const { iss, aud, sub, lic, mch, lxp, iat, exp } = value;
  if (typeof iss !== 'string' || typeof aud !== 'string' || typeof mch !== 'string') return null;
  if (!isUuid(sub) || !isUuid(lic)) return null;
  if (!isInteger(iat) || !isInteger(exp)) return null;
  if (lxp !== null && !isInteger(lxp)) return null;
  return { iss, aud, sub, lic, mch, lxp, iat, exp };
}

function isUuid(value: unknown): value is string {
  return typeof value === 'string' && UUID.test(value);
}

function isInteger(value: unknown): value is number {
  return Number.isSafeInteger(value);
}
