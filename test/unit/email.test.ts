import { expect, test } from '@jest/globals';
import { domainToASCII } from 'node:url';
import fc from 'fast-check';
import { anyText } from '../support/any-text.js';
import { canonicalEmail } from '../../src/fields/email.js';

test.each([
  ['its domain is in full width', 'ada@ｅｘａｍｐｌｅ．ｃｏｍ'],
  ['its domain is in full width and capitals', 'ada@ＥＸＡＭＰＬＥ．ｃｏｍ'],
  ['one letter of its domain has full width', 'ada@exａmple.com'],
  ['its domain has a Japanese full stop', 'ada@example。com'],
  ['its domain has a Japanese full stop of half width', 'ada@example｡com'],
  ['it is in capitals', 'ADA@EXAMPLE.COM'],
  ['there is space around it', ' ada@example.com\n'],
])('an address has the same canonical form if %s', (_what, text) => {
  expect(canonicalEmail(text)).toBe('ada@example.com');
});

test('an address is refused before it is normalized if it is longer than any form of a valid one', () => {
  expect(canonicalEmail('ada@example.com'.padEnd(6 * 254))).toBe('ada@example.com');
  expect(canonicalEmail('ada@example.com'.padEnd(6 * 254 + 1))).toBeNull();
});

test('the local part is normalized to NFC but keeps full-width characters, which name another mailbox', () => {
  expect(canonicalEmail('Zoe\u0308@example.com')).toBe('zo\u00eb@example.com');
  expect(canonicalEmail('ａda@example.com')).toBe('ａda@example.com');
});

test.each([
  ['a zero-width space', '\u200b'],
  ['a zero-width joiner', '\u200d'],
  ['a soft hyphen', '\u00ad'],
  ['a byte order mark', '\ufeff'],
  ['a right-to-left mark', '\u200f'],
  ['a right-to-left override', '\u202e'],
  ['a left-to-right isolate', '\u2066'],
  ['an opening bracket', '<'],
  ['a closing bracket', '>'],
  ['the first half of a surrogate pair', '\ud83d'],
  ['the second half of a surrogate pair', '\ude00'],
  ['a NUL', '\0'],
  ['a second @', '@'],
])('an address with %s in its local part or its domain is refused', (_what, character) => {
  expect(canonicalEmail(`a${character}da@example.com`)).toBeNull();
  expect(canonicalEmail(`ada@exam${character}ple.com`)).toBeNull();
});

test.each(['＠', '＜', '＞', '\u3000'])(
  'a domain with %j, which normalization would turn into a refused character, is refused',
  (character) => {
    expect(canonicalEmail(`ada@exam${character}ple.com`)).toBeNull();
  },
);

test('a whole surrogate pair is a character like any other', () => {
  expect(canonicalEmail('😀@example.com')).toBe('😀@example.com');
});

test.each([
  ['ada@℡.com', 'ada@tel.com'],
  ['ada@𝐄xample.com', 'ada@example.com'],
])(
  'the canonical form of %s is %s: capitals that normalization produces become lower case too',
  (text, email) => {
    expect(canonicalEmail(text)).toBe(email);
  },
);

test.each([
  ['ada@xn--bcher-kva.de', 'ada@bücher.de'],
  ['ada@Mail.XN--Bcher-KVA.de', 'ada@mail.bücher.de'],
  ['ada@ｘn--bcher-kva.de', 'ada@bücher.de'],
  ['ada@xn--fa-hia.de', 'ada@faß.de'],
])('the ASCII form %s of an internationalized domain, which browsers send, is read as %s', (text, email) => {
  expect(canonicalEmail(text)).toBe(email);
  expect(canonicalEmail(email)).toBe(email);
});

test.each([
  ['is not valid', 'xn--zzzzzz99'],
  ['has no letter beyond ASCII', 'xn--abc-.example'],
  ['has a joiner, which an address must not have', domainToASCII('نامه\u200cای.com')],
  ['has a path', 'xn--bcher-kva.de/b'],
])('a domain in ASCII whose Unicode form %s stays as it is: %s', (_what, domain) => {
  expect(canonicalEmail(`ada@${domain}`)).toBe(`ada@${domain}`);
});

test('the canonical form of a canonical address is the same address', () => {
  fc.assert(
    fc.property(anyText(), anyText(), (local, domain) => {
      const email = canonicalEmail(`${local}@${domain}`);
      if (email !== null) expect(canonicalEmail(email)).toBe(email);
      const ascii = domainToASCII(domain);
      const converted = ascii && canonicalEmail(`${local}@${ascii}`);
      if (converted) expect(canonicalEmail(converted)).toBe(converted);
    }),
    { numRuns: 2_000 },
  );
});

test('an address has at most 254 characters', () => {
  const ofLength = (length: number) => `${'a'.repeat(length - '@example.com'.length)}@example.com`;
  expect(canonicalEmail(ofLength(254))).toBe(ofLength(254));
  expect(canonicalEmail(ofLength(255))).toBeNull();
});
