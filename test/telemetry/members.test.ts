import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { TELEMETRY_NAMES } from '../../src/telemetry/telemetry.fields.js';
import { anyText } from '../support/any-text.js';
import { Service } from '../support/harness.js';
import { readOpenApi } from '../support/http/openapi.js';

const service = await Service.start();
const { token } = await service.issueActivated();

/** Sends a block. @returns the dropped members and the stored row */
async function send(block: object): Promise<{ dropped: string[]; row: Record<string, unknown> }> {
  const { status, json } = await service.heartbeat(token, { telemetry: block });
  expect([status, json.telemetry.stored]).toEqual([200, true]);
  const [row, ...more] = await service.sql<Record<string, unknown>>(
    'delete from telemetry_inbox returning *',
  );
  expect(more).toEqual([]);
  return { dropped: json.telemetry.dropped, row: row! };
}

/**
 * The members with this schema in docs/openapi.yaml, separated by spaces. `app_version` and `crash_app_version` are left out,
 * because they have more rules.
 */
function membersOf(schema: string): string {
  const document = readOpenApi() as {
    components: { schemas: { Telemetry: { properties: Record<string, { $ref?: string }> } } };
  };
  const members = Object.entries(document.components.schemas.Telemetry.properties);
  return members
    .filter(([name, { $ref }]) => $ref?.endsWith(`/${schema}`) && !name.endsWith('app_version'))
    .map(([name]) => name)
    .join(' ');
}
const COUNT_MEMBERS = membersOf('TelemetryCount');
const NAME_MEMBERS = membersOf('TelemetryName');
const TEXT_MEMBERS = membersOf('TelemetryText');

/** Valid values by members. They are stored exactly as they were sent. */
const VALID: Record<string, unknown[]> = {
  [COUNT_MEMBERS]: [0, 1, 2_147_483_647],
  [NAME_MEMBERS]: ['arm64', 'x86_64', 'not_needed', 'faulting-thread', 'cpu+ne', '0', 'a.b', 'x'.repeat(40)],
  [TEXT_MEMBERS]: [
    'Apple M3 Max',
    'NULL',
    'null',
    `quotes " ' and {braces}, [lists]; $1 %s`,
    'Intel(R) Core(TM) i9-9880H CPU @ 2.30GHz',
    'AMD Ryzen 7 7840HS w/ Radeon 780M Graphics',
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
    'boost::beast::http::error',
    'data::ParseError',
    'boost::wrapexcept<std::out_of_range>',
    'libdispatch.dylib',
    'KeyError',
  ],
  crash_signal: ['SIGSEGV', 'EXC_BAD_ACCESS (SIGABRT)', 'Trace/BPT trap: 5', 'Trace/breakpoint trap'],
  crash_frame: ['app.detector.run:120', 'main:1', 'a.b.<lambda>:7'],
  crash_sig: ['0123456789abcdef'],
  crash_kind: ['native', 'python', 'unknown'],
  detector_compute: ['ane', 'gpu'],
  app_version: ['3', '3.2', '3.2.0', '1.2.3.4', '9'.repeat(32)],
  crash_app_version: ['3.2.0', '1.2.3.4', '3.2.0+456', '3.2.0 (456)', '3.2.0-beta.1', '3.2.0.456'],
};

const NOT_A_STRING = [null, 7, true, [], ['arm64'], {}, { a: 'arm64' }];
const BLANK_OR_UNSTORABLE = ['', ' ', '\t\n', 'a\0', '\0', '\ud83d', '\ude00x'];

/** Invalid values by members. They are stored as null and reported as dropped. */
const INVALID: Record<string, unknown[]> = {
  [COUNT_MEMBERS]: [-1, 2_147_483_648, 1.5, 1e300, '8', '', null, true, [], [1], {}],
  [TEXT_MEMBERS]: [...NOT_A_STRING, ...BLANK_OR_UNSTORABLE, 'x'.repeat(121)],
  [NAME_MEMBERS]: [
    ...NOT_A_STRING,
    ...BLANK_OR_UNSTORABLE,
    'two words',
    '-x',
    '.x',
    '_x',
    'x'.repeat(41),
    'ü',
    'x,y',
    'x\n',
    ' x',
  ],
  detector_compute: [...NOT_A_STRING, ...BLANK_OR_UNSTORABLE, 'ANE', 'cpu', 'ane ', 'gpu\n', 'toString'],
  crash_kind: [...NOT_A_STRING, ...BLANK_OR_UNSTORABLE, 'Native', 'java', 'native,python'],
  crash_sig: [
    ...NOT_A_STRING,
    ...BLANK_OR_UNSTORABLE,
    '0123456789abcde',
    '0123456789abcdef0',
    '0123456789abcdeg',
    ' 0123456789abcdef',
  ],
  crash_frame: [
    ...NOT_A_STRING,
    ...BLANK_OR_UNSTORABLE,
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
  app_version: [
    ...NOT_A_STRING,
    ...BLANK_OR_UNSTORABLE,
    'v3',
    '3.2.0+456',
    '1.2.3.4.5',
    '3.2\n',
    '9'.repeat(33),
  ],
  crash_app_version: [
    ...NOT_A_STRING,
    ...BLANK_OR_UNSTORABLE,
    'v3',
    'x',
    '3.2.0 of Ada Lovelace',
    '3.2\n',
    '9'.repeat(33),
  ],
};

/** The values of each member, from all rows of a table. */
function byMember(table: Record<string, unknown[]>): [member: string, values: unknown[]][] {
  const found: Record<string, unknown[]> = {};
  for (const [members, values] of Object.entries(table)) {
    for (const member of members.split(' ')) (found[member] ??= []).push(...values);
  }
  return Object.entries(found);
}

/** Sends each value in a block of its own, also as an unknown member. @returns what was dropped and stored of each */
async function sendEach(member: string, values: unknown[]): Promise<unknown[]> {
  const found: unknown[] = [];
  for (const value of values) {
    const { dropped, row } = await send({ [member]: value, [`${member}_`]: value });
    found.push({ value, dropped, stored: row[member] });
  }
  return found;
}

test.each(byMember(VALID))('%s stores each valid value as it was sent', async (member, values) => {
  const stored = values.map((value) => ({ value, dropped: [], stored: value }));
  expect(await sendEach(member, values)).toEqual(stored);
});

test.each(byMember(INVALID))(
  '%s is stored as null and reported as dropped for each invalid value',
  async (member, values) => {
    const dropped = values.map((value) => ({ value, dropped: [member], stored: null }));
    expect(await sendEach(member, values)).toEqual(dropped);
  },
);

test('the length of a text is counted in characters, not in UTF-16 units', async () => {
  expect((await send({ soc_name: '🖥'.repeat(120) })).dropped).toEqual([]);
  expect((await send({ soc_name: '🖥'.repeat(121) })).dropped).toEqual(['soc_name']);
});

test('a number that is too large for a double is dropped', async () => {
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
])('%s stores names of code and versions that resemble personal data', async (member, values) => {
  for (const value of values) {
    const { dropped, row } = await send({ [member]: value });
    expect([dropped, row[member]]).toEqual([[], value]);
  }
});

const name = fc.constantFrom(...TELEMETRY_NAMES);
/**
 * Random texts, texts with characters (and the word NULL) that are special in arrays, SQL statements or patterns, texts with NUL
 * and halves of surrogate pairs, and texts in or near the formats of `crash_sig` and `crash_frame`.
 */
const text = fc.oneof(
  anyText({ maxLength: 130 }),
  fc.string({ unit: fc.constantFrom(...'"\'{},\\ ();$%\n\t|*?[]^NUL0a'), maxLength: 20 }),
  fc.string({ unit: fc.constantFrom('\0', '\ud83d', '\ude00', 'a'), maxLength: 4 }),
  fc.stringMatching(/^[0-9a-fA-F]{14,18}$/),
  fc.stringMatching(/^[\w.]{1,40}:\d{1,5}$/),
);
const number = fc.oneof(fc.integer(), fc.double(), fc.maxSafeInteger());
const value = fc.oneof(text, number, fc.jsonValue());
const block = fc.dictionary(fc.oneof({ weight: 9, arbitrary: name }, text), value, { maxKeys: 24 });

const RUNS = { numRuns: 200 };

test('the heartbeat is confirmed with any value of telemetry', async () => {
  await fc.assert(
    fc.asyncProperty(fc.jsonValue({ maxDepth: 8 }), async (telemetry) => {
      const { status, json } = await service.heartbeat(token, { telemetry });
      const rows = await service.sql('delete from telemetry_inbox returning *');
      expect([status, json.telemetry]).toEqual([
        200,
        { stored: rows.length === 1, dropped: expect.any(Array) },
      ]);
    }),
    RUNS,
  );
});

test('each member of a block is stored as it was sent, or as null and reported as dropped', async () => {
  await fc.assert(
    fc.asyncProperty(block, async (telemetry) => {
      const { dropped, row } = await send(telemetry);
      for (const member of TELEMETRY_NAMES) {
        const stored = row[member];
        const isDropped = dropped.includes(member);
        // The value after JSON, which writes numbers such as Infinity as null.
        const sent = JSON.parse(JSON.stringify({ ...telemetry }))[member] as unknown;
        const expected = member === 'crash_sig' && typeof sent === 'string' ? sent.toLowerCase() : sent;
        if (sent === undefined) expect([stored, isDropped]).toEqual([null, false]);
        else expect([stored, isDropped]).toEqual(isDropped ? [null, true] : [expected, false]);
      }
    }),
    RUNS,
  );
});
