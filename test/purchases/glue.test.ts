import { createHmac } from 'node:crypto';
import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Service } from '../support/harness.js';
import { readPurchase, PURCHASE_SETTINGS } from '../support/http/webhook.js';
import { Glue, RecordingProxy } from './glue.js';
import * as gumroad from './payloads/gumroad.js';
import * as lemonSqueezy from './payloads/lemon-squeezy.js';
import { serve } from '../support/listen.js';

/*
 * The programs of docs/purchases/, as they are written there, receive the events of their processor and report them to a service.
 */

const service = await Service.start({ environment: PURCHASE_SETTINGS });
const proxy = new RecordingProxy(service);
const MOORING_URL = await proxy.listen();
beforeEach(() => {
  proxy.sent.length = 0;
  proxy.isUnavailable = false;
});

/** The reports that were sent, as values. */
const reports = () => proxy.sent.map(({ body }) => JSON.parse(body) as Record<string, string>);

/** Checks that the reports have no unknown member, and that neither they nor the output of the program contain private values. */
function expectNoPrivateData(glue: Glue, canaries: readonly string[]): void {
  for (const sent of reports())
    expect(['transaction_id', 'email', 'status']).toEqual(expect.arrayContaining(Object.keys(sent)));
  const seen = proxy.sent.map(({ headers, body }) => headers + body).join('\n') + glue.output;
  for (const canary of canaries) expect(seen).not.toContain(canary);
  expect(glue.output).not.toContain('@');
}

describe('Lemon Squeezy', () => {
  const LEMON_SQUEEZY_SECRET = 'a signing secret of 6 to 40 chars';
  let glue: Glue;
  beforeAll(async () => {
    const settings = {
      MOORING_URL,
      LEMON_SQUEEZY_SECRET,
      LEMON_SQUEEZY_VARIANTS: `1,${lemonSqueezy.VARIANT}`,
    };
    glue = await Glue.start('purchases/lemon-squeezy', settings);
  });

  const signatureOf = (body: string, secret = LEMON_SQUEEZY_SECRET) =>
    createHmac('sha256', secret).update(body).digest('hex');
  const send = (body: string, signature = signatureOf(body)) =>
    glue.send(body, {
      'content-type': 'application/json',
      'x-event-name': (JSON.parse(body) as { meta: { event_name: string } }).meta.event_name,
      'x-signature': signature,
    });
  const { orderEvent, subscriptionEvent, CANARIES } = lemonSqueezy;

  test('an order is reported as paid, its full refund as refunded, and a partial refund is not reported', async () => {
    expect(await send(orderEvent())).toBe(200);
    expect(await send(orderEvent())).toBe(200);
    const purchase = await readPurchase(service, '2718281');
    expect(purchase).toMatchObject({ state: 'paid', email: 'ada@example.com' });
    expect(await send(orderEvent({ event: 'order_refunded', status: 'partial_refund' }))).toBe(200);
    expect((await readPurchase(service, '2718281'))!.state).toBe('paid');
    expect(await send(orderEvent({ event: 'order_refunded', status: 'refunded', refunded: true }))).toBe(200);
    expect((await readPurchase(service, '2718281'))!.state).toBe('refunded');
    const paid = { transaction_id: '2718281', email: 'ada@example.com', status: 'paid' };
    expect(reports()).toEqual([paid, paid, { transaction_id: '2718281', status: 'refunded' }]);
    expectNoPrivateData(glue, CANARIES);
  });

  test.each([
    ['another variant', orderEvent({ variant_id: 555 })],
    ['an order that is not paid', orderEvent({ status: 'pending' })],
    ['a subscription', subscriptionEvent()],
  ])('%s is acknowledged and not reported', async (_what, body) => {
    expect(await send(body)).toBe(200);
    expect(proxy.sent).toEqual([]);
  });

  test('an event with a wrong signature, no signature or the signature of another event is refused and not reported', async () => {
    const body = orderEvent({ id: 'forged' });
    for (const signature of [
      '',
      'x',
      signatureOf(body, 'another'),
      signatureOf(orderEvent()),
      signatureOf(body).toUpperCase(),
    ])
      expect(await send(body, signature)).toBe(400);
    expect(await glue.send(body, {})).toBe(400);
    expect(proxy.sent).toEqual([]);
  });

  test('while Mooring is unavailable the answer is 502, so that the event is repeated', async () => {
    proxy.isUnavailable = true;
    expect(await send(orderEvent({ id: '31' }))).toBe(502);
    proxy.isUnavailable = false;
    expect(await send(orderEvent({ id: '31' }))).toBe(200);
    expect((await readPurchase(service, '31'))!.state).toBe('paid');
    expectNoPrivateData(glue, CANARIES);
  });
});

/** Replaces the libraries of Stripe and Paddle: an event is signed by the secret itself. */
const READ_EVENT = `(body, secret, signature) => {
  if (signature !== secret) throw new Error('The signature is wrong.');
  return JSON.parse(body);
}`;

describe('Stripe', () => {
  const STRIPE_WEBHOOK_SECRET = 'whsec_stripe';
  const library = `const read = ${READ_EVENT};
    export default { webhooks: { constructEvent: (body, signature, secret) => read(body, secret, signature) } };`;
  const settings = { MOORING_URL, STRIPE_WEBHOOK_SECRET, STRIPE_PRODUCTS: 'plink_1,example-app' };
  let glue: Glue;
  beforeAll(async () => {
    glue = await Glue.start('purchases/stripe', settings, { stripe: library });
  });
  const send = (type: string, object: object, signature = STRIPE_WEBHOOK_SECRET) =>
    glue.send(JSON.stringify({ id: `evt_${type}`, type, data: { object } }), {
      'stripe-signature': signature,
    });
  const session = (members: object) => ({
    id: 'cs_1',
    mode: 'payment',
    payment_status: 'paid',
    payment_intent: 'pi_1',
    payment_link: 'plink_1',
    metadata: {},
    customer_details: { email: 'ada@example.com', name: 'Canary Lovelace' },
    ...members,
  });

  test.each([
    ['a listed Payment Link', 'pi_link', {}],
    [
      'a session whose metadata names a listed product',
      'pi_session',
      { payment_link: null, metadata: { product: 'example-app' } },
    ],
  ])('%s is reported as paid, and its full refund as refunded', async (_what, payment_intent, members) => {
    expect(await send('checkout.session.completed', session({ payment_intent, ...members }))).toBe(200);
    expect(await readPurchase(service, payment_intent)).toMatchObject({
      state: 'paid',
      email: 'ada@example.com',
    });
    expect(await send('charge.refunded', { payment_intent, refunded: false })).toBe(200);
    expect(await send('charge.refunded', { payment_intent, refunded: true })).toBe(200);
    expect((await readPurchase(service, payment_intent))!.state).toBe('refunded');
    expect(reports()).toHaveLength(2);
    expectNoPrivateData(glue, ['Canary']);
  });

  test.each([
    ['another Payment Link', { payment_link: 'plink_2' }],
    [
      'another Payment Link with the metadata of a listed product',
      { payment_link: 'plink_2', metadata: { product: 'example-app' } },
    ],
    ['a session of another product', { payment_link: null, metadata: { product: 'another' } }],
    ['a session without metadata', { payment_link: null, metadata: null }],
    ['a subscription', { mode: 'subscription' }],
    ['an unpaid session', { payment_status: 'unpaid' }],
  ])('%s is acknowledged and not reported', async (_what, members) => {
    expect(await send('checkout.session.completed', session(members))).toBe(200);
    expect(proxy.sent).toEqual([]);
  });

  test('an event with a wrong signature is refused', async () => {
    expect(await send('checkout.session.completed', session({}), 'x')).toBe(400);
    expect(proxy.sent).toEqual([]);
  });
});

describe('Paddle', () => {
  const PADDLE_WEBHOOK_SECRET = 'pdl_ntfset_1';
  const library = `export class Paddle {
    customers = { get: async (id) => ({ email: id + '@example.com' }) };
    webhooks = { unmarshal: async ${READ_EVENT} };
  }`;
  const settings = {
    MOORING_URL,
    PADDLE_API_KEY: 'key',
    PADDLE_WEBHOOK_SECRET,
    PADDLE_PRODUCTS: 'pro_0,pro_1',
  };
  let glue: Glue;
  beforeAll(async () => {
    glue = await Glue.start('purchases/paddle', settings, { '@paddle/paddle-node-sdk': library });
  });
  const send = (eventType: string, data: object, signature = PADDLE_WEBHOOK_SECRET) =>
    glue.send(JSON.stringify({ eventId: `evt_${eventType}`, eventType, data }), {
      'paddle-signature': signature,
    });
  const transaction = (...productIds: string[]) => ({
    id: 'txn_1',
    customerId: 'ada',
    subscriptionId: null,
    items: productIds.map((productId) => ({ quantity: 1, price: { id: 'pri_1', productId } })),
  });

  test('a transaction with a listed product is reported as paid, and its full refund as refunded', async () => {
    expect(await send('transaction.completed', transaction('pro_2', 'pro_1'))).toBe(200);
    expect(await readPurchase(service, 'txn_1')).toMatchObject({ state: 'paid', email: 'ada@example.com' });
    const refund = { action: 'refund', status: 'approved', type: 'full', transactionId: 'txn_1' };
    expect(await send('adjustment.updated', { ...refund, type: 'partial' })).toBe(200);
    expect(await send('adjustment.updated', refund)).toBe(200);
    expect((await readPurchase(service, 'txn_1'))!.state).toBe('refunded');
    expect(reports()).toHaveLength(2);
    expectNoPrivateData(glue, []);
  });

  test.each([
    ['another product', transaction('pro_2')],
    ['an item without a price', { ...transaction(), items: [{ quantity: 1, price: null }] }],
    ['a subscription', { ...transaction('pro_1'), subscriptionId: 'sub_1' }],
  ])('%s is acknowledged and not reported', async (_what, data) => {
    expect(await send('transaction.completed', data)).toBe(200);
    expect(proxy.sent).toEqual([]);
  });

  test('an event with a wrong signature is refused', async () => {
    expect(await send('transaction.completed', transaction('pro_1'), 'x')).toBe(400);
    expect(proxy.sent).toEqual([]);
  });
});

describe('Gumroad', () => {
  const { PRODUCT, CANARIES, ping, saleAnswer } = gumroad;
  const GUMROAD_PING_SECRET = 'a-long-random-text';
  const TOKEN = 'an-access-token';
  const SALE: gumroad.Sale = {
    id: 'FO8TXN-dbxYaBdahG97Y-Q==',
    email: 'ada@example.com',
    product_id: PRODUCT,
    refunded: false,
    partially_refunded: false,
    disputed: false,
    dispute_won: false,
  };
  /** The sales that Gumroad's API has. */
  const sales = new Map<string, gumroad.Sale>();
  let isApiUnavailable = false;
  let glue: Glue;
  beforeAll(async () => {
    const apiUrl = await serve((request, response) => {
      const sale = sales.get(decodeURIComponent(request.url!.replace('/v2/sales/', '')));
      const isAllowed = request.headers.authorization === `Bearer ${TOKEN}`;
      const status = isApiUnavailable ? 503 : isAllowed ? (sale ? 200 : 404) : 401;
      const answer =
        sale && isAllowed ? saleAnswer(sale) : { success: false, message: 'The sale was not found.' };
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
    });
    glue = await Glue.start('purchases/gumroad', {
      MOORING_URL,
      GUMROAD_API_URL: `${apiUrl}/v2`,
      GUMROAD_ACCESS_TOKEN: TOKEN,
      GUMROAD_PING_SECRET,
      GUMROAD_PRODUCTS: `other,${PRODUCT}`,
    });
  });

  /** Changes a sale at Gumroad, which then sends a ping. */
  async function sendPing(sale: gumroad.Sale, resource: string, secret = GUMROAD_PING_SECRET) {
    sales.set(sale.id, sale);
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    return glue.send(ping(sale, resource), headers, `/gumroad?secret=${encodeURIComponent(secret)}`);
  }
  const stateOf = async (id: string) => (await readPurchase(service, id))?.state;

  test('a sale, a dispute, a won dispute and a refund set their states, and a partial refund changes nothing', async () => {
    expect(await sendPing(SALE, 'sale')).toBe(200);
    expect(await readPurchase(service, SALE.id)).toMatchObject({ state: 'paid', email: 'ada@example.com' });
    expect(await sendPing({ ...SALE, partially_refunded: true }, 'refund')).toBe(200);
    expect(await stateOf(SALE.id)).toBe('paid');
    expect(await sendPing({ ...SALE, disputed: true }, 'dispute')).toBe(200);
    expect(await stateOf(SALE.id)).toBe('disputed');
    expect(await sendPing({ ...SALE, disputed: true, dispute_won: true }, 'dispute_won')).toBe(200);
    expect(await stateOf(SALE.id)).toBe('dispute_won');
    expect(await sendPing({ ...SALE, refunded: true }, 'refund')).toBe(200);
    expect(await stateOf(SALE.id)).toBe('refunded');
    expect(reports().every(({ transaction_id }) => transaction_id === SALE.id)).toBe(true);
    expectNoPrivateData(glue, CANARIES);
  });

  test('after a lost ping the next one also reports the payment, and a sale that is already refunded gets no license', async () => {
    expect(await sendPing({ ...SALE, id: 'lost', disputed: true }, 'dispute')).toBe(200);
    expect(await readPurchase(service, 'lost')).toMatchObject({ state: 'disputed', paid: true });
    expect(await sendPing({ ...SALE, id: 'late', refunded: true }, 'sale')).toBe(200);
    expect(await readPurchase(service, 'late')).toMatchObject({ state: 'refunded', license_id: null });
  });

  test.each([
    ['another product', { ...SALE, id: 'other-product', product_id: 'another' }],
    ['a membership', { ...SALE, id: 'membership', subscription_id: 'GDzW4_aBdQc-o7Gbjng7lw==' }],
  ])('%s is acknowledged and not reported', async (_what, sale) => {
    expect(await sendPing(sale, 'sale')).toBe(200);
    expect(proxy.sent).toEqual([]);
  });

  test('a wrong secret is refused, and a forged ping with the right one reports only what the API says', async () => {
    for (const secret of ['', 'x', `${GUMROAD_PING_SECRET} `])
      expect(await sendPing(SALE, 'sale', secret)).toBe(403);
    sales.clear();
    const path = `/?secret=${GUMROAD_PING_SECRET}`;
    expect(await glue.send(ping({ ...SALE, id: '../../user' }, 'sale'), {}, path)).toBe(200);
    expect(await glue.send('no_sale=1', {}, path)).toBe(200);
    expect(proxy.sent).toEqual([]);
    sales.set(SALE.id, SALE);
    const forged = ping({ ...SALE, email: 'mallory@example.com', refunded: true }, 'refund');
    expect(await glue.send(forged, {}, path)).toBe(200);
    expect(reports()).toEqual([{ transaction_id: SALE.id, email: 'ada@example.com', status: 'paid' }]);
  });

  test('while Mooring or Gumroad is unavailable the answer is 502, so that the ping is repeated', async () => {
    proxy.isUnavailable = true;
    expect(await sendPing({ ...SALE, id: 'repeated' }, 'sale')).toBe(502);
    proxy.isUnavailable = false;
    isApiUnavailable = true;
    expect(await sendPing({ ...SALE, id: 'repeated' }, 'sale')).toBe(502);
    isApiUnavailable = false;
    expect(await sendPing({ ...SALE, id: 'repeated' }, 'sale')).toBe(200);
    expect(await stateOf('repeated')).toBe('paid');
    expectNoPrivateData(glue, CANARIES);
  });
});
