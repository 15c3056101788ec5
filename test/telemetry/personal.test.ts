import { hash } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { storingMembers, TEXT_MEMBERS, VERSION_MEMBERS } from './storing-members.js';

const id = '564d0a3b-1c2d-4e5f-8a9b-0c1d2e3f4a5b';
const PERSONAL: Record<string, string[]> = {
  'an e-mail address': [
    'ada@example.com',
    'Ada <ada@example.com>',
    'by ada+mac@mail.example.co.uk',
    'ada@localhost',
  ],
  'an IPv6 address': [
    'fe80::1',
    '::1',
    '2001:db8::8a2e:370:7334',
    '2001:0db8:85a3:0000:0000:8a2e:0370:7334',
    'fe80::1%en0',
    '[2001:db8::1]:443',
    '::ffff:127.0.0.77',
    'from 2001:db8::1, port 80',
    'address=fe80::1',
    'fe80::1: unreachable',
    'host-fe80::1',
    'en0_fe80::1',
    'fe80::1.',
  ],
  'a MAC address': [
    '00:1a:2b:3c:4d:5e',
    '00-1A-2B-3C-4D-5E',
    'ae1a.2b3c.4d5e',
    'en0 00:1A:2B:3C:4D:5E up',
    'en0_00:1a:2b:3c:4d:5e',
    'mac00:1a:2b:3c:4d:5e',
    'fedcba 123456',
  ],
  'a UUID': [id, id.toUpperCase(), `{${id}}`, `Mac-${id}-x`, id.replaceAll('-', '')],
  'a digest': [hash('md5', 'x'), hash('sha1', 'x'), hash('sha256', 'x'), `sha256_${hash('sha256', 'x')}`],
  'a URL': [
    'https://example.com',
    'HTTP://EXAMPLE.COM',
    'rtsp://camera',
    'x-app://open',
    'see www.example.com',
    'mailto:ada',
    'file:ada',
    'data:ada',
  ],
  'a file path': [
    '/Users/ada/x',
    '/home/ada',
    '/',
    '~/Library',
    '~ada',
    'in ~ada',
    './x',
    '../x',
    'Library/x',
    'C:\\Users\\Ada',
    'C:/Users/Ada',
    '\\\\server\\share',
    '%APPDATA%\\x',
    'GNU/Linux /home/ada',
    'a GNU/Linux/ada',
    '/home/w/ Radeon',
    'Users/ada w/ Radeon',
  ],
  'the name of a computer in its network': [
    'adas-macbook.local',
    'adas-macbook.lan',
    'at adas-mac.home:80',
    'db.internal',
    'ada.fritz.box',
  ],
  'personal data in disguise': [
    'ada＠example.com',
    'ada%40example.com',
    'ada%2540example.com',
    'ada%252540example.com',
    'ada％40example.com',
    'ada%EF%BC%A0example.com',
    'ada&#64;example.com',
    'ada&amp;#x40;example.com',
    'ada&commat;example.com',
    '／Users／ada／x.py',
    '%2FUsers%2Fada',
    '%C0%AFUsers',
    'at ١٩٢.١٦٨.١.٢٠',
    'adas-mac。lan',
  ],
};

/** Each value that one of these members stores, with the member. */
const leaks = (values: readonly string[], members: readonly string[]) =>
  values.flatMap((value) => storingMembers(value, members).map((name) => `${value} in ${name}`));

test.each(Object.entries(PERSONAL))('%s is dropped in every text member', (_what, values) => {
  expect(leaks(values, TEXT_MEMBERS)).toEqual([]);
});

test('an IPv4 address is dropped in every text member except versions', () => {
  const others = TEXT_MEMBERS.filter((name) => !VERSION_MEMBERS.includes(name));
  const addresses = [
    '127.0.0.77',
    '1.2.3.4',
    'ip_192.168.1.20',
    'v192.168.1.20x',
    '192.168.1.20-lan',
    '１９２.１６８.１.２０',
    'at 192.168.1.20:8080',
    '(8.8.8.8)',
  ];
  expect(leaks(addresses, others)).toEqual([]);
  expect(storingMembers('1.2.3.4', VERSION_MEMBERS)).toEqual(VERSION_MEMBERS);
});

test.each([
  ['127.0.0.77:80'],
  ['ip.192.168.1.20:80'],
  [`${hash('md5', 'x')}:7`],
  [`app.${id}:7`],
  ['00-1A-2B-3C-4D-5E:7'],
  ['app.001a.2b3c.4d5e:7'],
  ['www.example.com:80'],
  ['mail.example.com:443'],
  ['localhost:3000'],
  ['jane＠example.com:12'],
  ['jane%40example.com:12'],
  ['／Users／jane／x.py:12'],
  ['%2FUsers%2Fjane%2Fx.py:12'],
  ['１９２.１６８.１.２０:80'],
  ['192。168。1。20:80'],
  ['janes-macbook.lan:7'],
  ['janes-macbook:7'],
  ['janes_macbook:7'],
  ['macbook.lan:7'],
  ['nas.home:7'],
  ['db.internal:7'],
])('%s is dropped as crash_frame, although it ends with a line number', (crash_frame) => {
  expect(storingMembers(crash_frame, ['crash_frame'])).toEqual([]);
});
