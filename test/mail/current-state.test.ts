import { beforeEach, describe, expect, test } from '@jest/globals';
import { randomBytes, randomUUID } from 'node:crypto';
import { ReleaseService } from '../../src/releases/release.service.js';
import { ReleaseDecisions } from '../../src/releases/release-decisions.js';
import { ReleaseRequests } from '../../src/releases/release-requests.js';
import { PurchasesService } from '../../src/purchases/purchases.service.js';
import { MailHarness } from './harness.js';
import { AUDIT_CONTEXT } from '../support/harness.js';
import { OpenTransaction } from '../support/open-transaction.js';
import { until } from '../support/until.js';

const harness = await MailHarness.start();
await harness.holdRetries();
beforeEach(() => harness.smtp.behave());

/**
 * Enqueues mails that cannot be delivered, makes a change, and then lets them be delivered.
 * @returns the id that the mails are about
 */
async function deliverAfter(
  enqueue: () => Promise<string>,
  meanwhile: (id: string) => Promise<unknown>,
): Promise<string> {
  harness.smtp.misbehave('rcpt', 451);
  const about = await enqueue();
  // A mail that is still being sent would have been composed before the change, so each must have failed once.
  for (const kind of await harness.waitingMails(about)) await harness.jobs.untilFailed(about, 1, kind);
  await meanwhile(about);
  // Waits until the mails about the change have failed too, so that `runWaitingJobs` makes them due as well.
  const due = 'select 1 from graphile_worker.jobs where run_at <= now()';
  await until(async () => (await harness.service.sql(due)).length === 0);
  harness.smtp.behave();
  await harness.runWaitingJobs();
  return about;
}

const release = (activation: string) =>
  harness.service.app.get(ReleaseService).release(activation, AUDIT_CONTEXT);

/** Requests the release of an activation as its holder. @returns the id of the request */
async function requestRelease(activation: string): Promise<string> {
  await harness.service.app.get(ReleaseRequests).create(activation, null);
  const sql = 'select id from release_request where activation_id = $1';
  return (await harness.service.sql<{ id: string }>(sql, [activation]))[0]!.id;
}

const declineRelease = (request: string) =>
  harness.service.app.get(ReleaseDecisions).decide(request, 'decline', AUDIT_CONTEXT);

const record = (transaction_id: string, status: 'paid' | 'disputed' | 'refunded', email?: string) =>
  harness.service.app.get(PurchasesService).record({ transaction_id, status, ...(email && { email }) });

describe('a mail is composed from the current state when it is sent', () => {
  test('a key is not mailed after the refund of its purchase', async () => {
    const email = 'refunded@example.com';
    const sell = async () => (await record('bought-and-refunded', 'paid', email)).license_id!;
    const id = await deliverAfter(sell, () => record('bought-and-refunded', 'refunded'));
    await harness.jobs.untilDone('license_key', id);
    expect(harness.smtp.mailsTo(email)).toEqual([]);
  });

  test('a key is not mailed if the refund was reported before the purchase', async () => {
    const email = 'refunded-first@example.com';
    await record('refunded-first', 'refunded');
    const { license_id } = await record('refunded-first', 'paid', email);
    expect(await harness.waitingMails(license_id!)).toEqual([]);
    expect(harness.smtp.mailsTo(email)).toEqual([]);
  });

  test('a key is mailed if its purchase is disputed, because the dispute may be won', async () => {
    const sell = async () => (await record('disputed', 'paid', 'disputed@example.com')).license_id!;
    const id = await deliverAfter(sell, () => record('disputed', 'disputed'));
    await harness.jobs.untilDone('license_key', id);
    expect(harness.smtp.mailsTo('disputed@example.com')).toHaveLength(1);
  });

  test('a key is mailed to the current address of its license', async () => {
    const id = await deliverAfter(
      () => harness.sell('before@example.com'),
      (license) => harness.service.setLicense(license, { email: 'after@example.com' }),
    );
    await harness.jobs.untilDone('license_key', id);
    await harness.jobs.untilDone('email_changed', id, 2);
    const subjects = (email: string) => harness.smtp.mailsTo(email).map(({ headers }) => headers['subject']);
    const changed = 'The e-mail address of your license for Example App has changed';
    expect(subjects('before@example.com')).toEqual([changed]);
    expect(subjects('after@example.com').toSorted()).toEqual([changed, 'Your license key for Example App']);
    expect(
      harness.smtp
        .mailsTo('after@example.com')
        .map(({ text }) => text)
        .join(),
    ).not.toContain('before@example.com');
  });

  test('if a key was replaced, only the new one is mailed', async () => {
    const email = 'replaced@example.com';
    let license_key = '';
    const id = await deliverAfter(
      () => harness.sell(email),
      async (license) => ({ license_key } = await harness.licenses.rekey(license, AUDIT_CONTEXT)),
    );
    await harness.jobs.untilDone('license_key', id);
    await harness.jobs.untilDone('license_key_replaced', id);
    expect(harness.smtp.mailsTo(email).map(({ text }) => text.includes(license_key))).toEqual([true, true]);
  });

  test('no mail is sent about a release if the holder was erased or the activation deleted', async () => {
    const license = await harness.service.issue({ email: 'gone@example.com' });
    const activateAndRelease = async () => {
      const { json } = await harness.service.activate(license);
      await release(json.activation.id);
      return json.activation.id as string;
    };
    const deleted = await deliverAfter(activateAndRelease, (id) =>
      harness.service.sql('delete from activation where id = $1', [id]),
    );
    await harness.jobs.untilDone('binding_released', deleted);
    const erased = await deliverAfter(activateAndRelease, () =>
      harness.service.sql('update license set email = null where id = $1', [license.license_id]),
    );
    await harness.jobs.untilDone('binding_released', erased);
    expect(harness.smtp.mailsTo('gone@example.com')).toEqual([]);
  });

  test('a new holder gets no mail about a release or a declined release request of the former holder', async () => {
    const license = await harness.service.issue({ email: 'first-holder@example.com', machines_allowed: 2 });
    const activate = async () => (await harness.service.activate(license, randomUUID())).json.activation.id;
    const activateAndRelease = async () => {
      const id: string = await activate();
      await release(id);
      return id;
    };
    let released = '';
    const declined = await deliverAfter(
      async () => {
        released = await activateAndRelease();
        await harness.jobs.untilFailed(released);
        const request = await requestRelease(await activate());
        await declineRelease(request);
        return request;
      },
      async () => {
        await harness.service.setLicense(license.license_id, { email: 'later-holder@example.com' });
        license.email = 'later-holder@example.com';
      },
    );
    await harness.jobs.untilDone('binding_released', released);
    await harness.jobs.untilDone('release_declined', declined);
    await harness.jobs.untilDone('email_changed', license.license_id, 2);
    expect(harness.smtp.mailsTo('later-holder@example.com')).toHaveLength(1);
    harness.service.clock.advance(1000);
    await harness.jobs.untilDone('binding_released', await activateAndRelease());
    expect(harness.smtp.mailsTo('later-holder@example.com')).toHaveLength(2);
  });

  test('no mail says that a machine stays active if it was released meanwhile', async () => {
    const email = 'released-meanwhile@example.com';
    const license = await harness.service.issue({ email, machines_allowed: 2 });
    /** The activations by the ids of their release requests. */
    const activations: Record<string, string> = {};
    const request = async (machine: string) => {
      const activation: string = (await harness.service.activate(license, machine)).json.activation.id;
      const id = await requestRelease(activation);
      activations[id] = activation;
      return id;
    };
    const requestAndDecline = async () => {
      const id = await request('declined');
      await declineRelease(id);
      return id;
    };
    const releaseRequested = (id: string) => release(activations[id]!);
    const requested = await deliverAfter(() => request('requested'), releaseRequested);
    await harness.jobs.untilDone('release_requested', requested);
    const declined = await deliverAfter(requestAndDecline, releaseRequested);
    await harness.jobs.untilDone('release_declined', declined);
    for (const id of [requested, declined]) await harness.jobs.untilDone('binding_released', activations[id]);
    const released = 'A machine was released from your license for Example App';
    expect(harness.smtp.mailsTo(email).map(({ headers }) => headers['subject'])).toEqual([
      released,
      released,
    ]);
  });
});

describe('a license key', () => {
  const importedKey = 'update license set key_hash = $2 where id = $1';

  // Each statement uses both parameters, because PostgreSQL cannot determine the type of an unused one.
  test.each([
    ['that was imported', importedKey],
    [
      'of another generation',
      'update license set key_generation = 2 where id = $1 and $2::bytea is not null',
    ],
  ])('%s cannot be derived again, so it is not mailed, and the job has the reason', async (what, change) => {
    const email = `${what.replaceAll(' ', '-')}@example.com`;
    const id = await deliverAfter(
      () => harness.sell(email),
      (license) => harness.service.sql(change, [license, randomBytes(32)]),
    );
    const reason =
      'the license key cannot be derived: LICENSE_KEY_SECRET has changed, or the key was imported';
    expect((await harness.jobs.untilFailed(id, 2)).last_error).toBe(reason);
    expect(harness.smtp.mailsTo(email)).toEqual([]);
    expect(harness.service.logged.join('')).toContain(`"reason":"${reason}"`);
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
  ])('is not mailed on request, with the reason %s', async (reason, change, values) => {
    const id = await harness.sell(`${reason}@example.com`);
    await harness.jobs.untilDone('license_key', id);
    await harness.service.sql(change, [id, ...values]);
    await expect(harness.licenses.sendKey(id, AUDIT_CONTEXT)).rejects.toMatchObject({
      code: 'key_not_mailable',
      members: { reason },
    });
    expect(await harness.waitingMails(id)).toEqual([]);
    const selectAudit = "select 1 from audit_event where license_id = $1 and action = 'license.send_key'";
    expect(await harness.service.sql(selectAudit, [id])).toEqual([]);
    expect(await harness.licenses.currentKey(id)).toBeNull();
  });

  test('is mailed again if it is requested at the moment when the waiting mail starts', async () => {
    const { service, jobs } = harness;
    const email = 'started@example.com';
    const id = await harness.sell(email);
    await jobs.untilDone('license_key', id);
    harness.smtp.misbehave('rcpt', 451);
    await harness.licenses.sendKey(id, AUDIT_CONTEXT);
    await jobs.untilFailed(id, 1, 'license_key_again');
    harness.smtp.behave();

    const start = `update graphile_worker._private_jobs set locked_at = now(), locked_by = 'a worker'
                   where key = $1`;
    const worker = await OpenTransaction.begin(service, start, [`license_key_again ${id}`]);
    const sending = harness.licenses.sendKey(id, AUDIT_CONTEXT);
    await worker.untilWaiting();
    await worker.commit();
    await sending;
    const [mail] = await jobs.untilDone('license_key_again', id);
    const end = "delete from graphile_worker._private_jobs where locked_by = 'a worker' returning key";
    expect(await service.sql(end)).toEqual([{ key: null }]);
    expect([mail!.attempts, harness.smtp.mailsTo(email).length]).toEqual([1, 2]);
  });

  test('of an unknown license is not mailed: the request is refused with not_found', async () => {
    for (const id of ['01939f5e-0000-7000-8000-000000000000', 'x'])
      await expect(harness.licenses.sendKey(id, AUDIT_CONTEXT)).rejects.toMatchObject({ code: 'not_found' });
  });
});
