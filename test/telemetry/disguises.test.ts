import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { runs } from '../fuzz/fuzz.js';
import { storingMembers, TEXT_MEMBERS, VERSION_MEMBERS } from './storing-members.js';

/*
 * The tests send personal data in disguise: each character may be a compatibility character (NFKC), percent-encoded, an HTML
 * entity, an escape of the deprecated function `escape()` or quoted-printable, also repeatedly, with invisible characters in
 * between. A failure prints its seed.
 */

const FULL_WIDTH_OFFSET = 0xff00 - 0x20;
const fullWidth = (character: string) =>
  /[!-~]/.test(character) ? String.fromCharCode(character.charCodeAt(0) + FULL_WIDTH_OFFSET) : character;
const percentEncoded = (text: string) =>
  [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');
const asEntity = (character: string) => `&#${character.codePointAt(0)};`;
const asLegacyEscape = (character: string) =>
  `%u${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`;
const quotedPrintable = (text: string) =>
  [...Buffer.from(text)].map((byte) => `=${byte.toString(16).toUpperCase().padStart(2, '0')}`).join('');
const asHexEntity = (character: string) => `&#x${character.codePointAt(0)!.toString(16).toUpperCase()};`;
const withZeroWidthSpace = (character: string) => `${character}\u200B`;
const withVariationSelector = (character: string) => `\uFE0F${character}`;
const plain = (character: string) => character;

/** A disguise of one character. `plain` is listed twice, so that more characters stay undisguised. */
const characterDisguise = fc.constantFrom(
  plain,
  plain,
  fullWidth,
  percentEncoded,
  asEntity,
  asHexEntity,
  asLegacyEscape,
  quotedPrintable,
  withZeroWidthSpace,
  withVariationSelector,
);
/** A disguise of a whole text, applied after those of its characters. */
const textDisguise = fc.constantFrom(
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
  'adas-mac.local.',
  'Adas-MacBook-Pro',
  'DESKTOP-AB12CD3',
  'mail.ada.com',
  'MOOR_XWAT-577G-Y3KN-E457',
  'eyJhbGci.eyJzdWIi.c2ln',
];
const ADDRESS = '10.0.0.77';

/** The text in any disguise. */
const disguised = (text: string) =>
  fc
    .tuple(fc.array(characterDisguise, { minLength: text.length, maxLength: text.length }), textDisguise)
    .map(([disguises, disguiseText]) =>
      disguiseText([...text].map((character, index) => disguises[index]!(character)).join('')),
    );

test('no text member stores disguised personal data', () => {
  fc.assert(
    fc.property(fc.constantFrom(...PERSONAL).chain(disguised), (value) => {
      expect(storingMembers(value, TEXT_MEMBERS)).toEqual([]);
    }),
    runs(2_000),
  );
});

test('no text member except versions stores a disguised IPv4 address', () => {
  const others = TEXT_MEMBERS.filter((name) => !VERSION_MEMBERS.includes(name));
  fc.assert(
    fc.property(disguised(ADDRESS), (value) => expect(storingMembers(value, others)).toEqual([])),
    runs(1_000),
  );
});

test('crash_frame does not store disguised personal data that ends in a line number', () => {
  const personalText = fc.constantFrom(...PERSONAL, ADDRESS, 'localhost', 'adas_macbook', 'mail.a.com');
  fc.assert(
    fc.property(personalText.chain(disguised), fc.constantFrom(':7', '：7', '%3A7', ':７'), (value, line) => {
      expect(storingMembers(value + line, ['crash_frame'])).toEqual([]);
    }),
    runs(2_000),
  );
});

test('crash_frame stores paths of ASCII identifiers with a line number', () => {
  const name = fc.stringMatching(/^[a-z_]{1,8}$/);
  const frame = fc
    .tuple(fc.array(name, { minLength: 1, maxLength: 6 }), fc.constantFrom('run', '<lambda>', '__init__'))
    .map(([path, last]) => `${[...path, last].join('.')}:120`)
    // A path that begins like a home directory or contains the name of a computer is dropped.
    .filter((text) => !/^home\.|s_(macbook|imac|mac_?mini|mbp)/.test(text));
  fc.assert(
    fc.property(frame, (value) => expect(storingMembers(value, ['crash_frame'])).toEqual(['crash_frame'])),
    runs(500),
  );
});

test.each([
  ['a license key in lower case', 'key moor_xwat-577g-y3kn-e457'],
  ['a license key without digits', 'moor_xwat-yyyg-ykkn-ewwe'],
  ['a license key with other separators', 'MOOR-XWAT.577G.Y3KN.E457'],
  ['a license key without its prefix', 'XWAT-577G-Y3KN-E457'],
  ['a license key without separators', 'MOOR_XWAT577GY3KNE457'],
  ['a license key in lower case without separators', 'key moor_xwat577gy3kne457'],
  ['a truncated token', 'token=eyJhbGciOiJFZERTQSJ9.eyJzdWI'],
  ['the name of a computer with a final dot', 'janes-macbook.local.'],
  ['the name of a computer in a sentence', 'Could not resolve janes-mbp.local.'],
  ['the name of a computer in the domain of a router', 'nas.fritz.box.'],
  ['the name of a computer that ends in two dots', 'janes-mac.local..'],
  ['a default computer name of macOS', 'Janes-MacBook-Pro'],
  ['a default computer name of macOS, as displayed', 'Jane’s MacBook Pro'],
  ['a default computer name of macOS in German', 'MacBook-Pro-von-Jane'],
  ['a default computer name of macOS in German, as displayed', 'MacBook Pro von Jane'],
  ['a default computer name of earlier versions of macOS in German', 'Janes MacBook Pro'],
  ['a default computer name of Windows', 'DESKTOP-AB12CD3'],
  ['a default computer name of Windows for a portable', 'laptop-9k2m4x7q'],
  ['a domain', 'mail.example.com'],
  ['the name of a computer after a number', '3.nas.local'],
  ['the name of a computer in another script', 'жук.local'],
])('no text member stores %s', (_what, value) => expect(storingMembers(value, TEXT_MEMBERS)).toEqual([]));

test.each([
  ['an escape of the deprecated function escape()', 'jane%u0040example%u002ecom'],
  ['quoted-printable text', 'jane=40example=2Ecom'],
  ['quoted-printable UTF-8', 'jane=EF=BC=A0example'],
  ['a named entity of an invisible character', 'nas.lo&ZeroWidthSpace;cal'],
  ['a soft hyphen as an entity', 'nas.lo&shy;cal'],
  ['a zero-width space as a numeric entity', 'nas&#8203;.lo&#x200B;cal'],
  ['slashes of box drawing', '╱Users╱jane╱x.py'],
  ['backslashes of box drawing', 'C꞉╲Users╲jane'],
  ['mathematical slashes', '⟋Users⟋jane'],
  ['minus signs', 'MOOR_XWAT−577G−Y3KN−E457'],
  ['heavy minus signs', '00➖1a➖2b➖3c➖4d➖5e'],
  ['hyphen bullets', 'MOOR_XWAT⁃577G⁃Y3KN⁃E457'],
  ['Japanese long vowel marks', 'MOOR_XWATー577GーY3KNｰE457'],
  ['the sign of a ratio', 'fe80∶∶1ff∶fe23∶4567∶890a'],
  ['a modifier colon', 'aa꞉bb꞉cc꞉dd꞉ee꞉01'],
  ['bullets', 'nas•local'],
  ['dot operators', 'nas⋅local'],
  ['Arabic full stops', 'nas۔local'],
  ['combining marks', 'nas.\u0323local'],
  ['digits in circles', '➀➈➁.➀➅➇.➀.➀0'],
  ['digits in black circles', '❶❾❷.❶❻❽.❶.❶0'],
])('no text member stores personal data disguised by %s', (_disguise, value) =>
  expect(storingMembers(value, TEXT_MEMBERS)).toEqual([]),
);

test.each([
  'MOOR_XWAT_577G_Y3KN_E457:1',
  'moor_xwat_577g_y3kn_e457:1',
  'app.moor_xwat577gy3kne457:1',
  'app.MOOR_XWAT.H77G.Y3KN.E457:1',
  'eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJ4In0.abc:1',
  'Users.jane.Documents.secret:12',
  'C.Users.jane:3',
  'home.jane.app:3',
  '-[jane.local]:1',
  'janes_mbp:1',
  'DESKTOP_AB12CD3.x:1',
  'nas.fritz.box:80',
  'jane.example.biz:443',
  'jane.example.co.uk:443',
  'a1b2c3d4e5f6:7',
])('crash_frame does not store %s', (value) => expect(storingMembers(value, ['crash_frame'])).toEqual([]));

// Values that resemble personal data, and that are stored because names of code and of devices often have their form.
test.each([
  ['crash_frame', 'homography.box:12'],
  ['crash_frame', 'decade123456:3'],
  ['crash_frame', 'deadbeef0001:4'],
  ['crash_frame', 'camera.mac_mini.x:3'],
  ['crash_frame', 'ui.iphone_layout.draw:3'],
  ['crash_frame', 'platforms.is_mac:3'],
  ['crash_frame', 'users.views.show:3'],
  ['crash_frame', 'detector_load_data_from_file:3'],
  ['crash_frame', 'jane.example.de:443'],
  ['mac_model', 'MacBook Pro'],
  ['mac_model', 'MacBook Pro (14-inch, M3 Pro, Nov 2023)'],
  ['mac_model', 'MacBook Pro de 14 pulgadas'],
  ['os_version', 'Microsoft .NET 8'],
  ['crash_label', 'com.example.app'],
  ['crash_label', 'Detec&shy;tor'],
  ['crash_label', 'R&D, timeout=30 = 1.5 m²'],
  ['crash_label', 'top-most-user-code-line'],
])('%s stores %s', (member, value) => expect(storingMembers(value, [member])).toEqual([member]));
