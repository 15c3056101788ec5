import { createHash, createPublicKey, verify, type KeyObject } from 'node:crypto';

/** A manifest key that the application was shipped with. */
export interface TrustedKey {
  /** RFC 7638 thumbprint, computed here: what a manifest calls its key proves nothing. */
  key_id: string;
  key: KeyObject;
}

/** Reads a public key given as JWK `x` (43 characters of base64url); throws on anything else. */
export function trustedKey(x: string): TrustedKey {
  if (!/^[A-Za-z0-9_-]{43}$/.test(x)) throw new Error('a trusted key must be an Ed25519 public key, JWK x');
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
  const canonical = `{"crv":"Ed25519","kty":"OKP","x":"${x}"}`;
  return { key_id: createHash('sha256').update(canonical).digest('base64url'), key };
}

/** The ids of the trusted keys under which any of these signatures is good for exactly these bytes. */
export function signersOf(signed: string, signatures: unknown[], trusted: TrustedKey[]): string[] {
  const bytes = Buffer.from(signed);
  const wellFormed = signatures
    // In its one spelling: 64 bytes leave four choices for the last character.
    .filter((text): text is string => typeof text === 'string' && /^[A-Za-z0-9_-]{85}[AQgw]$/.test(text))
    .slice(0, MOST_SIGNATURES)
    .map((signature) => Buffer.from(signature, 'base64url'));
  return trusted
    .filter(({ key }) => wellFormed.some((signature) => verify(null, bytes, key, signature)))
    .map(({ key_id }) => key_id);
}

const MOST_SIGNATURES = 16;
