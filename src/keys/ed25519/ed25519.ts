import { createPublicKey, hash, sign, verify, type KeyObject } from 'node:crypto';

/** 64 bytes in base64url: the last of 86 symbols carries two bits, so only these four last symbols are canonical. */
const SIGNATURE = /^[A-Za-z0-9_-]{85}[AQgw]$/;
/** 32 bytes in base64url: the last of 43 symbols carries four bits. */
const BYTES_32 = /^[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$/;

/** A public key as a JWK (RFC 8037). */
interface Ed25519Jwk {
  kty: 'OKP';
  crv: 'Ed25519';
  x: string;
}

/** Whether a key is an Ed25519 key, public or private. */
export function isEd25519(key: KeyObject): boolean {
  return key.asymmetricKeyType === 'ed25519';
}

/** Whether a text has the form of a signature, in canonical base64url. Another spelling of the same bytes is refused. */
export function isSignature(text: string): boolean {
  return SIGNATURE.test(text);
}

/** Whether a text has the form of a thumbprint. */
export const isThumbprint = (text: string) => BYTES_32.test(text);

/** Returns the public key with this JWK member `x`. @throws Error if it is not 32 bytes of canonical base64url */
export function publicKeyFromX(x: string): KeyObject {
  if (!BYTES_32.test(x)) throw new Error('An Ed25519 public key is 43 characters of base64url.');
  return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
}

/** Returns the public JWK of a public or private Ed25519 key. @throws Error for other keys */
export function publicJwk(key: KeyObject): Ed25519Jwk {
  const { crv, x } = key.export({ format: 'jwk' });
  if (crv !== 'Ed25519' || x === undefined) throw new Error('This is not an Ed25519 key.');
  return { kty: 'OKP', crv, x };
}

/** Returns the thumbprint of a key (RFC 7638) in base64url, which is its `kid` in tokens and its `key_id` in manifests. */
export function thumbprint(key: KeyObject): string {
  const { crv, kty, x } = publicJwk(key);
  return hash('sha256', JSON.stringify({ crv, kty, x }), 'base64url');
}

/** Signs the UTF-8 bytes of `text`. @returns the signature in base64url */
export function signText(privateKey: KeyObject, text: string): string {
  return sign(null, Buffer.from(text), privateKey).toString('base64url');
}

/** Whether these bytes are a signature of this key over the UTF-8 bytes of `text`. */
export function verifyBytes(publicKey: KeyObject, text: string, signature: Buffer): boolean {
  return verify(null, Buffer.from(text), publicKey, signature);
}

/** Whether `signature` (canonical base64url) is a signature of this key over the UTF-8 bytes of `text`. */
export function verifyText(publicKey: KeyObject, text: string, signature: string): boolean {
  return isSignature(signature) && verifyBytes(publicKey, text, Buffer.from(signature, 'base64url'));
}
