import { afterAll, describe, expect, test } from '@jest/globals';
import { LicenseKeys } from '../../src/keys/license-keys.js';
import type { PurchaseState } from '../../src/licenses/license.rules.js';
import { LicensesService } from '../../src/licenses/licenses.service.js';
import { AUDIT_CONTEXT, Service } from '../support/harness.js';
import {
  buyerOf,
  end,
  mails,
  report,
  sendReport,
  readPurchase,
  PURCHASE_SETTINGS,
} from '../support/http/webhook.js';
import { comparableRows } from '../support/tables.js';

const service = await Service.start({ environment: PURCHASE_SETTINGS });
afterAll(() => end(service));

const mailsOf = async (transaction_id: string) =>
  (await mails(service)).filter(({ to }) => to === buyerOf(transaction_id)).length;

/** Runs `work` and checks that it changes no row of any table and sends no mail. */
async function expectNoChange(work: () => Promise<unknown>): Promise<void> {
  const sent = (await mails(service)).length;
  const before = await comparableRows(service.database);
  // The clock moves to the next day, so that a timestamp or day that is written again differs.
  service.clock.advance(86_400_000);
  await work();
  expect((await mails(service)).length).toBe(sent);
  expect(await comparableRows(service.database)).toEqual(before);
}

const HISTORIES: PurchaseState[][] = [
  ['paid'],
  ['disputed'],
  ['refunded'],
  ['paid', 'disputed'],
  ['paid', 'disputed', 'dispute_won'],
  ['paid', 'disputed', 'refunded'],
  ['refunded', 'paid'],
];

test.each(HISTORIES.map((history) => [history.join(', '), history] as const))(
  'each report of %s, repeated byte for byte, has the same response and changes nothing',
  async (name, history) => {
    const transaction_id = name.replaceAll(', ', '-');
    const sent = history.map((status, at) => ({
      body: JSON.stringify({ transaction_id, email: buyerOf(transaction_id), status }),
      id: `msg_${transaction_id}_${at}`,
    }));
    for (const { body, id } of sent) expect((await report(service, body, { id })).status).toBe(204);
    const bought = (await readPurchase(service, transaction_id))!;
    if (bought.license_id) await service.activate(bought);
    await expectNoChange(async () => {
      for (const { body, id } of [...sent, ...sent.toReversed()]) {
        const { status, text } = await report(service, body, { id });
        expect([status, text]).toEqual([204, '']);
      }
    });
  },
);

test('a paid report of a known purchase with another id, another address and an unknown member changes nothing', async () => {
  await sendReport(service, 'again', 'paid');
  await expectNoChange(async () => {
    const again = { transaction_id: 'again', email: 'eve@buyer.example', status: 'paid', attempt: 2 };
    expect((await report(service, again)).status).toBe(204);
  });
});

describe('a repeated paid report', () => {
  const reportPaidAgain = (transaction_id: string) =>
    expectNoChange(async () => expect((await sendReport(service, transaction_id, 'paid')).status).toBe(204));

  async function reportPaid(transaction_id: string): Promise<string> {
    await sendReport(service, transaction_id, 'paid');
    expect(await mailsOf(transaction_id)).toBe(1);
    return (await readPurchase(service, transaction_id))!.license_id!;
  }

  test('does not undo a change of the e-mail address', async () => {
    const id = await reportPaid('moved');
    await service.setLicense(id, { email: 'new@buyer.example' });
    await reportPaidAgain('moved');
    expect(await readPurchase(service, 'moved')).toMatchObject({
      license_id: id,
      email: 'new@buyer.example',
    });
  });

  test('does not restore an erased buyer, and creates no second license', async () => {
    const id = await reportPaid('erased');
    await service.sql('update license set email = null where id = $1', [id]);
    await service.sql("update purchase set email = null where transaction_id = 'erased'");
    await reportPaidAgain('erased');
    expect(await service.sql("select email, paid from purchase where transaction_id = 'erased'")).toEqual([
      { email: null, paid: true },
    ]);
  });

  test('creates no license if the one of the purchase was deleted', async () => {
    const id = await reportPaid('deleted');
    await service.sql('delete from license where id = $1', [id]);
    await reportPaidAgain('deleted');
    expect(await readPurchase(service, 'deleted')).toMatchObject({ paid: true, license_id: null });
  });

  test('keeps the new key of a rekeyed license, and its active machine', async () => {
    const id = await reportPaid('runs');
    const { license_key } = await service.app.get(LicensesService).rekey(id, AUDIT_CONTEXT);
    const bought = { license_key, email: buyerOf('runs') };
    const { token } = (await service.activate(bought)).json;
    await reportPaidAgain('runs');
    expect((await service.heartbeat(token)).status).toBe(200);
    expect((await service.activate(bought)).status).toBe(200);
  });
});

test('a refund ends a license whose buyer was erased, and is accepted if the license was deleted', async () => {
  await sendReport(service, 'erased-refund', 'paid');
  const bought = (await readPurchase(service, 'erased-refund'))!;
  const { token } = (await service.activate(bought)).json;
  await service.sql('update license set email = null where id = $1', [bought.license_id]);
  expect((await sendReport(service, 'erased-refund', 'refunded')).status).toBe(204);
  expect((await service.heartbeat(token)).json.code).toBe('license_refunded');
  await service.sql('delete from activation where license_id = $1', [bought.license_id]);
  await service.sql('delete from license where id = $1', [bought.license_id]);
  await expectNoChange(async () => {
    expect((await sendReport(service, 'erased-refund', 'refunded')).status).toBe(204);
  });
});

test.each(['disputed', 'refunded'] as const)(
  'a first report of the status %s for a purchase whose license was deleted is recorded, and creates no license',
  async (status) => {
    const transaction_id = `deleted-${status}`;
    await sendReport(service, transaction_id, 'paid');
    const { license_id } = (await readPurchase(service, transaction_id))!;
    const sent = (await mails(service)).length;
    await service.sql('delete from license where id = $1', [license_id]);
    const licenses = await service.sql('select id from license order by id');
    expect((await sendReport(service, transaction_id, status)).status).toBe(204);
    expect(await readPurchase(service, transaction_id)).toMatchObject({ state: status, license_id: null });
    expect(await service.sql('select id from license order by id')).toEqual(licenses);
    expect((await mails(service)).length).toBe(sent);
  },
);

test('a purchase whose row was deleted and that is reported as paid again keeps its license, and no mail is sent', async () => {
  await sendReport(service, 'old', 'paid');
  const before = (await readPurchase(service, 'old'))!;
  await service.setLicense(before.license_id!, { email: 'eve@buyer.example' });
  await service.sql('update license set purchase_id = null where id = $1', [before.license_id]);
  await service.sql("delete from purchase where transaction_id = 'old'");
  const sent = (await mails(service)).length;
  expect((await sendReport(service, 'old', 'paid')).status).toBe(204);
  expect(await readPurchase(service, 'old')).toEqual({ ...before, email: 'eve@buyer.example' });
  expect((await mails(service)).length).toBe(sent);
});

test('a report of a purchase that the database lost finds the license imported with its key, and a refund ends that license', async () => {
  const { license_id } = service.app.get(LicenseKeys).purchaseIds('lost');
  const { key_hash } = service.app.get(LicenseKeys).derive(license_id, 1);
  const { license_id: imported } = await service.issue({ email: 'eve@buyer.example' });
  await service.sql('update license set key_hash = $2 where id = $1', [imported, key_hash]);
  for (const status of ['paid', 'refunded'] as const)
    expect((await sendReport(service, 'lost', status)).status).toBe(204);
  expect(await readPurchase(service, 'lost')).toMatchObject({ license_id: imported, state: 'refunded' });
  expect(await mailsOf('lost')).toBe(0);
  const purchase = "select email from purchase where transaction_id = 'lost'";
  expect(await service.sql(purchase)).toEqual([{ email: 'eve@buyer.example' }]);
});

test('a dispute and a refund of a purchase that the database lost apply to the license imported with its key, without a report of the payment', async () => {
  const { license_id } = service.app.get(LicenseKeys).purchaseIds('lost-refund');
  const { license_key, key_hash } = service.app.get(LicenseKeys).derive(license_id, 1);
  const { license_id: imported } = await service.issue({ email: 'eve@buyer.example' });
  await service.sql('update license set key_hash = $2 where id = $1', [imported, key_hash]);
  const { token } = (await service.activate({ license_key, email: 'eve@buyer.example' })).json;
  await sendReport(service, 'lost-refund', 'disputed');
  expect((await service.heartbeat(token)).json.code).toBe('license_suspended');
  await sendReport(service, 'lost-refund', 'refunded');
  expect((await service.heartbeat(token)).json.code).toBe('license_refunded');
  expect(await readPurchase(service, 'lost-refund')).toMatchObject({ license_id: imported, paid: false });
  await expectNoChange(async () => void (await sendReport(service, 'lost-refund', 'refunded')));
  // The report of the payment may still arrive.
  const licenses = await service.sql('select id from license order by id');
  expect((await sendReport(service, 'lost-refund', 'paid')).status).toBe(204);
  expect(await service.sql('select id from license order by id')).toEqual(licenses);
  expect(await readPurchase(service, 'lost-refund')).toMatchObject({
    email: 'eve@buyer.example',
    paid: true,
  });
  expect(await mailsOf('lost-refund')).toBe(0);
});

test('a report of a purchase that the database lost finds the license imported with its key, also after the key was replaced', async () => {
  const { license_id } = service.app.get(LicenseKeys).purchaseIds('leaked');
  const { key_hash } = service.app.get(LicenseKeys).derive(license_id, 1);
  const { license_id: imported } = await service.issue({ email: buyerOf('leaked') });
  await service.sql('update license set key_hash = $2 where id = $1', [imported, key_hash]);
  await service.app.get(LicensesService).rekey(imported, AUDIT_CONTEXT);
  const sent = await mailsOf('leaked');
  expect((await sendReport(service, 'leaked', 'paid')).status).toBe(204);
  expect(await service.sql('select id from license where email = $1', [buyerOf('leaked')])).toEqual([
    { id: imported },
  ]);
  expect(await readPurchase(service, 'leaked')).toMatchObject({ license_id: imported });
  expect(await mailsOf('leaked')).toBe(sent);
});
