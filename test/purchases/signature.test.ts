import { randomBytes } from 'node:crypto';
import { afterAll, afterEach, describe, expect, jest, test } from '@jest/globals';
import { Service, type Answer } from '../support/harness.js';
import { unseenResponses } from '../support/http/openapi.js';
import { exchange, expectProblem, request } from '../support/http/raw-http.js';
import { whileGone, whileLocked } from '../support/tables.js';
import {
  end,
  PURCHASES_PATH,
  report,
  sendReport,
  WEBHOOK_SECRET,
  signatureHeaders,
  PURCHASE_SETTINGS,
  unixTime,
} from '../support/http/webhook.js';

const service = await Service.start({ environment: PURCHASE_SETTINGS });
afterAll(() => end(service));

const JSON_TYPE = { 'content-type': 'application/json' };
let count = 0;
const newReport = () => {
  const transaction_id = `tx-${(count += 1)}`;
  return JSON.stringify({ transaction_id, email: `${transaction_id}@buyer.example`, status: 'paid' });
};

const send = (body: string | Uint8Array, headers: Record<string, string>, to = service) =>
  to.call('POST', PURCHASES_PATH, body, { ...JSON_TYPE, ...headers });

const purchaseCount = async (of = service) => (await of.sql('select from purchase')).length;

function expectRefused({ status, json, headers }: Answer): void {
  expect([status, json.code, json.client_action]).toEqual([403, 'webhook_signature_invalid', 'fix']);
  expect(headers['retry-after']).toBeUndefined();
}

test('signatureHeaders returns the headers of the example of Standard Webhooks', () => {
  const example = { secret: 'MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', id: 'msg_p5jXN8AQM9LWM0D4loKWxJek' };
  expect(signatureHeaders('{"test": 2432232314}', { ...example, at: 1_614_265_330 })).toEqual({
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  });
});

// These tests send fewer than the 60 wrong signatures in a minute after which the answer is 429.
describe('a report is refused with 403, and nothing is stored,', () => {
  afterEach(async () => {
    jest.restoreAllMocks();
    expect(await purchaseCount()).toBe(0);
  });

  test.each(['webhook-id', 'webhook-timestamp', 'webhook-signature'])('without %s', async (name) => {
    const body = newReport();
    const { [name]: _, ...headers } = signatureHeaders(body);
    expectRefused(await send(body, headers));
    expectRefused(await send(body, { ...headers, [name]: '' }));
  });

  test('without any of the three headers', async () => expectRefused(await send(newReport(), {})));

  test('for the signature of another message', async () => {
    const [body, other] = [newReport(), newReport()];
    const validHeaders = signatureHeaders(body);
    expectRefused(await send(other, validHeaders));
    expectRefused(await send(body, { ...validHeaders, 'webhook-id': `${validHeaders['webhook-id']}x` }));
    expectRefused(
      await send(body, {
        ...validHeaders,
        'webhook-timestamp': String(Number(validHeaders['webhook-timestamp']) - 1),
      }),
    );
  });

  test('for a body that was changed: one letter, white space, a byte order mark, the order of the members', async () => {
    const body = newReport();
    const { transaction_id, email, status } = JSON.parse(body) as Record<string, string>;
    const others = [
      body.replace('tx-', 'tX-'),
      `${body}\n`,
      ` ${body}`,
      `\ufeff${body}`,
      JSON.stringify({ email, status, transaction_id }),
      JSON.stringify(JSON.parse(body), undefined, 1),
    ];
    for (const other of others) expectRefused(await send(other, signatureHeaders(body)));
  });

  test.each([',', 'x', '.5', 'e0', ' 1'])('for a timestamp with %j after its number', async (more) => {
    const body = newReport();
    const validHeaders = signatureHeaders(body);
    const headers = { ...validHeaders, 'webhook-timestamp': `${validHeaders['webhook-timestamp']}${more}` };
    expectRefused(await send(body, headers));
  });

  test('for another secret, and for the secret without decoding its base64', async () => {
    const body = newReport();
    const asText = Buffer.from(WEBHOOK_SECRET).toString('base64');
    for (const secret of [randomBytes(32).toString('base64'), '', asText])
      expectRefused(await send(body, signatureHeaders(body, { secret })));
  });

  test.each([-301, -3_600, 301, 3_600])('when it was signed %i seconds from now', async (seconds) => {
    const body = newReport();
    // The time does not change while the request is sent.
    jest.spyOn(Date, 'now').mockReturnValue(Date.now());
    expectRefused(await send(body, signatureHeaders(body, { at: unixTime() + seconds })));
  });

  test.each(['', 'now', 'NaN', '-1', '0x7fffffff', '1e10', '99999999999999999999', '2026-11-20T13:00:00Z'])(
    'for a timestamp that is not a Unix time: %s',
    async (time) => {
      const body = newReport();
      // The signature is that of the number that the library standardwebhooks reads (it uses parseInt), so only the timestamp is
      // wrong.
      const headers = signatureHeaders(body, { at: Number.parseInt(time, 10) });
      expectRefused(await send(body, { ...headers, 'webhook-timestamp': time }));
    },
  );

  test.each([
    ['no version', (v1: string) => v1.slice(3)],
    ['version 2', (v1: string) => v1.replace('v1', 'v2')],
    ['version 1a, which is asymmetric', (v1: string) => v1.replace('v1', 'v1a')],
    ['an upper-case version', (v1: string) => v1.replace('v1', 'V1')],
    ['a version alone', () => 'v1'],
    ['an empty signature', () => 'v1,'],
    ['another separator', (v1: string) => v1.replace(',', '=')],
    ['commas alone', () => ',,,'],
    ['a truncated signature', (v1: string) => v1.slice(0, -2)],
    ['a signature with something after it', (v1: string) => `${v1}x`],
    ['hex', (v1: string) => `v1,${Buffer.from(v1.slice(3), 'base64').toString('hex')}`],
    ['a comma in place of the space', (v1: string) => `v1,AAAA,${v1}`],
    ['1,000 wrong signatures', () => 'v1,AAAA '.repeat(1_000)],
    ['a non-ASCII character', () => 'v1,é'],
  ])('for a signature header with %s', async (_, change) => {
    const body = newReport();
    const headers = signatureHeaders(body);
    expectRefused(
      await send(body, { ...headers, 'webhook-signature': change(headers['webhook-signature']!) }),
    );
  });

  test('before the body is checked, also if it is not JSON', async () => {
    for (const body of ['{', '[]', '', '{"status":"lost"}']) expectRefused(await send(body, {}));
    const [answer] = await exchange(service.url, [request('POST', PURCHASES_PATH)]);
    expectProblem(answer!, 'webhook_signature_invalid');
  });
});

describe('a report is accepted with 204', () => {
  test.each([-290, 0, 290])('when it was signed %i seconds from now', async (seconds) => {
    const { status } = await report(service, newReport(), { at: unixTime() + seconds });
    expect(status).toBe(204);
  });

  test('if one of several signatures is valid, as during the replacement of a secret', async () => {
    for (const around of [
      (v1: string) => `v1,${'A'.repeat(43)}= v1a,xyz ${v1}`,
      (v1: string) => `${v1} v2,b`,
    ]) {
      const body = newReport();
      const headers = signatureHeaders(body);
      const signature = around(headers['webhook-signature']!);
      expect((await send(body, { ...headers, 'webhook-signature': signature })).status).toBe(204);
    }
  });

  test('with a secret that was set with the prefix whsec_', async () => {
    const prefixed = await Service.start({
      environment: { PURCHASE_WEBHOOK_SECRET: `whsec_${WEBHOOK_SECRET}` },
    });
    const body = newReport();
    expect((await send(body, signatureHeaders(body), prefixed)).status).toBe(204);
    expectRefused(await send(body, {}, prefixed));
    await end(prefixed);
  });

  test('for a body with characters of several bytes', async () => {
    const body = `{"transaction_id":"Größe-№-😀","email":"käufer@buyer.example","status":"paid","\\u0061":"\u2028"}`;
    expect((await report(service, body)).status).toBe(204);
    expect(await service.sql("select email from purchase where transaction_id = 'Größe-№-😀'")).toEqual([
      { email: 'käufer@buyer.example' },
    ]);
  });
});

test('after 60 wrong signatures in a minute the next one is answered 429, and a valid one is still accepted', async () => {
  const busy = await Service.start({ environment: PURCHASE_SETTINGS });
  for (let wrong = 0; wrong < 60; wrong += 1) {
    expectRefused(await send(newReport(), {}, busy));
    expect((await report(busy, newReport())).status).toBe(204);
  }
  for (const body of [newReport(), '{', '']) {
    const { status, json, headers } = await send(body, signatureHeaders(body, { secret: 'AAAA' }), busy);
    expect([status, json.code, json.client_action]).toEqual([429, 'too_many_requests', 'retry']);
    expect(Number(headers['retry-after'])).toBeGreaterThanOrEqual(1);
    expect(Number(headers['retry-after'])).toBeLessThanOrEqual(60);
    expect((await report(busy, newReport())).status).toBe(204);
  }
  // 60 valid reports before the limit was reached, and 3 after it.
  expect(await purchaseCount(busy)).toBe(63);
  await end(busy);
});

test('the tests of this file have received every documented response except 404, which purchases.test.ts tests', async () => {
  const answers: [status: number, answer: Answer][] = [
    [400, await report(service, '[]')],
    [413, await report(service, 'x'.repeat(70_000))],
    [415, await send('{}', { ...signatureHeaders('{}'), 'content-type': 'text/plain' })],
    [422, await report(service, {})],
    [500, await whileGone(service, 'purchase', () => sendReport(service, 'broken', 'paid'))],
    [503, await whileLocked(service, 'purchase', () => sendReport(service, 'unavailable', 'paid'))],
  ];
  for (const [status, answer] of answers) expect(answer.status).toBe(status);
  expect(unseenResponses(/^POST \/v1\/purchases /)).toEqual(['POST /v1/purchases 404']);
});
