import { afterAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { Service } from '../support/harness.js';
import { exchange, expectProblem } from '../support/http/raw-http.js';
import { end, PURCHASES_PATH, report, signatureHeaders, PURCHASE_SETTINGS } from '../support/http/webhook.js';
import { everyRow } from '../support/tables.js';

const BODY_LIMIT_BYTES = 64 * 1024;

const service = await Service.start({ environment: PURCHASE_SETTINGS });
afterAll(() => end(service));

const purchaseCount = async () => (await service.sql('select from purchase')).length;

let count = 0;
const newReport = (more: Record<string, unknown> = {}) => {
  const transaction_id = `tx-${(count += 1)}`;
  return JSON.stringify({
    ...more,
    transaction_id,
    email: `${transaction_id}@buyer.example`,
    status: 'paid',
  });
};

test.each(['', ' ', '{', '{}{}', 'null', '1', '"paid"', '[]', '[{"status":"paid"}]', 'undefined'])(
  'a body that is not a JSON object is refused with 400: %j',
  async (body) => {
    const { status, json } = await report(service, body);
    expect([status, json.code]).toEqual([400, 'malformed_request']);
  },
);

test('a body that is not UTF-8 is refused with 400, even if its text with replacement characters has a valid signature', async () => {
  const before = await purchaseCount();
  for (const bytes of ['ff', 'c0af', 'eda080', 'e282']) {
    const body = Buffer.from(newReport({ x: '#' }).replace('#', '\xff'), 'latin1');
    const broken = Buffer.concat([
      body.subarray(0, body.indexOf(0xff)),
      Buffer.from(bytes, 'hex'),
      body.subarray(body.indexOf(0xff) + 1),
    ]);
    const { status, json } = await service.call('POST', PURCHASES_PATH, broken, {
      ...signatureHeaders(broken.toString()),
      'content-type': 'application/json',
    });
    expect([status, json.code]).toEqual([400, 'malformed_request']);
  }
  expect(await purchaseCount()).toBe(before);
});

test('a body that is not UTF-8 does not count towards the limit of wrong signatures', async () => {
  const body = Buffer.concat([Buffer.from('{"x":"'), Buffer.of(0xff), Buffer.from('"}')]);
  // After 60 wrong signatures in a minute the answer would be 429.
  for (let sent = 0; sent < 61; sent += 1) {
    const { status, json } = await report(service, body, { secret: 'AAAA' });
    expect([status, json.code]).toEqual([400, 'malformed_request']);
  }
  const { status, json } = await report(service, newReport(), { secret: 'AAAA' });
  expect([status, json.code]).toEqual([403, 'webhook_signature_invalid']);
});

test.each([
  ['a NUL and text', '"\\u0000nowhere"'],
  ['a NUL alone', '"\\u0000"'],
  ['a high surrogate alone', '"\\ud83dnowhere@buyer.example"'],
  ['a low surrogate alone', '"\\ude00nowhere@buyer.example"'],
  ['an object', '{"nowhere":[0]}'],
])('a refund with an invalid address is recorded without the address: %s', async (_what, address) => {
  const { transaction_id, email } = JSON.parse(newReport()) as Record<string, string>;
  expect((await report(service, { transaction_id, email, status: 'paid' })).status).toBe(204);
  for (const id of [transaction_id, `${transaction_id}-unpaid`]) {
    const body = `{"transaction_id":"${id}","status":"refunded","email":${address}}`;
    expect((await report(service, body)).status).toBe(204);
  }
  const sql =
    'select state, email from purchase where starts_with(transaction_id, $1) order by transaction_id';
  expect(await service.sql(sql, [transaction_id])).toEqual([
    { state: 'refunded', email },
    { state: 'refunded', email: null },
  ]);
  const recorded = [...(await everyRow(service.database)), ...service.logged];
  expect(recorded.filter((text) => text.includes('nowhere'))).toEqual([]);
});

test('a body over 64 KiB is refused with 413, with a content-length or chunked, and on the routes of clients a body over 16 KiB', async () => {
  const filled = (size: number) => {
    const body = newReport({ x: '#' });
    return body.replace('#', 'x'.repeat(size + 1 - body.length));
  };
  for (const size of [60 * 1024, BODY_LIMIT_BYTES]) {
    const body = filled(size);
    expect([body.length, (await report(service, body)).status]).toEqual([size, 204]);
  }
  const before = await purchaseCount();
  for (const size of [BODY_LIMIT_BYTES + 1, 10 * BODY_LIMIT_BYTES]) {
    const { status, json } = await report(service, filled(size));
    expect([status, json.code]).toEqual([413, 'body_too_large']);
  }
  const body = filled(BODY_LIMIT_BYTES + 1);
  const headers = Object.entries({
    host: 'x',
    'content-type': 'application/json',
    'transfer-encoding': 'chunked',
    ...signatureHeaders(body),
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  const [answer] = await exchange(service.url, [
    `POST ${PURCHASES_PATH} HTTP/1.1\r\n${headers.join('')}\r\n`,
    `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
  ]);
  expectProblem(answer!, 'body_too_large');
  expect(await purchaseCount()).toBe(before);
  for (const path of ['/v1/activate', '/v1/heartbeat'])
    expect((await service.call('POST', path, { x: 'x'.repeat(16 * 1024) })).status).toBe(413);
});

test.each([
  ['text/plain', 'identity'],
  ['application/x-www-form-urlencoded', 'identity'],
  ['application/json; charset=latin1', 'identity'],
  ['application/json', 'gzip'],
])(
  'a body that is not declared as uncompressed JSON in UTF-8 is refused with 415: %s, %s',
  async (type, encoding) => {
    const body = newReport();
    const headers = { ...signatureHeaders(body), 'content-type': type, 'content-encoding': encoding };
    expect((await service.call('POST', PURCHASES_PATH, body, headers)).status).toBe(415);
  },
);

const status = fc.constantFrom('paid', 'disputed', 'dispute_won', 'refunded');
const text = fc.string({ unit: 'binary', maxLength: 12 });
const anything = fc.oneof(text, fc.jsonValue({ maxDepth: 3 }));
/** Random bodies: valid reports, reports with invalid members, and other JSON values. */
const bodies = fc.oneof(
  fc.record(
    {
      transaction_id: fc.oneof(fc.constantFrom('a', 'b', 'c'), text, anything),
      email: fc.oneof(fc.constant('ada@buyer.example'), fc.emailAddress(), anything),
      status: fc.oneof({ weight: 4, arbitrary: status }, anything),
      other: anything,
    },
    { requiredKeys: [] },
  ),
  anything,
);

test('every signed body is recorded or refused, and never causes an internal error', async () => {
  await fc.assert(
    fc.asyncProperty(bodies, async (body) => {
      const answer = await report(service, JSON.stringify(body));
      expect([204, 400, 422]).toContain(answer.status);
    }),
    { numRuns: 150 },
  );
  expect(service.logged.filter((line) => /"level":[56]0/.test(line))).toEqual([]);
});
