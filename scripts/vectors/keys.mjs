// The published test keys with which the vectors are signed, and the functions that hash, encode, sign and change them.
import { createHash, createPrivateKey, createPublicKey, sign } from 'node:crypto';

const WARNING = 'a published test key, never to be trusted';
export const CURRENT = testKey(
  `RFC 8037, appendix A.1: ${WARNING}`,
  '9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60',
);
export const NEXT = testKey(
  `RFC 8032, section 7.1, TEST 2: ${WARNING}`,
  '4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb',
);
export const UNKNOWN = testKey(
  `RFC 8032, section 7.1, TEST 3: ${WARNING}`,
  'c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7',
);
export const PRODUCT = 'com.example.app';

function testKey(note, hex) {
  const seed = Buffer.from(hex, 'hex');
  // The PKCS#8 form of an Ed25519 key is this prefix and the 32 bytes of the key (RFC 8410).
  const der = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), seed]);
  const privateKey = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  const { x } = createPublicKey(privateKey).export({ format: 'jwk' });
  const kid = sha256(`{"crv":"Ed25519","kty":"OKP","x":"${x}"}`, 'base64url');
  return { privateKey, published: { note, d: seed.toString('base64url'), x, kid } };
}

export function sha256(text, encoding = 'hex') {
  return createHash('sha256').update(text).digest(encoding);
}

export function base64url(text) {
  return Buffer.from(text).toString('base64url');
}

export function signature(key, text) {
  return sign(null, Buffer.from(text), key.privateKey).toString('base64url');
}

/** Replaces one character. @param index counts from the end if it is negative */
export function replaceAt(text, index, change) {
  const at = index < 0 ? text.length + index : index;
  return text.slice(0, at) + change(text.charAt(at)) + text.slice(at + 1);
}
