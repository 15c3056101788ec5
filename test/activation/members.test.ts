import { describe, expect, test } from '@jest/globals';
import { activation, machineId, Service } from '../support/harness.js';

const service = await Service.start();
const license = await service.issue({ machines_allowed: 100_000 });

const MACHINE_ID = machineId('studio');
const NOT_A_STRING = { 'a number': 7, true: true, 'a list': ['MOOR'], 'an object': { text: 'MOOR' } };
/** Changes a valid text so that PostgreSQL cannot store it. */
const unstorable = (text: string) => ({
  'a NUL at the end': `${text}\0`,
  'a NUL at the start': `\0${text}`,
  'a high surrogate alone': `${text}\ud83d`,
  'a low surrogate alone': `\ude00${text}`,
  'a surrogate pair in reverse order': `${text}\ude00\ud83d`,
});
/** Values that are invalid for each required member. */
const INVALID_IF_REQUIRED = { absent: undefined, null: null, empty: '', blank: '   ', ...NOT_A_STRING };

/** Invalid values of each member. */
const INVALID: Record<string, Record<string, unknown>> = {
  license_key: {
    ...INVALID_IF_REQUIRED,
    ...unstorable('MOOR_E6S7-Z8KJ-TB3R-QKX6'),
    'a prefix of one letter': 'M_E6S7-Z8KJ-TB3R-QKX6',
    'a prefix of thirteen letters': 'MMMMMMMMMMMMM_E6S7-Z8KJ-TB3R-QKX6',
    'three groups': 'MOOR_E6S7-Z8KJ-TB3R',
    'five groups': 'MOOR_E6S7-Z8KJ-TB3R-QKX6-QKX6',
    'a group of five symbols': 'MOOR_E6S7-Z8KJ-TB3R-QKX66',
    'two keys': 'MOOR_E6S7-Z8KJ-TB3R-QKX6\nMOOR_XETP-VSQH-G69E-Z4GQ',
    'a letter that only becomes I in upper case': 'MOOR_E6S7-Z8KJ-TB3R-QKXı',
    'a letter that only becomes S in upper case': 'MOOR_E6ſ7-Z8KJ-TB3R-QKX6',
    'a Cyrillic letter that looks like E': 'MOOR_Е6S7-Z8KJ-TB3R-QKX6',
    'ten thousand characters': `MOOR_${'E6S7-'.repeat(2000)}`,
  },
  email: {
    ...INVALID_IF_REQUIRED,
    ...unstorable('ada@example.com'),
    'no @': 'ada.example.com',
    'two @': 'ada@eve@example.com',
    'nothing before the @': '@example.com',
    'nothing after the @': 'ada@',
    'a space inside': 'ada @example.com',
    'two lines': 'ada@example.com\neve@example.com',
    '255 characters': `${'a'.repeat(243)}@example.com`,
  },
  machine_id: {
    ...INVALID_IF_REQUIRED,
    ...unstorable(MACHINE_ID),
    '63 digits': MACHINE_ID.slice(1),
    '65 digits': `${MACHINE_ID}0`,
    'a letter past f': `${MACHINE_ID.slice(1)}g`,
    '0x in place of the first two digits': `0x${MACHINE_ID.slice(2)}`,
    'a raw UUID': '564D0A3B-0000-4000-8000-000000000001',
    'spaces around the digits': ` ${MACHINE_ID} `,
    'a line end after the digits': `${MACHINE_ID}\n`,
    'a full-width digit': `${MACHINE_ID.slice(1)}７`,
  },
  hostname_hint: {
    ...NOT_A_STRING,
    ...unstorable('Studio Mac'),
    '101 characters': 'x'.repeat(101),
    '101 characters of two UTF-16 units each': '🖥'.repeat(101),
    'fifteen thousand characters': 'x'.repeat(15_000),
  },
  app_version: {
    ...INVALID_IF_REQUIRED,
    ...unstorable('3.2'),
    'a v at the start': 'v3.2',
    'a build part': '3.2.0+456',
    'a pre-release': '3.2-beta',
    'a point at the end': '3.2.',
    'a point at the start': '.3',
    'an empty part': '3..2',
    'five parts': '1.2.3.4.5',
    'a minus sign': '-1',
    'spaces around the version': ' 3.2 ',
    'a line end after the version': '3.2\n',
    'Arabic digits': '٣.٢',
    '33 characters': `1.${'0'.repeat(31)}`,
  },
};
const CASES = Object.entries(INVALID).flatMap(([member, values]) =>
  Object.entries(values).map(([what, value]) => ({ member, what, value })),
);

const post = (members: Record<string, unknown>) =>
  service.call('POST', '/v1/activate', activation(license, 'studio', members));

test.each(CASES)('an invalid $member is refused with 422: $what', async ({ member, value }) => {
  const answer = await post({ [member]: value });
  expect(answer.status).toBe(422);
  expect(answer.json).toMatchObject({ code: 'invalid_request', client_action: 'fix' });
  expect(answer.json.errors).toEqual([
    // A detail is one line of readable length.
    { pointer: `/${member}`, detail: expect.stringMatching(/^\w.{8,80}$/) },
  ]);
  // A response may contain a very short value by chance.
  if (typeof value === 'string' && value.length > 4) expect(answer.text).not.toContain(value.slice(0, 100));
});

test('no request with an invalid member created an activation', async () => {
  expect(await service.sql('select id from activation')).toEqual([]);
});

test('each invalid member is reported', async () => {
  const pointers = async (body: unknown) =>
    (await service.call('POST', '/v1/activate', body)).json.errors.map(
      ({ pointer }: { pointer: string }) => pointer,
    );
  expect(await pointers({})).toEqual(['/license_key', '/email', '/machine_id', '/app_version']);
  const wrong = { email: 7, machine_id: 'x', hostname_hint: 'y'.repeat(101) };
  expect(await pointers(activation(license, 'studio', wrong))).toEqual([
    '/email',
    '/machine_id',
    '/hostname_hint',
  ]);
});

describe('hostname_hint', () => {
  let machines = 0;
  /** Activates another machine with this hint. @returns the stored hint */
  const activateWithHint = async (hostname_hint: unknown) => {
    const answer = await service.activate(license, `hint ${(machines += 1)}`, { hostname_hint });
    expect(answer.status).toBe(201);
    const { id, hostname_hint: returned } = answer.json.activation;
    const [row] = await service.sql('select hostname_hint from activation where id = $1', [id]);
    expect(row).toEqual({ hostname_hint: returned });
    return returned;
  };

  test.each([
    ['absent', undefined],
    ['null', null],
    ['empty', ''],
    ['blank', ' \t\u00a0\u2003 '],
    ['only characters that are removed', '\u0007\u202e\u2066\u200f\n'],
  ])('is stored as null if it is %s', async (_what, typed) => {
    expect(await activateWithHint(typed)).toBeNull();
  });

  test.each([
    ['as it was typed', "Ada's Mac <b>& 'co'</b> 💻", "Ada's Mac <b>& 'co'</b> 💻"],
    ['trimmed', '  Studio Mac \n', 'Studio Mac'],
    ['in NFC', 'Cafe\u0301', 'Café'],
    ['without control characters', 'Stu\u0007dio\u001b[31m\u007f\u0085 Mac\n', 'Studio[31m Mac'],
    ['without bidi characters', 'a\u061cb\u200ec\u200fd\u202ae\u202ef\u2066g\u2069', 'abcdefg'],
    ['in NFC, also after the removal of a character', 'Cafe\u0007\u0301', 'Café'],
    ['with the joiners that emoji and scripts need', '👩\u200d💻 نامه\u200cها', '👩\u200d💻 نامه\u200cها'],
    ['up to 100 characters', 'x'.repeat(100), 'x'.repeat(100)],
    ['up to 100 characters of two UTF-16 units each', '🖥'.repeat(100), '🖥'.repeat(100)],
    [
      'up to 100 characters, without counting removed ones',
      ` ${'e\u0301'.repeat(100)}\u202e `,
      'é'.repeat(100),
    ],
  ])('is stored %s', async (_what, typed, stored) => {
    expect(await activateWithHint(typed)).toBe(stored);
  });

  test('is set at the activation, and no later activation or heartbeat changes it', async () => {
    const first = await service.activate(license, 'once', { hostname_hint: 'Studio Mac' });
    const none = await service.activate(license, 'none');
    for (const hostname_hint of ['Renamed', '', null]) {
      await service.activate(license, 'once', { hostname_hint });
      await service.activate(license, 'none', { hostname_hint });
      await service.heartbeat(first.json.token, { hostname_hint, telemetry: { hostname_hint } });
    }
    const rows = await service.sql('select hostname_hint from activation where id in ($1, $2) order by id', [
      first.json.activation.id,
      none.json.activation.id,
    ]);
    expect(rows).toEqual([{ hostname_hint: 'Studio Mac' }, { hostname_hint: null }]);
  });
});
