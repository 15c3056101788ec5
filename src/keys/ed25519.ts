import { createPublicKey, hash, sign, verify, type KeyObject } from 'node:crypto';

/** 64 bytes in base64url: the last of 86 symbols carries two bits, so only these four are canonical. */
const SIGNATURE = /^[A-Za-z0-9_-]{85}[AQgw]$/;
/** 32 bytes in base64url: the last of 43 symbols carries four bits. */
const PUBLIC_X = /^[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$/;

export interface Ed25519Jwk {
  kty: 'OKP';
  crv: 'Ed25519';
  x: string;
}

export function isEd25519(key: KeyObject): boolean {
  return key.asymmetricKeyType === 'ed25519';
}

/** True for a signature in the one way it may be written; a second spelling of the same bytes is refused. */
export function isSignature(text: string): boolean {
  return SIGNATURE.test(text);
}

/** The public key whose JWK member `x` this is. Throws where it is not 32 bytes of canonical base64url. */
export function publicKeyFromX(x: string): KeyObject {
  if (!PUBLIC_X.test(x)) throw new Error('An Ed25519 public key is 43 characters of base64url.');
  return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
}

/** The public JWK of an Ed25519 key, public or private; never the private half. Throws for other keys. */
export function publicJwk(key: KeyObject): Ed25519Jwk {
  const { crv, x } = key.export({ format: 'jwk' });
  if (crv !== 'Ed25519' || x === undefined) throw new Error('This is not an Ed25519 key.');
  return { kty: 'OKP', crv, x };
}

/** RFC 7638: SHA-256 of the required members in alphabetical order, base64url. Our `kid` and `key_id`. */
export function thumbprint(key: KeyObject): string {
  const { crv, kty, x } = publicJwk(key);
  return hash('sha256', JSON.stringify({ crv, kty, x }), 'base64url');
}

/** The base64url signature over the UTF-8 bytes of `text`. */
export function signText(privateKey: KeyObject, text: string): string {
  return sign(null, Buffer.from(text), privateKey).toString('base64url');
}

/** Whether `signature` (base64url, canonical) is this key's over the UTF-8 bytes of `text`. */
export function verifyText(publicKey: KeyObject, text: string, signature: string): boolean {
  return (
    isSignature(signature) && verify(null, Buffer.from(text), publicKey, Buffer.from(signature, 'base64url'))
  );
}
