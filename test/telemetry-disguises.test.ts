import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { readTelemetry, TELEMETRY_FIELDS, TELEMETRY_NAMES } from '../src/heartbeat/telemetry.fields.js';
import { runs } from './fuzz.js';

/*
 * Personal data under disguise: each character may be written as another one that NFKC makes it of, percent-encoded or as
 * an HTML entity, several times over, with characters in between that are not shown. A failure prints its seed.
 */

const TEXTS = TELEMETRY_NAMES.filter((name) => TELEMETRY_FIELDS[name].type === 'text');
/** Where `1.2.3.4` is a version. */
const VERSIONS = new Set<string>(['app_version', 'os_version', 'crash_app_version']);

const FULL_WIDTH = 0xff00 - 0x20;
const fullWidth = (character: string) =>
  /[!-~]/.test(character) ? String.fromCharCode(character.charCodeAt(0) + FULL_WIDTH) : character;
const percentEncoded = (text: string) =>
  [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');
const asEntity = (character: string) => `&#${character.codePointAt(0)};`;
const asHexEntity = (character: string) => `&#x${character.codePointAt(0)!.toString(16).toUpperCase()};`;
const hidden = (character: string) => `${character}\u200B`;
const hiddenByDefault = (character: string) => `\uFE0F${character}`;
const plain = (character: string) => character;

/** What is done to one character. */
const step = fc.constantFrom(
  plain,
  plain,
  fullWidth,
  percentEncoded,
  asEntity,
  asHexEntity,
  hidden,
  hiddenByDefault,
);
/** What is done to the whole of it, after. */
const layer = fc.constantFrom(
  plain,
  (text: string) => text.replaceAll('%', '%25'),
  (text: string) => text.replaceAll('%', '%2525'),
  (text: string) => text.replaceAll('&', '&amp;'),
  (text: string) => text.replaceAll('%', '％'),
  (text: string) => text.replaceAll('%', '&percnt;'),
);

const PERSONAL = [
  'a@b.example',
  '/Users/ada/x',
  'C:\\Users\\Ada',
  'https://a.example',
  '~ada',
  'fe80::1',
  '00:1a:2b:3c:4d:5e',
  'adas-mac.local',
  'adas-mac.lan',
  'ada.home',
  'db.internal',
];
const ADDRESS = '10.0.0.77';

/** A text of which at least one reading is this one. */
const disguised = (text: string) =>
  fc
    .tuple(fc.array(step, { minLength: text.length, maxLength: text.length }), layer)
    .map(([steps, over]) => over([...text].map((character, at) => steps[at]!(character)).join('')));

/** The members that store a value as it is. */
const stored = (value: string, members: readonly string[]) => {
  const { values, dropped } = readTelemetry(Object.fromEntries(members.map((name) => [name, value])));
  const kept = members.filter((name) => values[TELEMETRY_NAMES.indexOf(name as 'arch')] !== null);
  // What is not stored is named.
  expect(new Set([...kept, ...dropped])).toEqual(new Set(members));
  return kept;
};

test('no text member stores personal data, whatever its disguise', () => {
  fc.assert(
    fc.property(fc.constantFrom(...PERSONAL).chain(disguised), (value) => {
      expect(stored(value, TEXTS)).toEqual([]);
    }),
    runs(2_000),
  );
});

test('no text member but a version stores an IPv4 address, whatever its disguise', () => {
  const others = TEXTS.filter((name) => !VERSIONS.has(name));
  fc.assert(
    fc.property(disguised(ADDRESS), (value) => expect(stored(value, others)).toEqual([])),
    runs(1_000),
  );
});

test('crash_frame stores no personal data before a line, whatever its disguise', () => {
  const before = fc.constantFrom(...PERSONAL, ADDRESS, 'localhost', 'adas_macbook', 'mail.a.com');
  fc.assert(
    fc.property(before.chain(disguised), fc.constantFrom(':7', '：7', '%3A7', ':７'), (value, line) => {
      expect(stored(value + line, ['crash_frame'])).toEqual([]);
    }),
    runs(2_000),
  );
});

test('crash_frame stores every path of ASCII identifiers before a line', () => {
  const name = fc.stringMatching(/^[a-z_]{1,8}$/);
  const frame = fc
    .tuple(fc.array(name, { minLength: 1, maxLength: 6 }), fc.constantFrom('run', '<lambda>', '__init__'))
    .map(([path, last]) => `${[...path, last].join('.')}:120`)
    .filter((text) => !/macbook|mac_?mini|imac|iphone|ipad/.test(text));
  fc.assert(
    fc.property(frame, (value) => expect(stored(value, ['crash_frame'])).toEqual(['crash_frame'])),
    runs(500),
  );
});
