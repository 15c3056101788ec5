import { describe, expect, test } from '@jest/globals';
import { frameLooksPersonal, looksPersonal } from '../../src/telemetry/personal-data.js';
import { readTelemetry, TELEMETRY_FIELDS, TELEMETRY_NAMES } from '../../src/telemetry/telemetry.fields.js';
import { decodedFormsOf } from '../../src/telemetry/decoded-forms.js';

/* Texts for parts of patterns in src/telemetry/personal-data.ts; no other pattern recognizes them. More are in test/telemetry. */

describe('a text that looks personal', () => {
  test.each([
    ['a MAC address in which two bytes have one digit', 'en0 1:2b:3c:4:5e:6f'],
    ['a MAC address in which one byte has one digit', 'en0 1a:2b:3:4d:5e:6f'],
    ['a MAC address with spaces', 'en0 1a 2b 3c 4d 5e 6f'],
    ['a MAC address in groups of four', 'en0 aabb.ccd1.eeff up'],
    ['a MAC address in groups of four digits', '0011.2233.4455'],
    ['a MAC address without separators', 'en0 aabbcc1ddeef up'],
    ['a MAC address of digits', 'en0 001122334455'],
    ['a MAC address in two halves', 'aabbc1-ddeeff'],
    ['a UUID of letters', 'deadbeef-dead-beef-cafe-facedecadeed'],
    ['a UUID without its second separator', 'deadbeef-deadbeef-cafe-facedecadeed'],
    ['a UUID without its last separator', 'deadbeef-dead-beef-cafefacedecadeed'],
    ['a license key without digits', 'moor_xwat-yyyg-ykkn-ewwe'],
    ['a license key without its prefix', 'key XWAT-YYYG-YKKN-EWWE here'],
    ['a license key alone', 'XWAT-577G-Y3KN-E457'],
    ['a license key with dots, and a digit at its end', 'moor-xwat.yyyg.ykkn.eww4 here'],
    ['a license key with dots, and a digit at its start', 'moor-4wat.yyyg.ykkn.ewwe here'],
    ['a token', 'at eyJhbGci.c2ln'],
    ['a name that macOS gives a Mac', 'adas-mac 2'],
    ['a name that macOS gives, with an apostrophe alone', "James' iMac"],
    ['a name that macOS gives an iMac', 'iMac-von-Jane'],
    ['a name that macOS gives a MacBook Pro', 'MacBook-Pro-von-Jane'],
    ['a name that macOS gives an iMac, as displayed', 'iMac von Élise'],
    ['a name that macOS gives a MacBook Pro, as displayed', 'MacBook Pro 14 de Jane'],
    ['a name that macOS gives in German, as displayed', 'Zoés Mac'],
    ['a name that macOS gives in Japanese', 'ジェーンのMacBook Pro'],
    ['a name that macOS gives in Japanese, with a space', 'Jane の iMac'],
    ['a name of a machine in snake case', 'adas_macmini'],
    ['a name that Windows gives, in capitals', 'DESKTOP_ABCDEFG'],
    ['a name that Windows gives, with a digit within', 'laptop-ab12cd3'],
    ['a name that Windows gives, with a digit first', 'laptop-9k2m4x7q'],
    ['a host in its network in capitals', 'NAS.LOCAL'],
    ['a host on the web', 'www.example.de'],
    ['an IPv4 address with spaces', '192 . 168 . 1 . 20'],
    ['an IPv4 address that appears without the name of the operating system within it', '10.0.GNU/Linux0.77'],
    ['a local IPv6 address', 'fd12::1'],
    ['an IPv6 address of NAT64', '64:ff9b::c000:221'],
    ['an IPv6 address behind a label', 'source:fe80::1'],
    ['an IPv6 address behind a label that begins like one', 'addr:fe80::1'],
    ['an IPv6 address behind two labels', 'en0:peer:fe80::1'],
    ['an IPv6 address behind a label of hexadecimal digits', 'cafe:fe80::1'],
    ['an IPv6 address before a word', 'fe80::1:port'],
    ['the IPv6 address of a network', '2001:db8::'],
    ['a whole IPv6 address between two words', 'cafe:2001:db8:1:2:3:4:5:6:port'],
    ['an IPv6 address at the end of a sentence', 'fe80::1...'],
    ['a whole IPv6 address before a port', '2001:db8:1aa:2aa:3aa:4aa:5aa:6aa:50443'],
    ['an e-mail address of full-width characters', 'ａｄａ＠ｂ'],
    ['an HTML entity that cannot be decoded', 'Detec&nosuch;tor'],
    ...['http', 'https', 'ftp', 'ftps', 'ws', 'wss', 'rtsp', 'rtsps', 'mailto', 'tel'].map((scheme) => [
      'a URL without slashes',
      `${scheme}:ada`,
    ]),
    ['a URL', 'x-app://open'],
  ])('is %s: %s', (_what, text) => expect(looksPersonal(text!)).toBe(true));

  test('may be four numbers with dots, unless the field may contain a version', () => {
    expect([looksPersonal('1.2.3.4'), looksPersonal('1.2.3.4', { mayContainVersion: true })]).toEqual([
      true,
      false,
    ]);
  });
});

test.each([
  'of 1 10 20 30 40 50',
  'build 1234.5678',
  'face.dead.beef',
  'facade-decade',
  'f-dead-beef-cafe-facedecadeed',
  'deadbeef-dead-beef-cafe-face',
  'm_xwat-yyyg-ykkn-ewwe',
  'moor_xwat-yyyg of the day',
  'key XWAT-YYYG of the code',
  'm-4wat.yyyg.ykkn.ewwe',
  'moor-4wat.yyyg and more',
  'GreyJay.run',
  'this-machine',
  'is_imac',
  'MacBook Pro de 14 pulgadas',
  'macOS Mac Catalyst',
  'Adas Machine',
  'desktop-computer',
  'GNU/Linux',
  'cc::2001',
  '2001:peer:db8::1',
  '2a::b',
  'fc1::a',
  'Shape::2d',
  '2048:4096 blocks',
])('%s does not look personal', (text) => expect(looksPersonal(text)).toBe(false));

test.each([
  'app.x_aa11bb2ccccc.run:7',
  'app.x_11bb2ccccccc.run:7',
  'app.x_1b2ccccccccc.run:7',
  'NAS.LOCAL:7',
  'Users.jane.secret:12',
  'D.Users.jane:3',
])('the frame %s looks personal', (frame) => expect(frameLooksPersonal(frame)).toBe(true));

test.each(['app.www.routes:3', 'app.localhost:3', 'decade123456:3', 'deadbeef0001:4', 'app.is_imac:3'])(
  'the frame %s does not look personal',
  (frame) => expect(frameLooksPersonal(frame)).toBe(false),
);

/** HTML entities, each with the text that it is decoded to. A soft hyphen (`shy`) is invisible, and is removed. */
const ENTITIES = {
  amp: '&',
  bsol: '\\',
  colon: ':',
  commat: '@',
  dash: '-',
  equals: '=',
  gt: '>',
  hyphen: '-',
  lowbar: '_',
  lt: '<',
  num: '#',
  percnt: '%',
  period: '.',
  semi: ';',
  shy: '',
  sol: '/',
};

test.each([
  ['a line', 'a line'],
  ['a%40b', 'a@b'],
  ['a%C3%A9b', 'aéb'],
  ['a%u0040b', 'a@b'],
  ['a=40b', 'a@b'],
  ['a=C3=A9b', 'aéb'],
  ['a=EF=BC=A0b', 'a@b'],
  ['a&#64;b', 'a@b'],
  ['a&#64b', 'a@b'],
  ['a&#x40;b', 'a@b'],
  ['a&#x10FFFF;b', 'a\u{10FFFF}b'],
  ['a&#x110000;b', 'a&#x110000;b'],
  ['a&AMP;b', 'a&b'],
  ['a\u200Bb', 'ab'],
  ['a\u2010b', 'a-b'],
  ['a\u3002b', 'a.b'],
  ['a\u2236b', 'a:b'],
  ...Object.entries(ENTITIES).map(([name, sign]) => [`a&${name};b`, `a${sign}b`]),
])('%s is decoded to %s', (text, read) => expect(decodedFormsOf(text!)?.at(-1)).toBe(read));

test('a text is decoded five times at most, and one that is still encoded then cannot be read', () => {
  const encoded = (times: number) => `a%${'25'.repeat(times - 1)}41`;
  expect(decodedFormsOf(encoded(5))).toHaveLength(6);
  expect(decodedFormsOf(encoded(5))?.at(-1)).toBe('aA');
  expect(decodedFormsOf(encoded(6))).toBeNull();
});

test.each<[member: string, value: unknown, isKept: boolean]>([
  ['crash_app_version', '12.0+4', true],
  ['crash_app_version', '3.2.0(451)', true],
  ['crash_app_version', `3.2.0+${'x'.repeat(26)}`, true],
  ['crash_app_version', `3.2.0+${'x'.repeat(27)}`, false],
  ['crash_frame', `${'x'.repeat(118)}:1`, true],
  ['crash_frame', `${'x'.repeat(119)}:1`, false],
  ['crash_sig', 1_234_567_890_123_456, false],
  ['crash_sig', ['0123456789abcdef'], false],
])('%s of %j is kept: %s', (member, value, isKept) => {
  const { values, dropped } = readTelemetry({ [member]: value });
  expect(values[(TELEMETRY_NAMES as readonly string[]).indexOf(member)]).toBe(isKept ? value : null);
  expect(dropped).toEqual(isKept ? [] : [member]);
});

test('counts and durations are integers, and all other fields are text', () => {
  const integers = TELEMETRY_NAMES.filter((name) => TELEMETRY_FIELDS[name].type === 'integer');
  expect(integers.toSorted()).toEqual([
    'camera_count',
    'cpu_cores',
    'crash_count_since_last',
    'crash_uptime_secs',
    'recent_inference_ms',
    'uptime_hours',
  ]);
  const texts = TELEMETRY_NAMES.filter((name) => TELEMETRY_FIELDS[name].type === 'text');
  expect(integers.length + texts.length).toBe(TELEMETRY_NAMES.length);
});
