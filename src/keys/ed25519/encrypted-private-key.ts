import { createCipheriv, randomBytes, scryptSync, type KeyObject } from 'node:crypto';

/**
 * With this N and r, scrypt uses 16 MiB. The next power of two is above the default memory limit of OpenSSL, which could then read
 * the key only with an option. A parallelization (p) of 10 compensates for this; OWASP recommends at least 5 for this N.
 */
const SCRYPT = { N: 2 ** 14, r: 8, p: 10 } as const;
const SALT_BYTES = 16;
const AES_KEY_BYTES = 32;
const AES_BLOCK_BYTES = 16;
const LINE_CHARACTERS = 64;

/** The contents octets of the object identifiers (RFC 8018, appendix C; RFC 7914, section 7; NIST, aes256-CBC). */
const PBES2 = Buffer.from('2a864886f70d01050d', 'hex'); // 1.2.840.113549.1.5.13
const SCRYPT_KDF = Buffer.from('2b06010401da47040b', 'hex'); // 1.3.6.1.4.1.11591.4.11
const AES_256_CBC = Buffer.from('60864801650304012a', 'hex'); // 2.16.840.1.101.3.4.1.42

/**
 * Encrypts a private key as PKCS#8 PEM with scrypt. `KeyObject.export` of Node encrypts only with PBKDF2, but Node and
 * `openssl pkey` read both.
 */
export function encryptedPrivateKey(key: KeyObject, passphrase: string): string {
  const salt = randomBytes(SALT_BYTES);
  const iv = randomBytes(AES_BLOCK_BYTES);
  const secret = scryptSync(passphrase, salt, AES_KEY_BYTES, SCRYPT);
  const cipher = createCipheriv('aes-256-cbc', secret, iv);
  const unencrypted = key.export({ format: 'der', type: 'pkcs8' });
  const encrypted = Buffer.concat([cipher.update(unencrypted), cipher.final()]);
  const { N, r, p } = SCRYPT;
  const kdf = sequence(
    objectId(SCRYPT_KDF),
    sequence(octets(salt), integer(N), integer(r), integer(p), integer(AES_KEY_BYTES)),
  );
  const scheme = sequence(objectId(AES_256_CBC), octets(iv));
  return pem(sequence(sequence(objectId(PBES2), sequence(kdf, scheme)), octets(encrypted)));
}

function pem(der: Buffer): string {
  const lines = der.toString('base64').match(new RegExp(`.{1,${LINE_CHARACTERS}}`, 'g'))!;
  return ['-----BEGIN ENCRYPTED PRIVATE KEY-----', ...lines, '-----END ENCRYPTED PRIVATE KEY-----', ''].join(
    '\n',
  );
}

/** Encodes a DER value: tag, length, contents. */
function encodeDer(tag: number, contents: Buffer): Buffer {
  const { length } = contents;
  // From 128 on, the first byte has the number of length bytes that follow.
  const lengthBytes = length < 0x80 ? [] : bytesOf(length);
  const header = lengthBytes.length === 0 ? [tag, length] : [tag, 0x80 | lengthBytes.length, ...lengthBytes];
  return Buffer.concat([Buffer.from(header), contents]);
}

const sequence = (...values: Buffer[]) => encodeDer(0x30, Buffer.concat(values));
const objectId = (contents: Buffer) => encodeDer(0x06, contents);
const octets = (contents: Buffer) => encodeDer(0x04, contents);

/** Encodes a positive integer. Its first byte must be below 0x80, as in all numbers above: others would be read as negative. */
const integer = (value: number) => encodeDer(0x02, Buffer.from(bytesOf(value)));

/** Encodes a number as big-endian bytes, without leading zeros. */
function bytesOf(value: number): number[] {
  const hex = value.toString(16);
  return [...Buffer.from(hex.padStart(hex.length + (hex.length % 2), '0'), 'hex')];
}
