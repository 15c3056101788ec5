import { expect, test } from '@jest/globals';
import { LicenseKeys } from '../../src/keys/license-keys.js';
import { newNonce } from '../../src/keys/mailed-secrets.js';
import { readSignInCode } from '../../src/keys/typed-text.js';

const keys = new LicenseKeys(Buffer.alloc(32, 7), 'MOOR');
const row = { id: '01980000-0000-4000-8000-000000000001', nonce: Buffer.alloc(32, 1) };

// The expected values were computed with other programs: printf, openssl dgst -mac HMAC, and bc for the remainder.
test('a sign-in code and a staff link are derived from the secret, the id and the nonce, each with its own label', () => {
  expect(keys.signInCode(row)).toBe('67402944');
  expect(keys.staffLink(row)).toBe('L5_4dpwHhg6uY0uRr2zWNbAWeVo5vy4EfBd7F0JBgrY');
});

test.each([
  ['another nonce', keys, { ...row, nonce: Buffer.alloc(32, 2) }],
  ['another id', keys, { ...row, id: '01980000-0000-4000-8000-000000000002' }],
  ['another secret', new LicenseKeys(Buffer.alloc(32, 8), 'MOOR'), row],
])('with %s the code and the link are different', (_what, otherKeys, otherRow) => {
  expect(otherKeys.signInCode(otherRow)).not.toBe(keys.signInCode(row));
  expect(otherKeys.staffLink(otherRow)).not.toBe(keys.staffLink(row));
});

test('a nonce is 256 random bits', () => {
  const nonces = Array.from({ length: 1_000 }, newNonce);
  expect(new Set(nonces.map((nonce) => nonce.toString('hex'))).size).toBe(1_000);
  expect(nonces.every((nonce) => nonce.length === 32)).toBe(true);
});

test('a sign-in code has eight digits, also where it begins with zeros', () => {
  const codes = Array.from({ length: 400 }, (_, i) =>
    new LicenseKeys(Buffer.alloc(32, 1), 'MOOR').signInCode({
      id: '019a0000-0000-7000-8000-000000000001',
      nonce: Buffer.from([i >> 8, i & 255]),
    }),
  );
  expect(codes.filter((code) => !/^\d{8}$/.test(code))).toEqual([]);
  expect(codes.some((code) => code.startsWith('0'))).toBe(true);
});

test.each([
  ['as mailed', '40134555'],
  ['in groups, with a soft hyphen', ' 4013-45\u00ad55\n'],
  ['in groups, with an underscore, a minus sign and an en dash', '40_13−45–55'],
  ['from a quoted mail', '> “4013 4555”.'],
  ['on a Japanese keyboard', '４０１３ー４５５５'],
  ['after a label', 'Your code: 4013 4555'],
  ['as the subject of its mail', '4013 4555 is your code for Example 3D'],
  ['as the Japanese subject of its mail', '4013 4555 は Example のコードです'],
  ['in Japanese words without spaces', 'コードは40134555です'],
  ['with another number', 'It is 4013-4555, good for 10 minutes until 2026-11-26 10:30.'],
  ['twice', '4013 4555 is your code: 40134555'],
])('a sign-in code is read as typed: %s', (_how, text) => {
  expect(readSignInCode(text)).toBe('40134555');
});

test.each([
  ['seven digits', '4013455'],
  ['nine digits', '401345551'],
  ['a letter', '4013455O'],
  ['a letter besides the digits', 'a40134555'],
  ['two codes', '4013 4555 or 4013 4556'],
  ['a telephone number', 'Call 0800 4013 4555.'],
  ['a longer number', 'Your order: 4013 4555 1'],
  ['digits of another script', '٤٠١٣٤٥٥٥'],
  ['digits that NFKC would map', '𝟒𝟎𝟏𝟑𝟒𝟓𝟓𝟓'],
])('a text with %s is no sign-in code', (_what, text) => {
  expect(readSignInCode(text)).toBeNull();
});
