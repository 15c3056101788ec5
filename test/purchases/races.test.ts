import { expect, test } from '@jest/globals';
import { retryWhileUnavailable, Service } from '../support/harness.js';
import {
  buyerOf,
  mails,
  sendReport as sendReportOnce,
  readPurchase,
  PURCHASE_SETTINGS,
} from '../support/http/webhook.js';

const ROUNDS = Array.from({ length: 20 }, (_, round) => round + 1);

const environment = { ...PURCHASE_SETTINGS, DEFAULT_MACHINES_PER_LICENSE: '3' };
/** Two instances with one database, as behind a load balancer. */
const one = await Service.start({ environment });
const two = await Service.beside(one, { environment });

/** Reports again after a 503, which an overloaded machine may answer; payment processors do the same. */
const sendReport: typeof sendReportOnce = (...report) =>
  retryWhileUnavailable(() => sendReportOnce(...report));

/** Sends all requests concurrently, alternating between the two instances. */
const atOnce = <T>(sends: ((service: Service) => Promise<T>)[]) =>
  Promise.all(sends.map((send, i) => send(i % 2 ? two : one)));
const times = <T>(count: number, make: (i: number) => T) => Array.from({ length: count }, (_, i) => make(i));

test.each(ROUNDS)('6 concurrent paid reports create one license (round %i)', async (round) => {
  const id = `paid-${round}`;
  const answers = await atOnce(times(6, () => (service) => sendReport(service, id, 'paid')));
  expect(answers.map(({ status }) => status)).toEqual(times(6, () => 204));
  const licenses = await one.sql(
    'select l.id from license l join purchase p on p.id = l.purchase_id where p.transaction_id = $1',
    [id],
  );
  expect(licenses).toHaveLength(1);
});

test.each(ROUNDS)('concurrent first reports with all statuses end as refunded (round %i)', async (round) => {
  const id = `all-${round}`;
  const statuses = [
    'paid',
    'refunded',
    'refunded',
    'paid',
    'disputed',
    'paid',
    'dispute_won',
    'refunded',
  ] as const;
  const answers = await atOnce(statuses.map((status) => (service) => sendReport(service, id, status)));
  expect(answers.map(({ status }) => status)).toEqual(statuses.map(() => 204));
  const license = (await readPurchase(two, id))!;
  expect(license).toMatchObject({ state: 'refunded', paid: true });
  expect((await one.activate(license)).json.code).toBe('license_refunded');
});

test.each(ROUNDS)('a refund ends all activations that are made concurrently (round %i)', async (round) => {
  const id = `amid-${round}`;
  await sendReport(one, id, 'paid');
  const license = (await readPurchase(one, id))!;
  const tokens: string[] = [];
  const activating = (i: number) => async (service: Service) => {
    const { status, json } = await service.activate(license, `machine ${i % 5}`);
    if (json.token) tokens.push(json.token);
    expect([200, 201, 'machine_limit_reached', 'license_refunded']).toContain(json.code ?? status);
  };
  const reporting = (status: 'paid' | 'refunded') => async (service: Service) =>
    expect((await sendReport(service, id, status)).status).toBe(204);
  const sends = times(10, activating);
  // Some activations are sent before the refund, and the others after it. Another report is sent just before the refund.
  sends.splice(1 + (round % 8), 0, reporting(round % 2 ? 'refunded' : 'paid'), reporting('refunded'));
  await atOnce(sends);
  const activations = await one.sql('select ended_reason from activation where license_id = $1', [
    license.license_id,
  ]);
  expect(activations).toEqual(activations.map(() => ({ ended_reason: 'refunded' })));
  for (const token of tokens) expect((await two.heartbeat(token)).json.code).toBe('license_refunded');
});

test('in at least one round a refund ended an activation that was made concurrently', async () => {
  const ended = "select id from activation where ended_reason = 'refunded' limit 1";
  expect(await one.sql(ended)).toHaveLength(1);
});

test('after all rounds each buyer without a refund has one mail, and each other buyer has at most one', async () => {
  const counts = new Map<string, number>();
  for (const { to } of await mails(one)) counts.set(to, (counts.get(to) ?? 0) + 1);
  for (const round of ROUNDS) expect(counts.get(buyerOf(`paid-${round}`))).toBe(1);
  expect([...counts.values()].filter((count) => count > 1)).toEqual([]);
});
