import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { ReleaseService } from '../../src/releases/release.service.js';
import type { PurchaseState } from '../../src/licenses/license.rules.js';
import { PurchasesService } from '../../src/purchases/purchases.service.js';
import { AUDIT_CONTEXT, Service } from '../support/harness.js';
import { whileGone, whileLocked, comparableRows } from '../support/tables.js';
import {
  buyerOf,
  end,
  mails,
  sendReport,
  readPurchase,
  PURCHASE_SETTINGS,
  type StoredPurchase,
} from '../support/http/webhook.js';

const environment = { ...PURCHASE_SETTINGS, DEFAULT_MACHINES_PER_LICENSE: '3' };
const service = await Service.start({ environment });
beforeEach(() => service.clock.set('2026-11-20T13:00:00Z'));
afterAll(() => end(service));

/** Reports these statuses one after the other. */
async function reportAll(transaction_id: string, ...statuses: PurchaseState[]): Promise<void> {
  for (const status of statuses) expect((await sendReport(service, transaction_id, status)).status).toBe(204);
}

const purchaseOf = async (transaction_id: string) => (await readPurchase(service, transaction_id))!;
const mailsOf = async (transaction_id: string) =>
  (await mails(service)).filter(({ to }) => to === buyerOf(transaction_id)).length;

/** Sells a license and activates it on these machines. */
async function sellAndActivate(
  transaction_id: string,
  machines = ['studio'],
): Promise<StoredPurchase & { tokens: string[] }> {
  await reportAll(transaction_id, 'paid');
  const bought = await purchaseOf(transaction_id);
  const tokens: string[] = [];
  for (const machine of machines) tokens.push((await service.activate(bought, machine)).json.token);
  return { ...bought, tokens };
}

test('a refund is recorded even if its statements exceed the time limit of request connections', async () => {
  const bought = await sellAndActivate('large-license');
  // A refund of one machine does not reach the limit. A trigger raises the same error, in request connections only.
  await service.sql(`
    create function fail_by_time_limit() returns trigger language plpgsql as $$ begin
      if current_setting('application_name') = 'mooring' then raise 'canceled' using errcode = '57014'; end if;
      return null;
    end $$;
    create trigger fail_by_time_limit after update on activation execute function fail_by_time_limit()`);
  await reportAll('large-license', 'refunded');
  await service.sql('drop trigger fail_by_time_limit on activation');
  expect((await purchaseOf('large-license')).state).toBe('refunded');
  expect(await service.activeMachines(bought)).toEqual([]);
});

/** Sends a heartbeat of the first machine and an activation of another one. @returns the problem code or the status of each */
async function outcomes(bought: StoredPurchase & { tokens: string[] }): Promise<unknown[]> {
  const beat = await service.heartbeat(bought.tokens[0]!);
  const other = await service.activate(bought, 'another');
  return [beat, other].map(({ status, json }) => json.code ?? status);
}

const activationEnds = ({ license_id }: StoredPurchase) =>
  service.sql(
    'select ended_at, ended_reason from activation where license_id = $1 order by activated_at, id',
    [license_id],
  );

describe('a purchase has the highest reported state, whatever the order of the reports', () => {
  const RANKED = ['paid', 'disputed', 'dispute_won', 'refunded'] as const;
  const ACTIVATION = {
    paid: 201,
    dispute_won: 201,
    disputed: 'license_suspended',
    refunded: 'license_refunded',
  };

  const single = RANKED.map((status): PurchaseState[] => [status]);
  const extended = (sequences: PurchaseState[][]) =>
    sequences.flatMap((sequence) => RANKED.map((status) => [...sequence, status]));
  const sequences = [...single, ...extended(single), ...extended(extended(single))].map((sequence) => [
    sequence.join(' '),
  ]);

  test('all sequences of one, two and three reports are tested', () => {
    expect(new Set(sequences.flat()).size).toBe(4 + 16 + 64);
  });

  test.each(sequences)('%s', async (sequence) => {
    const statuses = sequence.split(' ') as PurchaseState[];
    const transaction_id = statuses.join('-');
    await reportAll(transaction_id, ...statuses);
    const highest = RANKED.findLast((status) => statuses.includes(status))!;
    const paid = statuses.includes('paid');
    const { state, license_id, ...purchase } = await purchaseOf(transaction_id);
    expect({ state, paid: purchase.paid, hasLicense: license_id !== null }).toEqual({
      state: highest,
      paid,
      hasLicense: paid,
    });
    if (paid) {
      const { status, json } = await service.activate(await purchaseOf(transaction_id));
      expect(json.code ?? status).toBe(ACTIVATION[highest]);
    }
  });

  test('a buyer gets one mail for a paid purchase, at most one if a refund follows, and none if the refund came first', async () => {
    const sent = await mails(service);
    for (const [sequence] of sequences) {
      const statuses = sequence!.split(' ') as PurchaseState[];
      const mailed = sent.filter(({ to }) => to === buyerOf(statuses.join('-'))).length;
      const [paid, refunded] = [statuses.indexOf('paid'), statuses.indexOf('refunded')];
      if (paid < 0 || (refunded >= 0 && refunded < paid)) expect([sequence, mailed]).toEqual([sequence, 0]);
      // A refund that follows at once may be recorded before the mail is written.
      else if (refunded >= 0) expect(mailed).toBeLessThanOrEqual(1);
      else expect([sequence, mailed]).toEqual([sequence, 1]);
    }
  });
});

describe('a dispute', () => {
  test('suspends the license at once, and its activations do not end', async () => {
    const bought = await sellAndActivate('suspends');
    await reportAll('suspends', 'disputed');
    expect(await outcomes(bought)).toEqual(['license_suspended', 'license_suspended']);
    expect(await activationEnds(bought)).toEqual([{ ended_at: null, ended_reason: null }]);
  });

  test('that is won ends the suspension, and the token of the machine is valid again', async () => {
    const bought = await sellAndActivate('lifts');
    await reportAll('lifts', 'disputed', 'dispute_won');
    expect(await outcomes(bought)).toEqual([200, 201]);
  });

  test('that was won is not opened again by a late report of the dispute', async () => {
    const bought = await sellAndActivate('late');
    await reportAll('late', 'dispute_won', 'disputed', 'paid');
    expect(await outcomes(bought)).toEqual([200, 201]);
  });

  test('that is won does not end a suspension by staff', async () => {
    const bought = await sellAndActivate('staff-suspended');
    await service.setLicense(bought.license_id!, { staff_status: 'suspended' });
    await reportAll('staff-suspended', 'disputed', 'dispute_won');
    expect(await outcomes(bought)).toEqual(['license_suspended', 'license_suspended']);
    expect((await purchaseOf('staff-suspended')).staff_status).toBe('suspended');
  });

  test('still suspends the license when staff set it to active', async () => {
    const bought = await sellAndActivate('staff-resumed');
    await reportAll('staff-resumed', 'disputed');
    await service.setLicense(bought.license_id!, { staff_status: 'suspended' });
    await service.setLicense(bought.license_id!, { staff_status: 'active' });
    expect(await outcomes(bought)).toEqual(['license_suspended', 'license_suspended']);
    await reportAll('staff-resumed', 'dispute_won');
    expect(await outcomes(bought)).toEqual([200, 201]);
  });
});

describe('a refund', () => {
  test('ends the license and its active activations in one transaction, and does not change ended ones', async () => {
    const bought = await sellAndActivate('ends', ['released', 'studio', 'laptop']);
    const [released] = await service.sql<{ id: string }>(
      'select id from activation where license_id = $1 order by id limit 1',
      [bought.license_id],
    );
    await service.app.get(ReleaseService).release(released!.id, AUDIT_CONTEXT);
    service.clock.advance(90_000);
    await reportAll('ends', 'refunded');
    const ended_at = new Date('2026-11-20T13:01:30Z');
    expect(await activationEnds(bought)).toEqual([
      { ended_at: new Date('2026-11-20T13:00:00Z'), ended_reason: 'released' },
      { ended_at, ended_reason: 'refunded' },
      { ended_at, ended_reason: 'refunded' },
    ]);
    const [row] = await service.sql(
      `select count(distinct x)::int as transactions from (
         select a.xmin::text x from activation a where license_id = $1 and ended_reason = 'refunded'
         union all select p.xmin::text from purchase p where transaction_id = 'ends') t`,
      [bought.license_id],
    );
    expect(row).toEqual({ transactions: 1 });
  });

  test('ends no activation before its beginning, also if it began after the time of the report', async () => {
    const bought = await sellAndActivate('waited', ['studio']);
    service.clock.advance(-1_000);
    await reportAll('waited', 'refunded');
    expect(await activationEnds(bought)).toEqual([
      { ended_at: new Date('2026-11-20T13:00:00Z'), ended_reason: 'refunded' },
    ]);
  });

  test('applies to the next heartbeat and the next activation', async () => {
    const bought = await sellAndActivate('next', ['studio', 'laptop']);
    expect((await service.heartbeat(bought.tokens[1]!)).status).toBe(200);
    await reportAll('next', 'refunded');
    for (const token of bought.tokens) {
      const { status, json } = await service.heartbeat(token);
      expect([status, json.code, json.client_action]).toEqual([403, 'license_refunded', 'stop']);
    }
    for (const machine of ['studio', 'another']) {
      const { status, json } = await service.activate(bought, machine);
      expect([status, json.code, json.client_action]).toEqual([403, 'license_refunded', 'stop']);
    }
  });

  test('is final, whatever is reported or set later', async () => {
    const bought = await sellAndActivate('final');
    await reportAll('final', 'disputed', 'refunded', 'dispute_won', 'disputed', 'paid');
    for (const staff_status of ['suspended', 'revoked', 'active'] as const) {
      await service.setLicense(bought.license_id!, { staff_status });
      expect(await outcomes(bought)).toEqual(['license_refunded', 'license_refunded']);
    }
  });

  test('does not change staff_status', async () => {
    const bought = await sellAndActivate('columns');
    await service.setLicense(bought.license_id!, { staff_status: 'revoked' });
    await reportAll('columns', 'refunded', 'dispute_won');
    expect(await purchaseOf('columns')).toMatchObject({ state: 'refunded', staff_status: 'revoked' });
  });

  test('reported before the payment: the license is created as refunded, and no mail is sent', async () => {
    await reportAll('before', 'refunded');
    await reportAll('before', 'paid', 'paid', 'dispute_won');
    const bought = await purchaseOf('before');
    expect((await service.activate(bought)).json.code).toBe('license_refunded');
    expect(await mailsOf('before')).toBe(0);
  });

  test('reported before the payment: no mail job is created', async () => {
    await reportAll('no-mail', 'refunded');
    await mails(service);
    await service.sql(
      'alter table graphile_worker._private_jobs add constraint no_new_job check (false) not valid',
    );
    const { status } = await sendReport(service, 'no-mail', 'paid');
    await service.sql('alter table graphile_worker._private_jobs drop constraint no_new_job');
    expect([status, (await purchaseOf('no-mail')).paid]).toEqual([204, true]);
  });

  test.each([
    ['is missing', whileGone, 500],
    ['is locked', whileLocked, 503],
  ])(
    'reported while the table activation %s: nothing is recorded until it is reported again',
    async (_, during, status) => {
      const transaction_id = `half-${status}`;
      const bought = await sellAndActivate(transaction_id);
      await mails(service);
      const before = await comparableRows(service.database);
      const answer = await during(service, 'activation', () =>
        sendReport(service, transaction_id, 'refunded'),
      );
      expect([answer.status, answer.json.client_action]).toEqual([status, 'retry']);
      expect(await comparableRows(service.database)).toEqual(before);
      expect(await outcomes(bought)).toEqual([200, 201]);
      await reportAll(transaction_id, 'refunded');
      expect(await outcomes(bought)).toEqual(['license_refunded', 'license_refunded']);
    },
  );
});

test('a manual report is recorded in the audit trail with its purchase and license; a webhook report is not', async () => {
  const entries = () =>
    service.sql<{ license_id: string | null }>(
      `select actor, action, reason, license_id, change, at from audit_event where action like 'purchase.%' order by id`,
    );
  const record = (status: PurchaseState) => {
    const report = { transaction_id: 'by-hand', email: 'by-hand@buyer.example', status };
    return service.app.get(PurchasesService).record(report, AUDIT_CONTEXT);
  };
  await reportAll('came', 'paid', 'refunded');
  expect(await entries()).toEqual([]);
  expect(await record('disputed')).toEqual({ state: 'disputed', license_id: null, license_ids: [] });
  const { state, license_id } = await record('paid');
  expect([state, license_id]).toEqual(['disputed', (await purchaseOf('by-hand')).license_id]);
  const [{ id: purchase_id }] = (await service.sql(
    "select id from purchase where transaction_id = 'by-hand'",
  )) as [{ id: string }];
  const entry = { ...AUDIT_CONTEXT, action: 'purchase.record', at: service.clock.now() };
  expect(await entries()).toEqual([
    { ...entry, license_id: null, change: { purchase_id, status: 'disputed' } },
    { ...entry, license_id, change: { purchase_id, status: 'paid' } },
  ]);
});
