import { randomBytes } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { formsOfAddress, formsOfText, isWord, LeakSearch } from '../support/leak-search.js';

const forms = formsOfAddress('127.0.0.77');
const find = (text: string) => [...new LeakSearch(forms).in(text)];

test('a short form is found where it is a word, and not in the middle of random text', () => {
  const short = forms.filter(isWord).map(({ bytes }) => bytes.toString());
  expect(short).toEqual(expect.arrayContaining(['7f00004d', 'fwAATQ', '2130706509', '\\x7f00004d']));
  for (const form of short) {
    expect([form, find(`{"from":"${form}"}`).length > 0]).toEqual([form, true]);
    expect([form, find(`${form}a9`)]).toEqual([form, []]);
  }
});

test('a long form is found anywhere', () => {
  expect(find('x127.0.0.77x')).toContain('127.0.0.77');
  // The address is encoded within a longer text, at an offset of one byte.
  const inToken = Buffer.from('a127.0.0.77b').toString('base64url');
  expect(find(inToken)).toContain('127.0.0.77 in base64url, offset 1');
});

test('all searches of a test file together find something by chance in less than one of a million runs', () => {
  const search = new LeakSearch([...forms, ...formsOfText('a canary of a test')]);
  const before = LeakSearch.chance;
  search.in(randomBytes(1_000_000));
  const chancePerMegabyte = LeakSearch.chance - before;
  // test/http/address.test.ts searches a hundred megabytes.
  expect(100 * chancePerMegabyte).toBeLessThan(1e-6);
});

test('a search that would find something by chance in more than one of a million runs fails instead', () => {
  // A given value of four bytes is in about one of 4,300 random megabytes.
  const rawBytes = { what: 'four bytes', bytes: Buffer.from([127, 0, 0, 77]), binary: true };
  expect(() => new LeakSearch([rawBytes]).in(Buffer.alloc(1_000_000))).toThrow(/match by chance/);
});
