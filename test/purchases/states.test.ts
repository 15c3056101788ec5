import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { ReleaseService } from '../../src/releases/release.service.js';
import type { PurchaseState } from '../../src/licenses/license.rules.js';
import { PurchasesService } from '../../src/purchases/purchases.service.js';
import { Service } from '../support/harness.js';
import { whileGone, whileLocked } from '../support/tables.js';
import {
  buyerOf,
  end,
  everyRow,
  mails,
  reportOf,
  sold,
  TAKES_PURCHASES,
  type Sold,
} from '../support/http/webhook.js';

const ACT = { actor: 'test', reason: 'a test' };

let service: Service;
beforeAll(async () => {
  const environment = { ...TAKES_PURCHASES, DEFAULT_MACHINES_PER_LICENSE: '3' };
  service = await Service.start({ environment });
});
beforeEach(() => service.clock.set('2026-11-20T13:00:00Z'));
afterAll(() => end(service));

/** Reports statuses one after the other. */
async function say(transaction_id: string, ...statuses: PurchaseState[]): Promise<void> {
  for (const status of statuses) expect((await reportOf(service, transaction_id, status)).status).toBe(204);
}

const license = async (transaction_id: string) => (await sold(service, transaction_id))!;
const mailsOf = async (transaction_id: string) =>
  (await mails(service)).filter(({ to }) => to === buyerOf(transaction_id)).length;

/** Sells a license, and activates it on a few machines. */
async function activated(
  transaction_id: string,
  machines = ['studio'],
): Promise<Sold & { tokens: string[] }> {
  await say(transaction_id, 'paid');
  const bought = await license(transaction_id);
  const tokens: string[] = [];
  for (const machine of machines) tokens.push((await service.activate(bought, machine)).json.token);
  return { ...bought, tokens };
}

/** What the license says to its machine, and to another one. */
async function answers(bought: Sold & { tokens: string[] }): Promise<unknown[]> {
  const beat = await service.heartbeat(bought.tokens[0]!);
  const other = await service.activate(bought, 'another');
  return [beat, other].map(({ status, json }) => json.code ?? status);
}

const bindingsOf = ({ license_id }: Sold) =>
  service.sql(
    'select ended_at, ended_reason from activation where license_id = $1 order by activated_at, id',
    [license_id],
  );

describe('a purchase has the state of its highest report, in any order', () => {
  const RANKED = ['paid', 'disputed', 'dispute_won', 'refunded'] as const;
  const ACTIVATION = {
    paid: 201,
    dispute_won: 201,
    disputed: 'license_suspended',
    refunded: 'license_refunded',
  };

  const each = RANKED.map((status): PurchaseState[] => [status]);
  const then = (sequences: PurchaseState[][]) =>
    sequences.flatMap((sequence) => RANKED.map((status) => [...sequence, status]));
  const sequences = [...each, ...then(each), ...then(then(each))].map((sequence) => [sequence.join(' ')]);

  test('the table has every sequence of up to three', () => {
    expect(new Set(sequences.flat()).size).toBe(4 + 16 + 64);
  });

  test.each(sequences)('%s', async (sequence) => {
    const statuses = sequence.split(' ') as PurchaseState[];
    const transaction_id = statuses.join('-');
    await say(transaction_id, ...statuses);
    const highest = RANKED.findLast((status) => statuses.includes(status))!;
    const paid = statuses.includes('paid');
    const { state, license_id, ...purchase } = await license(transaction_id);
    expect({ state, paid: purchase.paid, sold: license_id !== null }).toEqual({
      state: highest,
      paid,
      sold: paid,
    });
    if (paid) {
      const { status, json } = await service.activate(await license(transaction_id));
      expect(json.code ?? status).toBe(ACTIVATION[highest]);
    }
  });

  test('one mail to each who paid and was not refunded before, and none to anyone else', async () => {
    const sent = await mails(service);
    for (const [sequence] of sequences) {
      const statuses = sequence!.split(' ') as PurchaseState[];
      const mailed = sent.filter(({ to }) => to === buyerOf(statuses.join('-'))).length;
      const [paid, refunded] = [statuses.indexOf('paid'), statuses.indexOf('refunded')];
      if (paid < 0 || (refunded >= 0 && refunded < paid)) expect([sequence, mailed]).toEqual([sequence, 0]);
      // A refund right after may come before the mail is written.
      else if (refunded >= 0) expect(mailed).toBeLessThanOrEqual(1);
      else expect([sequence, mailed]).toEqual([sequence, 1]);
    }
  });
});

describe('a dispute', () => {
  test('suspends the license at once, and keeps its bindings', async () => {
    const bought = await activated('suspends');
    await say('suspends', 'disputed');
    expect(await answers(bought)).toEqual(['license_suspended', 'license_suspended']);
    expect(await bindingsOf(bought)).toEqual([{ ended_at: null, ended_reason: null }]);
  });

  test('that is won lifts that, and the machine runs on with the token it has', async () => {
    const bought = await activated('lifts');
    await say('lifts', 'disputed', 'dispute_won');
    expect(await answers(bought)).toEqual([200, 201]);
  });

  test('that was won is not opened again by the report of it coming late', async () => {
    const bought = await activated('late');
    await say('late', 'dispute_won', 'disputed', 'paid');
    expect(await answers(bought)).toEqual([200, 201]);
  });

  test('that is won does not lift what staff suspended', async () => {
    const bought = await activated('staff-suspended');
    await service.setLicense(bought.license_id!, { staff_status: 'suspended' });
    await say('staff-suspended', 'disputed', 'dispute_won');
    expect(await answers(bought)).toEqual(['license_suspended', 'license_suspended']);
    expect((await license('staff-suspended')).staff_status).toBe('suspended');
  });

  test('is not lifted by staff who resume the license', async () => {
    const bought = await activated('staff-resumed');
    await say('staff-resumed', 'disputed');
    await service.setLicense(bought.license_id!, { staff_status: 'suspended' });
    await service.setLicense(bought.license_id!, { staff_status: 'active' });
    expect(await answers(bought)).toEqual(['license_suspended', 'license_suspended']);
    await say('staff-resumed', 'dispute_won');
    expect(await answers(bought)).toEqual([200, 201]);
  });
});

describe('a refund', () => {
  test('ends the license and its active bindings at one instant, and those that had ended stay as they were', async () => {
    const bought = await activated('ends', ['released', 'studio', 'laptop']);
    const [released] = await service.sql<{ id: string }>(
      'select id from activation where license_id = $1 order by id limit 1',
      [bought.license_id],
    );
    await service.app.get(ReleaseService).release(released!.id, ACT);
    service.clock.advance(90_000);
    await say('ends', 'refunded');
    const ended_at = new Date('2026-11-20T13:01:30Z');
    expect(await bindingsOf(bought)).toEqual([
      { ended_at: new Date('2026-11-20T13:00:00Z'), ended_reason: 'released' },
      { ended_at, ended_reason: 'refunded' },
      { ended_at, ended_reason: 'refunded' },
    ]);
    const [one] = await service.sql(
      `select count(distinct x)::int as transactions from (
         select a.xmin::text x from activation a where license_id = $1 and ended_reason = 'refunded'
         union all select p.xmin::text from purchase p where transaction_id = 'ends') t`,
      [bought.license_id],
    );
    expect(one).toEqual({ transactions: 1 });
  });

  test('is answered to the very next heartbeat and the next activation', async () => {
    const bought = await activated('next', ['studio', 'laptop']);
    expect((await service.heartbeat(bought.tokens[1]!)).status).toBe(200);
    await say('next', 'refunded');
    for (const token of bought.tokens) {
      const { status, json } = await service.heartbeat(token);
      expect([status, json.code, json.client_action]).toEqual([403, 'license_refunded', 'stop']);
    }
    for (const machine of ['studio', 'another']) {
      const { status, json } = await service.activate(bought, machine);
      expect([status, json.code, json.client_action]).toEqual([403, 'license_refunded', 'stop']);
    }
  });

  test('is final, and wins over whatever else is reported', async () => {
    const bought = await activated('final');
    await say('final', 'disputed', 'refunded', 'dispute_won', 'disputed', 'paid');
    for (const staff_status of ['suspended', 'revoked', 'active'] as const) {
      await service.setLicense(bought.license_id!, { staff_status });
      expect(await answers(bought)).toEqual(['license_refunded', 'license_refunded']);
    }
  });

  test('leaves what staff wrote in its own column', async () => {
    const bought = await activated('columns');
    await service.setLicense(bought.license_id!, { staff_status: 'revoked' });
    await say('columns', 'refunded', 'dispute_won');
    expect(await license('columns')).toMatchObject({ state: 'refunded', staff_status: 'revoked' });
  });

  test('that came before its purchase: a license from the start refunded, of which no mail is sent', async () => {
    await say('before', 'refunded');
    await say('before', 'paid', 'paid', 'dispute_won');
    const bought = await license('before');
    expect((await service.activate(bought)).json.code).toBe('license_refunded');
    expect(await mailsOf('before')).toBe(0);
  });

  test('that came before its purchase: no mail is even asked for', async () => {
    await say('no-mail', 'refunded');
    await mails(service);
    await service.sql(
      'alter table graphile_worker._private_jobs add constraint full_up check (false) not valid',
    );
    const { status } = await reportOf(service, 'no-mail', 'paid');
    await service.sql('alter table graphile_worker._private_jobs drop constraint full_up');
    expect([status, (await license('no-mail')).paid]).toEqual([204, true]);
  });

  test.each([
    ['a broken database', whileGone, 500],
    ['a database that is held', whileLocked, 503],
  ])(
    'that %s lets end nothing is not half recorded, and is recorded when it is sent again',
    async (_, during, status) => {
      const transaction_id = `half-${status}`;
      const bought = await activated(transaction_id);
      await mails(service);
      const before = await everyRow(service.database);
      const answer = await during(service, 'activation', () => reportOf(service, transaction_id, 'refunded'));
      expect([answer.status, answer.json.client_action]).toEqual([status, 'retry']);
      expect(await everyRow(service.database)).toEqual(before);
      expect(await answers(bought)).toEqual([200, 201]);
      await say(transaction_id, 'refunded');
      expect(await answers(bought)).toEqual(['license_refunded', 'license_refunded']);
    },
  );
});

test('a report that is made by hand says who made it, of which purchase and license; one that came leaves no entry', async () => {
  const entries = () =>
    service.sql<{ license_id: string | null }>(
      `select actor, action, reason, license_id, change, at from audit_event where action like 'purchase.%' order by id`,
    );
  const record = (status: PurchaseState) => {
    const report = { transaction_id: 'by-hand', email: 'by-hand@buyer.example', status };
    return service.app.get(PurchasesService).record(report, ACT);
  };
  await say('came', 'paid', 'refunded');
  expect(await entries()).toEqual([]);
  expect(await record('disputed')).toEqual({ state: 'disputed', license_id: null });
  const { state, license_id } = await record('paid');
  expect([state, license_id]).toEqual(['disputed', (await license('by-hand')).license_id]);
  const [{ id: purchase_id }] = (await service.sql(
    "select id from purchase where transaction_id = 'by-hand'",
  )) as [{ id: string }];
  const entry = { ...ACT, action: 'purchase.record', at: service.clock.now() };
  expect(await entries()).toEqual([
    { ...entry, license_id: null, change: { purchase_id, status: 'disputed' } },
    { ...entry, license_id, change: { purchase_id, status: 'paid' } },
  ]);
});
