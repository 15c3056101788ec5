import { spawnSync } from 'node:child_process';
import { createPrivateKey, generateKeyPairSync } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { encryptedPrivateKey } from '../../src/keys/ed25519/encrypted-private-key.js';
import { testWith } from '../support/processes/test-with.js';

const PASSPHRASE = 'corréct hörse, staple';
const openssl = (args: string[], input: string) =>
  spawnSync('openssl', args, { input, encoding: 'utf8', env: { PATH: process.env['PATH'] } });

/** An Ed25519 key and an RSA key. The file of the encrypted RSA key has DER lengths of two bytes. */
const KEYS = {
  ed25519: generateKeyPairSync('ed25519').privateKey,
  rsa: generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey,
};

/** The files are made once, because each encryption and decryption takes a third of a second of CPU time. */
const FILES = Object.entries(KEYS).map(([kind, key]) => {
  return { kind, key, pem: encryptedPrivateKey(key, PASSPHRASE) };
});

test.each(FILES)(
  'an encrypted $kind key: Node opens the file with the passphrase alone',
  ({ kind, key, pem }) => {
    expect(pem).toMatch(
      /^-----BEGIN ENCRYPTED PRIVATE KEY-----\n([\w+/]{64}\n)+[\w+/]{0,64}={0,2}\n-----END ENCRYPTED PRIVATE KEY-----\n$/,
    );
    expect(createPrivateKey({ key: pem, passphrase: PASSPHRASE }).equals(key)).toBe(true);
    if (kind === 'rsa') return; // A wrong passphrase fails in the same way for each kind of key.
    // One wrong passphrase in 256 gives bytes with a valid padding; then decoding the key in them fails.
    expect(() => createPrivateKey({ key: pem, passphrase: `${PASSPHRASE} ` })).toThrow(/bad decrypt|decode/i);
  },
);

testWith('openssl').each(FILES)(
  'an encrypted $kind key: openssl opens the file without an option that names the algorithm, and lists scrypt and its parameters',
  ({ key, pem }) => {
    const opened = openssl(['pkey', '-passin', `pass:${PASSPHRASE}`], pem);
    expect([opened.status, opened.stdout]).toEqual([0, key.export({ format: 'pem', type: 'pkcs8' })]);
    const { stdout } = openssl(['asn1parse'], pem);
    const values = [...stdout.matchAll(/(?:OBJECT|INTEGER) +:(?:id-)?(\S+)/g)].map(([, value]) => value);
    // N, r, p and the length of the key, in hexadecimal.
    expect(values).toEqual(['PBES2', 'scrypt', '4000', '08', '0A', '20', 'aes-256-cbc']);
  },
);

test('two files of the same key and passphrase differ in salt and ciphertext', () => {
  const [one, two] = [FILES[0]!.pem, encryptedPrivateKey(KEYS.ed25519, PASSPHRASE)].map((pem) =>
    pem.split('\n'),
  );
  // Each line has random bytes: the first one, after the object ids, has a part of the salt.
  for (const [i, line] of one!.slice(1, -2).entries()) expect(two![i + 1]).not.toBe(line);
});

/** Checks that each DER length within `[from, to)` is in its shortest form. */
function expectShortestLengths(der: Buffer, from: number, to: number): void {
  for (let at = from; at < to;) {
    const [tag, first] = [der[at]!, der[at + 1]!];
    expect(first).not.toBe(0x80); // the indefinite length of BER
    const bytes = first < 0x80 ? 0 : first & 0x7f;
    const length = bytes === 0 ? first : der.readUIntBE(at + 2, bytes);
    if (bytes > 0) expect(length).toBeGreaterThanOrEqual(Math.max(0x80, 2 ** (8 * (bytes - 1))));
    const contents = at + 2 + bytes;
    if (tag === 0x30) expectShortestLengths(der, contents, contents + length);
    at = contents + length;
    expect(at).toBeLessThanOrEqual(to);
  }
}

// Both encrypted keys have 128 bytes, the smallest length that DER does not write in a single byte.
test.each(['prime192v1', 'secp224r1'])(
  'an encrypted %s key: the file is DER, with each length in its shortest form',
  (namedCurve) => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve });
    const pem = encryptedPrivateKey(privateKey, PASSPHRASE);
    const der = Buffer.from(pem.split('\n').slice(1, -2).join(''), 'base64');
    expectShortestLengths(der, 0, der.length);
  },
);
