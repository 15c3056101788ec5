import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { anyText } from '../support/any-text.js';
import { canonicalEmail } from '../../src/fields/email.js';

test.each([
  ['in full width', 'ada@ｅｘａｍｐｌｅ．ｃｏｍ'],
  ['in full width and capitals', 'ada@ＥＸＡＭＰＬＥ．ｃｏｍ'],
  ['in half full width', 'ada@exａmple.com'],
  ['in capitals', 'ADA@EXAMPLE.COM'],
  ['with space around', ' ada@example.com\n'],
])('an address is the same with its domain %s', (_what, text) => {
  expect(canonicalEmail(text)).toBe('ada@example.com');
});

test('what comes before the sign has one Unicode form and keeps its width: it is another mailbox', () => {
  expect(canonicalEmail('Zoe\u0308@example.com')).toBe('zo\u00eb@example.com');
  expect(canonicalEmail('ａda@example.com')).toBe('ａda@example.com');
});

test.each([
  ['a zero-width space', '\u200b'],
  ['a zero-width joiner', '\u200d'],
  ['a soft hyphen', '\u00ad'],
  ['a byte order mark', '\ufeff'],
  ['a mark of direction', '\u200f'],
  ['an override of direction', '\u202e'],
  ['an isolate', '\u2066'],
  ['an opening bracket', '<'],
  ['a closing bracket', '>'],
  ['the first half of a surrogate pair', '\ud83d'],
  ['its second half', '\ude00'],
  ['a null', '\0'],
  ['a second sign', '@'],
])('%s is in no address, on neither side of the sign', (_what, sign) => {
  expect(canonicalEmail(`a${sign}da@example.com`)).toBeNull();
  expect(canonicalEmail(`ada@exam${sign}ple.com`)).toBeNull();
});

test.each(['＠', '＜', '＞', '\u3000'])('nor is %j in a domain, which would become one of those', (sign) => {
  expect(canonicalEmail(`ada@exam${sign}ple.com`)).toBeNull();
});

test('a whole surrogate pair is a character like any other', () => {
  expect(canonicalEmail('😀@example.com')).toBe('😀@example.com');
});

test.each([
  ['ada@℡.com', 'ada@tel.com'],
  ['ada@𝐄xample.com', 'ada@example.com'],
])('%s is %s: what comes out of a wide form in capitals is lower case too', (text, email) => {
  expect(canonicalEmail(text)).toBe(email);
});

test('the one form of an address is its own one form', () => {
  fc.assert(
    fc.property(anyText(), anyText(), (local, domain) => {
      const email = canonicalEmail(`${local}@${domain}`);
      if (email !== null) expect(canonicalEmail(email)).toBe(email);
    }),
    { numRuns: 2_000 },
  );
});

test('an address has at most 254 characters', () => {
  const ofLength = (length: number) => `${'a'.repeat(length - '@example.com'.length)}@example.com`;
  expect(canonicalEmail(ofLength(254))).toBe(ofLength(254));
  expect(canonicalEmail(ofLength(255))).toBeNull();
});
