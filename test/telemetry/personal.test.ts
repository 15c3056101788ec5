import { expect, test } from '@jest/globals';
import { hash } from 'node:crypto';
import { TELEMETRY_FIELDS, TELEMETRY_NAMES } from '../../src/telemetry/telemetry.fields.js';
import { Service } from '../support/harness.js';

const service = await Service.start();
const token: string = (await service.activate(await service.issue())).json.token;

const TEXT_MEMBERS: string[] = TELEMETRY_NAMES.filter((name) => TELEMETRY_FIELDS[name].type === 'text');
/** The members in which `1.2.3.4` is a version. */
const VERSION_MEMBERS = ['app_version', 'os_version', 'crash_app_version'];

/** Sends a block. @returns the dropped members and the stored row */
async function send(block: object): Promise<{ dropped: string[]; row: Record<string, unknown> }> {
  const { status, json } = await service.heartbeat(token, { telemetry: block });
  expect([status, json.telemetry.stored]).toEqual([200, true]);
  const [row] = await service.sql<Record<string, unknown>>('delete from telemetry_inbox returning *');
  return { dropped: json.telemetry.dropped, row: row! };
}

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

/** Sends each value in all of these members. @returns each value that a member stored, with the member */
async function findLeaks(values: string[], members: string[]): Promise<string[]> {
  const found: string[] = [];
  for (const value of values) {
    const { dropped, row } = await send(Object.fromEntries(members.map((name) => [name, value])));
    const storing = members.filter((name) => row[name] !== null);
    expect(new Set([...storing, ...dropped])).toEqual(new Set(members));
    found.push(...storing.map((name) => `${value} in ${name}`));
  }
  return found;
}

test.each(Object.entries(PERSONAL))('%s is dropped in every text member', async (_what, values) => {
  expect(await findLeaks(values, TEXT_MEMBERS)).toEqual([]);
});

test('an IPv4 address is dropped in every text member except versions', async () => {
  const others = TEXT_MEMBERS.filter((name) => !VERSION_MEMBERS.includes(name));
  const addresses = [
    '127.0.0.77',
    '1.2.3.4',
    'ip_192.168.1.20',
    'v192.168.1.20x',
    '192.168.1.20-lan',
    '１９２.１６８.１.２０',
  ];
  expect(await findLeaks([...addresses, 'at 192.168.1.20:8080', '(8.8.8.8)'], others)).toEqual([]);
  expect(await findLeaks(['1.2.3.4'], VERSION_MEMBERS)).toHaveLength(3);
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
])('%s is dropped as crash_frame, although it ends with a line number', async (crash_frame) => {
  const { dropped, row } = await send({ crash_frame });
  expect({ dropped, stored: row['crash_frame'] }).toEqual({ dropped: ['crash_frame'], stored: null });
});
