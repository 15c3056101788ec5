import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { ReleaseService } from '../../src/releases/release.service.js';
import { PurchasesService } from '../../src/purchases/purchases.service.js';
import { ACT, PostOffice } from './harness.js';

let office: PostOffice;
beforeAll(async () => {
  office = await PostOffice.open();
});
beforeEach(() => office.smtp.behave());
afterAll(() => office.close());

const mailsTo = (email: string) => office.smtp.received.filter(({ to }) => to.includes(email));

/** Enqueues a mail that cannot be delivered, changes something, and then has it attempted again. */
async function delayed(
  enqueue: () => Promise<string>,
  meanwhile: (id: string) => Promise<unknown>,
): Promise<string> {
  office.smtp.misbehave('rcpt', 451);
  const about = await enqueue();
  await office.jobs.failed(about);
  await meanwhile(about);
  office.smtp.behave();
  await office.tryAgain();
  return about;
}

const record = (transaction_id: string, status: 'paid' | 'disputed' | 'refunded', email?: string) =>
  office.service.app.get(PurchasesService).record({ transaction_id, status, ...(email && { email }) });

describe('a mail is composed from the current state when it is sent', () => {
  test('a key is not mailed after the refund of its purchase', async () => {
    const email = 'refunded@example.com';
    const sell = async () => (await record('bought-and-refunded', 'paid', email)).license_id!;
    const id = await delayed(sell, () => record('bought-and-refunded', 'refunded'));
    await office.jobs.done('license_key', id);
    expect(mailsTo(email)).toEqual([]);
  });

  test('a key is not mailed if the refund was reported before the purchase', async () => {
    const email = 'refunded-first@example.com';
    await record('refunded-first', 'refunded');
    const { license_id } = await record('refunded-first', 'paid', email);
    expect(await office.waiting(license_id!)).toEqual([]);
    expect(mailsTo(email)).toEqual([]);
  });

  test('a key is mailed if its purchase is disputed, because the dispute may be won', async () => {
    const sell = async () => (await record('disputed', 'paid', 'disputed@example.com')).license_id!;
    const id = await delayed(sell, () => record('disputed', 'disputed'));
    await office.jobs.done('license_key', id);
    expect(mailsTo('disputed@example.com')).toHaveLength(1);
  });

  test('a key is mailed to the current address of its license', async () => {
    const id = await delayed(
      () => office.sell('before@example.com'),
      (license) => office.service.setLicense(license, { email: 'after@example.com' }),
    );
    await office.jobs.done('license_key', id);
    await office.jobs.done('email_changed', id, 2);
    const subjects = (email: string) => mailsTo(email).map(({ headers }) => headers['subject']);
    const changed = 'The e-mail address of your license for Example App has changed';
    expect(subjects('before@example.com')).toEqual([changed]);
    expect(subjects('after@example.com').toSorted()).toEqual([changed, 'Your license key for Example App']);
    expect(
      mailsTo('after@example.com')
        .map(({ text }) => text)
        .join(),
    ).not.toContain('before@example.com');
  });

  test('if a key was replaced, only the new one is mailed', async () => {
    const email = 'replaced@example.com';
    let license_key = '';
    const id = await delayed(
      () => office.sell(email),
      async (license) => ({ license_key } = await office.licenses.rekey(license, ACT)),
    );
    await office.jobs.done('license_key', id);
    await office.jobs.done('license_key_replaced', id);
    expect(mailsTo(email).map(({ text }) => text.includes(license_key))).toEqual([true, true]);
  });

  test('no mail is sent about a release if the holder was erased or the activation deleted', async () => {
    const license = await office.service.issue({ email: 'gone@example.com' });
    const release = async () => {
      const { json } = await office.service.activate(license);
      await office.service.app.get(ReleaseService).release(json.activation.id, ACT);
      return json.activation.id as string;
    };
    const deleted = await delayed(release, (id) =>
      office.service.sql('delete from activation where id = $1', [id]),
    );
    await office.jobs.done('binding_released', deleted);
    const erased = await delayed(release, () =>
      office.service.sql('update license set email = null where id = $1', [license.license_id]),
    );
    await office.jobs.done('binding_released', erased);
    expect(mailsTo('gone@example.com')).toEqual([]);
  });
});

describe('a key that cannot be derived', () => {
  const importedKey = 'update license set key_hash = $2 where id = $1';

  test.each([
    ['that was imported', importedKey],
    [
      'of another generation',
      'update license set key_generation = 2 where id = $1 and $2::bytea is not null',
    ],
  ])('%s is not mailed, and the job has the reason', async (_what, change) => {
    const email = `${change.length}@example.com`;
    const id = await delayed(
      () => office.sell(email),
      (license) => office.service.sql(change, [license, randomBytes(32)]),
    );
    const reason = 'the license key was not made here, or LICENSE_KEY_SECRET has changed';
    expect((await office.jobs.failed(id, 2)).last_error).toBe(reason);
    expect(mailsTo(email)).toEqual([]);
    expect(office.service.logged.join('')).toContain(`"reason":"${reason}"`);
  });

  test.each([
    ['not_made_here', importedKey, [randomBytes(32)]],
    ['erased', 'update license set email = null where id = $1', []],
    ['revoked', "update license set staff_status = 'revoked' where id = $1", []],
    [
      'refunded',
      "update purchase set state = 'refunded' where id = (select purchase_id from license where id = $1)",
      [],
    ],
  ])('is refused with its reason: %s', async (reason, change, values) => {
    const id = await office.sell(`${reason}@example.com`);
    await office.jobs.done('license_key', id);
    await office.service.sql(change, [id, ...values]);
    await expect(office.licenses.sendKey(id, ACT)).rejects.toMatchObject({
      code: 'key_not_mailable',
      members: { reason },
    });
    expect(await office.waiting(id)).toEqual([]);
    const trail = "select 1 from audit_event where license_id = $1 and action = 'license.send_key'";
    expect(await office.service.sql(trail, [id])).toEqual([]);
    expect(await office.licenses.currentKey(id)).toBeNull();
  });

  test('an unknown license is not_found', async () => {
    for (const id of ['01939f5e-0000-7000-8000-000000000000', 'x'])
      await expect(office.licenses.sendKey(id, ACT)).rejects.toMatchObject({ code: 'not_found' });
  });
});
