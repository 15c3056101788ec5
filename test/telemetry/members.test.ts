import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Service } from '../support/harness.js';
import { readOpenApi } from '../support/http/openapi.js';

let service: Service;
let token: string;
beforeAll(async () => {
  service = await Service.start();
  token = (await service.activate(await service.issue())).json.token;
});
afterAll(() => service.close());

/** Sends a block, and returns what was answered and what was stored of it. */
async function send(block: object): Promise<{ dropped: string[]; row: Record<string, unknown> }> {
  const { status, json } = await service.heartbeat(token, { telemetry: block });
  expect([status, json.telemetry.stored]).toEqual([200, true]);
  const [row] = await service.sql<Record<string, unknown>>('delete from telemetry_inbox returning *');
  return { dropped: json.telemetry.dropped, row: row! };
}

/** The members of a shape, separated by spaces, as docs/openapi.yaml lists them; versions are texts with more rules. */
function membersOf(shape: string): string {
  const document = readOpenApi() as {
    components: { schemas: { Telemetry: { properties: Record<string, { $ref?: string }> } } };
  };
  const members = Object.entries(document.components.schemas.Telemetry.properties);
  return members
    .filter(([name, { $ref }]) => $ref?.endsWith(`/${shape}`) && !name.endsWith('app_version'))
    .map(([name]) => name)
    .join(' ');
}
const COUNTS = membersOf('TelemetryCount');
const WORDS = membersOf('TelemetryName');
const TEXTS = membersOf('TelemetryText');

/** Values that fit, by the members they fit: each is stored exactly as it was sent. */
const FITTING: Record<string, unknown[]> = {
  [COUNTS]: [0, 1, 2_147_483_647],
  [WORDS]: ['arm64', 'x86_64', 'not_needed', 'faulting-thread', 'cpu+ne', '0', 'a.b', 'x'.repeat(40)],
  [TEXTS]: [
    'Apple M3 Max',
    'NULL',
    'null',
    `quotes " ' and {braces}, [lists]; $1 %s`,
    'Intel(R) Core(TM) i9-9880H CPU @ 2.30GHz',
    'Standard PC (Q35 + ICH9, 2009)',
    'Größe: 16–32 ГБ 内存',
    'x'.repeat(120),
  ],
  os_version: [
    'Debian GNU/Linux 12 (bookworm)',
    'GNU/Linux',
    'Windows 11 Pro 23H2 (10.0.22631.4460)',
    'Linux 6.8.0-45-generic',
    '1.2.3.4',
  ],
  mac_model: ['MacBookPro18,3', 'Raspberry Pi 4 Model B Rev 1.4', 'To be filled by O.E.M.'],
  crash_label: [
    'std::bad_alloc',
    'cv::Exception',
    'boost::wrapexcept<std::out_of_range>',
    'libdispatch.dylib',
    'KeyError',
  ],
  crash_signal: ['SIGSEGV', 'EXC_BAD_ACCESS (SIGABRT)'],
  crash_frame: ['app.detector.run:120', 'main:1', 'a.b.<lambda>:7'],
  crash_sig: ['0123456789abcdef'],
  crash_kind: ['native', 'python', 'unknown'],
  detector_compute: ['ane', 'gpu'],
  app_version: ['3', '3.2', '3.2.0', '1.2.3.4', '9'.repeat(32)],
  crash_app_version: ['3.2.0', '1.2.3.4', '3.2.0+456', '3.2.0 (456)', '3.2.0-beta.1', '3.2.0.456'],
};

const NO_TEXT = [null, 7, true, [], ['arm64'], {}, { a: 'arm64' }];
const NO_VALUE = ['', ' ', '\t\n', 'a\0', '\0', '\ud83d', '\ude00x'];

/** Values that do not fit, by the members they do not fit: each is stored as null and named. */
const WRONG: Record<string, unknown[]> = {
  [COUNTS]: [-1, 2_147_483_648, 1.5, 1e300, '8', '', null, true, [], [1], {}],
  [TEXTS]: [...NO_TEXT, ...NO_VALUE, 'x'.repeat(121)],
  [WORDS]: [...NO_TEXT, ...NO_VALUE, 'two words', '-x', '.x', '_x', 'x'.repeat(41), 'ü', 'x,y', 'x\n', ' x'],
  detector_compute: [...NO_TEXT, ...NO_VALUE, 'ANE', 'cpu', 'ane ', 'gpu\n', 'toString'],
  crash_kind: [...NO_TEXT, ...NO_VALUE, 'Native', 'java', 'native,python'],
  crash_sig: [
    ...NO_TEXT,
    ...NO_VALUE,
    '0123456789abcde',
    '0123456789abcdef0',
    '0123456789abcdeg',
    ' 0123456789abcdef',
  ],
  crash_frame: [
    ...NO_TEXT,
    ...NO_VALUE,
    'app.run',
    'app.run:',
    ':120',
    'app.run:x',
    'app.run:-1',
    'app.run:1:2',
    'app/run:1',
    '-[AppDelegate.run]:9',
    'app\\run:1',
    'app run:1',
    'ada@run:1',
    'app.run: 1',
    'app.run:1\n',
    `${'x'.repeat(119)}:1`,
  ],
  app_version: [...NO_TEXT, ...NO_VALUE, 'v3', '3.2.0+456', '1.2.3.4.5', '3.2\n', '9'.repeat(33)],
  crash_app_version: [...NO_TEXT, ...NO_VALUE, 'v3', 'x', '3.2.0 of Ada Lovelace', '3.2\n', '9'.repeat(33)],
};

/** The values of each member, over all rows of a table. */
function byMember(table: Record<string, unknown[]>): [member: string, values: unknown[]][] {
  const found: Record<string, unknown[]> = {};
  for (const [members, values] of Object.entries(table)) {
    for (const member of members.split(' ')) (found[member] ??= []).push(...values);
  }
  return Object.entries(found);
}

/** What became of each value, sent alone as this member. */
async function fates(member: string, values: unknown[]): Promise<unknown[]> {
  const found: unknown[] = [];
  for (const value of values) {
    const { dropped, row } = await send({ [member]: value, [`${member}_`]: value });
    found.push({ value, dropped, stored: row[member] });
  }
  return found;
}

test.each(byMember(FITTING))('%s keeps each value that fits, as it was sent', async (member, values) => {
  const kept = values.map((value) => ({ value, dropped: [], stored: value }));
  expect(await fates(member, values)).toEqual(kept);
});

test.each(byMember(WRONG))('%s drops each value that does not fit, and is named', async (member, values) => {
  const lost = values.map((value) => ({ value, dropped: [member], stored: null }));
  expect(await fates(member, values)).toEqual(lost);
});

test('a text is measured in characters, not in units', async () => {
  expect((await send({ soc_name: '🖥'.repeat(120) })).dropped).toEqual([]);
  expect((await send({ soc_name: '🖥'.repeat(121) })).dropped).toEqual(['soc_name']);
});

test('a number too great for JSON to hold is dropped', async () => {
  const body = `{"token":"${token}","app_version":"3.2","telemetry":{"cpu_cores":1e999,"camera_count":-1e999}}`;
  const { json } = await service.call('POST', '/v1/heartbeat', body);
  expect(json.telemetry).toEqual({ stored: true, dropped: ['cpu_cores', 'camera_count'] });
  await service.sql('truncate telemetry_inbox');
});

test.each([
  [
    'crash_frame',
    [
      'app.data.loader:42',
      'app.file.open_image:7',
      'threading.local.get:12',
      'app.http:42',
      'app.x.<lambda>:1',
      'app.home.show:3',
      'Detector.Engine.run.<locals>.inner:7',
      '__main__.<module>:1',
    ],
  ],
  [
    'crash_label',
    ['data.ParseError', 'app.internal.Oops', 'std::bad_alloc', 'cc::Add', 'std::__1::bad_function_call'],
  ],
  ['crash_signal', ['SIGSEGV', '0xc0000005']],
  ['crash_app_version', ['3.2.0+451', '3.2.0 (451)', '3.2.0-rc.1+451', '3.2.0.dev0+gabc1234', '3.2.0b7']],
])('%s keeps names of code that look like a URL or a host', async (member, values) => {
  for (const value of values) {
    const { dropped, row } = await send({ [member]: value });
    expect([dropped, row[member]]).toEqual([[], value]);
  }
});
