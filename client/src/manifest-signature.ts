import { createHash, createPublicKey, verify, type KeyObject } from 'node:crypto';
import { isPublicKey } from './ed25519.js';

/** A public key shipped with the application. */
export interface TrustedKey {
  /** The RFC 7638 thumbprint. It is computed from the key, because the key id in a manifest is not signed. */
  key_id: string;
  key: KeyObject;
}

/**
 * Reads a public key that is given as the member `x` of its JWK (43 characters of base64url). Throws for any other text, and for a
 * key of small order.
 */
export function trustedKey(x: string): TrustedKey {
  // In the canonical base64url of 32 bytes the last character has unused bits, which are 0.
  if (!/^[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$/.test(x) || !isPublicKey(Buffer.from(x, 'base64url')))
    throw new Error(
      'each of trustedKeys and tokenKeys must be an Ed25519 public key, given as the member x of its JWK',
    );
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
  const canonical = `{"crv":"Ed25519","kty":"OKP","x":"${x}"}`;
  return { key_id: createHash('sha256').update(canonical).digest('base64url'), key };
}

/** Returns the ids of the trusted keys for which one of the signatures is valid for exactly these bytes. */
export function signersOf(signed: string, signatures: unknown[], trusted: TrustedKey[]): string[] {
  const bytes = Buffer.from(signed);
  const wellFormed = signatures
    // In the canonical base64url of 64 bytes the last character has unused bits, which are 0.
    .filter((text): text is string => typeof text === 'string' && /^[A-Za-z0-9_-]{85}[AQgw]$/.test(text))
    .slice(0, MAX_SIGNATURES)
    .map((signature) => Buffer.from(signature, 'base64url'));
  return trusted
    .filter(({ key }) => wellFormed.some((signature) => verify(null, bytes, key, signature)))
    .map(({ key_id }) => key_id);
}

/** Limits the work for one manifest. A manifest of the publisher has one signature for each of a few keys. */
const MAX_SIGNATURES = 16;
