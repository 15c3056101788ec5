import { expect, test } from '@jest/globals';
import { LicenseKeys } from '../../src/keys/license-keys.js';
import { previousKeyHint, readPreviousKey } from '../../src/keys/previous-key-text.js';

const keys = new LicenseKeys(Buffer.alloc(32, 1), 'MOOR');
const KEY = '80E15DB5C796436B850C8F9C98A48ABE';

test.each([
  '80e15db5-c796-436b-850c-8f9c98a48abe',
  ' 80E15DB5 C796 436B 850C 8F9C98A48ABE ',
  '“80e15db5–c796–436b–850c–8f9c98a48abe”.',
  '80e15db5_c796_436b_850c_8f9c98a48abe',
  '８０e15db5-c796-436b-850c-8f9c98a48abe',
  '80e15db5\u200B-c796-436b-850c-8f9c98a48abe',
])('a key of another system is read as people type it: %s', (text) =>
  expect(readPreviousKey(text)).toBe(KEY),
);

test('letters that look alike stay different, because other systems may use both', () => {
  expect(readPreviousKey('O0I1-L1O0-XX')).toBe('O0I1L1O0XX');
});

test.each([
  ['seven characters', 'AB-12345', null],
  ['eight characters', 'AB-123456', 'AB123456'],
  ['eleven digits', '123-456-789-01', null],
  ['twelve digits', '123-456-789-012', '123456789012'],
  ['2,000 characters', 'k'.repeat(2_000), 'K'.repeat(2_000)],
  ['more than 2,000 characters', 'k'.repeat(2_001), null],
  ['nothing but separators', '--------------', null],
])('a key that could be guessed or is too long is refused, and any other is read: %s', (_name, text, key) =>
  expect(readPreviousKey(text)).toBe(key),
);

test.each([
  [KEY, '8ABE'],
  ['ABCDEFG𠮷𠮷', 'FG𠮷𠮷'],
  ['ABCDEFG𠮷BCD', '𠮷BCD'],
])('the hint of %s is its last four characters: %s', (key, hint) => expect(previousKeyHint(key)).toBe(hint));

test('characters are counted, not their UTF-16 units: four letters of two units are too short', () => {
  expect(readPreviousKey('𐐀𐐀𐐀𐐀')).toBeNull();
  expect(readPreviousKey('𐐀𐐀𐐀𐐀𐐀𐐀𐐀𐐀')).toBe('𐐀𐐀𐐀𐐀𐐀𐐀𐐀𐐀');
});

// Computed with Python's hmac and hashlib from docs/keys.md#previous-keys.
test('the hash and the id of the license depend on the secret', () => {
  expect(keys.hashPrevious(KEY).toString('hex')).toBe(
    '38568de43082012d8354e801dc9994b0e422b7cfbf6773453f391e7afe935cfc',
  );
  expect(keys.importedLicenseId(KEY)).toBe('4fd186ca-1d4f-7357-a43a-091e3bb508e2');
  const others = new LicenseKeys(Buffer.alloc(32, 2), 'MOOR');
  expect(others.hashPrevious(KEY)).not.toEqual(keys.hashPrevious(KEY));
  expect(others.importedLicenseId(KEY)).not.toBe(keys.importedLicenseId(KEY));
});

test('a typed text has the hash of each form that it can have', () => {
  const own = 'MOOR_E6S7-Z8KJ-TB3R-QKX6';
  expect(keys.hashesOfTyped(own)).toEqual([keys.hash(own), keys.hashPrevious('MOORE6S7Z8KJTB3RQKX6')]);
  expect(keys.hashesOfTyped(KEY)).toEqual([null, keys.hashPrevious(KEY)]);
  expect(keys.hashesOfTyped('txn_1')).toEqual([null, null]);
});
