import { afterEach, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { activation, Service, type Answer } from '../support/harness.js';
import { exchange, expectProblem } from '../support/http/raw-http.js';

/** A text in the sent values that no response and no log line may contain. */
const CANARY = 'kanari-5f1c';
/** The largest body that the routes of `bodies` accept. */
const MAX_BODY_BYTES = 16 * 1024;

/** The number of machines that `afterEach` has activated. */
let activated = 0;

const service = await Service.start();
const license = await service.issue({ machines_allowed: 10_000 });
const token = (await service.activate(license)).json.token as string;
const bearer = { authorization: `Bearer ${await service.staffToken()}` };

// After each test the service works and has logged no internal error.
afterEach(async () => {
  expect((await service.activate(license, `normal ${(activated += 1)}`)).status).toBe(201);
  expect(service.logged.filter((line) => /internal_error|framework error/.test(line))).toEqual([]);
  expect(service.logged.join('')).not.toContain(CANARY);
});

/** Routes with a request body, and a valid body for each. */
const bodies: [path: string, body: Record<string, unknown>][] = [
  ['/v1/activate', activation(license)],
  ['/v1/heartbeat', { token, app_version: '3.2.0', telemetry: { arch: 'arm64' } }],
  ['/support/api/licenses/search', { email: license.email }],
  [
    '/support/api/activations/0198f3c2-7b1a-7c3d-9e4f-a1b2c3d4e5f6/release',
    { reason: 'The machine was sold.' },
  ],
  [
    '/support/api/release-requests/0198f3c2-7b1a-7c3d-9e4f-a1b2c3d4e5f6',
    { decision: 'release', reason: 'The machine was sold.' },
  ],
  ['/support/api/session/link', { link: 'x'.repeat(43) }],
  ['/support/api/session', { response: { id: 'x', response: {} } }],
];
/** The status for a valid body of a route, if it is not 200. */
const VALID_BODY_STATUSES: [RegExp, number][] = [
  [/release/, 404],
  [/session/, 403],
];

const post = (path: string, body: unknown, headers = {}) =>
  service.call('POST', path, body, { ...bearer, ...headers });

/** Checks what all responses have in common; `call` has checked the schema of the response. */
function expectHarmless(answer: Answer): void {
  expect(answer.status).toBeLessThan(500);
  expect(answer.text).not.toContain(CANARY);
  if (answer.status >= 400) expect(answer.headers['content-type']).toMatch(/^application\/problem\+json\b/);
}

/** Any JSON, with the canary in each of its strings and member names. */
const anything = fc.jsonValue({ maxDepth: 4 }).map(marked);

function marked(value: unknown): unknown {
  if (typeof value === 'string') return `${value}${CANARY}`;
  if (Array.isArray(value)) return value.map(marked);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name + CANARY, marked(each)]));
}

test('any JSON in place of any member gets a response that contains no text of this JSON', async () => {
  const change = fc.record({
    valid: fc.constantFrom(...bodies),
    member: fc.nat({ max: 5 }),
    value: anything,
    unknown: anything,
  });
  await fc.assert(
    fc.asyncProperty(change, async ({ valid: [path, body], member, value, unknown }) => {
      const names = Object.keys(body);
      expectHarmless(await post(path, { ...body, unknown, [names[member % names.length]!]: value }));
    }),
    { numRuns: 150 },
  );
});

test('any JSON as the whole body is refused as invalid or malformed', async () => {
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...bodies), anything, async ([path], value) => {
      const answer = await post(path, JSON.stringify(value));
      expectHarmless(answer);
      const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
      expect(answer.json.code).toBe(isObject ? 'invalid_request' : 'malformed_request');
    }),
    { numRuns: 100 },
  );
});

test('any bytes as the body cause no server error', async () => {
  const bytes = fc.uint8Array({ maxLength: 200 });
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...bodies), bytes, async ([path], body) =>
      expectHarmless(await post(path, Buffer.from(body))),
    ),
    { numRuns: 100 },
  );
});

test.each([
  ['a lone continuation byte', [0x80]],
  ['an overlong slash', [0xc0, 0xaf]],
  ['half a surrogate pair in UTF-8', [0xed, 0xa0, 0x80]],
  ['beyond Unicode', [0xf4, 0x90, 0x80, 0x80]],
  ['a sequence that is cut', [0xe2, 0x82]],
  ['Latin-1', [0xfc]],
])('a body that is not UTF-8 is refused with 400: %s', async (_what, bytes) => {
  for (const [path, body] of bodies) {
    const text = Buffer.from(JSON.stringify({ ...body, unknown: '?' }));
    const at = text.lastIndexOf('?');
    const broken = Buffer.concat([text.subarray(0, at), Buffer.from(bytes), text.subarray(at + 1)]);
    expect((await post(path, broken)).json).toMatchObject({
      code: 'malformed_request',
      client_action: 'fix',
    });
  }
});

/** NUL and unpaired surrogates, as JSON escapes them. */
const UNSTORABLE = [
  String.raw`\u0000`,
  String.raw`a\u0000b`,
  String.raw`\ud800`,
  String.raw`a\udc00b`,
  String.raw`\udc00\ud800`,
];

test.each(UNSTORABLE)('a text with %s is refused with 422 and a pointer to its member', async (escaped) => {
  for (const [path, body] of [
    ...bodies,
    ['/v1/activate', activation(license, 'hinted', { hostname_hint: 'Studio' })] as const,
  ]) {
    for (const member of Object.keys(body).filter((name) => typeof body[name] === 'string')) {
      const text = JSON.stringify({ ...body, [member]: `${String(body[member])}?` });
      const answer = await post(path, text.replace('?"', `${escaped}"`));
      expect(answer.json).toMatchObject({ code: 'invalid_request', errors: [{ pointer: `/${member}` }] });
    }
  }
});

test.each(UNSTORABLE)('%s in an unknown member or in telemetry causes no refusal', async (escaped) => {
  const heartbeat = {
    token,
    app_version: '3.2.0',
    '?u': '?',
    telemetry: { arch: '?', '?': 1, cpu_cores: 8 },
  };
  const answer = await post('/v1/heartbeat', JSON.stringify(heartbeat).replaceAll('?', escaped));
  expect(answer.status).toBe(200);
  expect(answer.json.telemetry).toEqual({ stored: true, dropped: ['arch'] });
});

test.each([
  ['lists', 5_000, '[', ']'],
  ['lists', 7_000, '[', ']'],
  ['objects', 1_000, '{"a":', '}'],
  ['unclosed lists', 7_000, '[', ''],
])('%s nested %i levels deep cause no server error, in any member', async (_what, depth, left, right) => {
  const deep = `${left.repeat(depth)}${right && '1'}${right.repeat(depth)}`;
  for (const [path, body] of bodies) {
    for (const member of ['telemetry', 'unknown', '__proto__', ...Object.keys(body)]) {
      const others = Object.entries(body).filter(([name]) => name !== member);
      const members = others.map(([name, value]) => `"${name}":${JSON.stringify(value)}`);
      const answer = await post(path, `{${[...members, `"${member}":${deep}`].join(',')}}`);
      expectHarmless(answer);
      const isWrong = Object.hasOwn(body, member) && member !== 'telemetry';
      const usual = VALID_BODY_STATUSES.find(([pattern]) => pattern.test(path))?.[1] ?? 200;
      expect([path, member, answer.status]).toEqual([path, member, !right ? 400 : isWrong ? 422 : usual]);
      // Telemetry is an object, so a list is not stored. The objects are stored without a field, because `a` is unknown.
      if (answer.json.telemetry && member === 'telemetry')
        expect(answer.json.telemetry).toEqual({ stored: left === '{"a":', dropped: [] });
    }
  }
});

/** Makes the body of an activation with exactly this number of bytes. */
const filled = (size: number) => {
  const text = JSON.stringify(activation(license, 'full', { unknown: '' }));
  return text.replace('"unknown":""', `"unknown":"${'x'.repeat(size - text.length)}"`);
};

test('a body of 16 KiB is accepted; a larger one gets 413 with a content-length, in chunks, or if its length is only declared', async () => {
  expect((await post('/v1/activate', filled(MAX_BODY_BYTES))).status).toBe(201);
  for (const [path] of bodies) {
    expect((await post(path, filled(MAX_BODY_BYTES + 1))).json).toMatchObject({ code: 'body_too_large' });
  }
  const head = 'POST /v1/activate HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n';
  const chunk = `400\r\n${'x'.repeat(1024)}\r\n`;
  const [chunked] = await exchange(service.url, [
    `${head}transfer-encoding: chunked\r\n\r\n`,
    chunk.repeat(17),
  ]);
  expectProblem(chunked!, 'body_too_large');
  const [declared] = await exchange(service.url, [`${head}content-length: 99999999999\r\n\r\n`]);
  expectProblem(declared!, 'body_too_large');
});

test('if a member occurs twice, the last one counts', async () => {
  const text = JSON.stringify(activation(license, 'twice'));
  const twice = (first: string, last: string) =>
    text.replace('"app_version":"3.2.0"', `"app_version":${first},"app_version":${last}`);
  expect((await post('/v1/activate', twice('[]', '"3.2.0"'))).status).toBe(201);
  expect((await post('/v1/activate', twice('"3.2.0"', '[]'))).json.errors).toEqual([
    { pointer: '/app_version', detail: expect.any(String) },
  ]);
});

test('names such as __proto__ and constructor are unknown members, whose content has no effect', async () => {
  const body = JSON.stringify(activation(license, 'proto'));
  for (const name of ['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty']) {
    const withMember = `{"${name}":{"email":"x","prototype":{"planted":1},"planted":1},${body.slice(1)}`;
    expect((await post('/v1/activate', withMember)).status).toBeLessThan(300);
    // A member that would only be inherited counts as missing.
    expect((await post('/v1/activate', `{"${name}":${body}}`)).json.errors).toHaveLength(4);
    const heartbeat = `{"token":"${token}","app_version":"3.2.0","telemetry":{"${name}":{"arch":"arm64"},"cpu_cores":8}}`;
    expect((await post('/v1/heartbeat', heartbeat)).json.telemetry).toEqual({ stored: true, dropped: [] });
  }
  expect(({} as Record<string, unknown>)['planted']).toBeUndefined();
});

test.each([
  'text/plain',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x',
  'text/json',
  'application/jsonp',
  'application/problem+json',
  ';;;/',
  '*/*',
])('a body that is declared as %s is refused with 415', async (type) => {
  for (const [path, body] of bodies) {
    const answer = await post(path, JSON.stringify(body), { 'content-type': type });
    expect(answer.json).toMatchObject({ code: 'unsupported_media_type' });
  }
});

test('an empty or missing body, white space, or text that is no JSON object is refused with 400', async () => {
  for (const [path] of bodies) {
    for (const body of ['', undefined, ' ', 'null', '[]', '1', '"a"', '{', '{}{}', '\uFEFF{"a":1']) {
      expect((await post(path, body)).json).toMatchObject({ code: 'malformed_request' });
    }
  }
});

test.each([
  'application/json',
  'application/json; charset=utf-8',
  'application/json;charset="UTF-8"',
  'application/json; charset=UTF-8; profile=x',
  'application/json; profile="x"',
])('JSON that is declared as %s is read', async (type) => {
  const { json } = await service.call('POST', '/v1/activate', '{}', { 'content-type': type });
  expect(json.code).toBe('invalid_request');
});

test.each([
  [{ 'content-type': 'application/json; charset=utf-16' }],
  [{ 'content-type': 'application/json; charset=latin1' }],
  [{ 'content-encoding': 'gzip' }],
])('a body that is not declared as plain UTF-8 is refused with 415: %p', async (headers) => {
  const { json } = await service.call('POST', '/v1/activate', '{}', headers);
  expect(json.code).toBe('unsupported_media_type');
});
