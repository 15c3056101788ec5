import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { DataSource } from 'typeorm';
import { ReleaseService } from '../../src/releases/release.service.js';
import { enqueueMail } from '../../src/mail/mail.service.js';
import { ACT, PostOffice } from './harness.js';
import { report, TAKES_PURCHASES } from '../support/http/webhook.js';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

let office: PostOffice;
beforeAll(async () => {
  office = await PostOffice.open({ environment: TAKES_PURCHASES });
});
beforeEach(() => office.smtp.behave());
afterAll(() => office.close());

async function buy(email: string): Promise<number> {
  const body = { transaction_id: randomUUID(), email, status: 'paid' };
  return (await report(office.service, body)).status;
}

const mailsTo = (email: string) => office.smtp.received.filter(({ to }) => to.includes(email));

test('no response waits for a mail server that does not answer, and each mail is sent once it answers', async () => {
  const license = await office.service.issue();
  const { json } = await office.service.activate(license);
  office.smtp.misbehave('message', 'stall');
  const stalled = office.smtp.reached('message');
  const emails = Array.from({ length: 50 }, (_each, number) => `buyer-${number}@example.com`);
  const answers = await Promise.all(
    emails.flatMap((email) => [
      buy(email),
      office.service.heartbeat(json.token, { telemetry: { uptime_hours: 1 } }).then(({ status }) => status),
    ]),
  );
  await office.licenses.sendKey(license.license_id, ACT);
  await office.service.app.get(ReleaseService).release(json.activation.id, ACT);
  await stalled;
  expect(answers).toEqual(emails.flatMap(() => [204, 200]));
  expect(office.smtp.accepted).toEqual([]);
  office.smtp.behave();
  await Promise.all(emails.map((email) => office.smtp.mail(({ to }) => to.includes(email))));
  await office.jobs.done('binding_released', json.activation.id);
  await office.jobs.done('license_key', undefined, 50);
  await office.jobs.done('license_key_again', license.license_id);
  expect(emails.map((email) => mailsTo(email).length)).toEqual(emails.map(() => 1));
});

test('a job has the ids of its mail and its subject, and nothing else', async () => {
  office.smtp.misbehave('mail', 'stall');
  const stalled = office.smtp.reached('mail');
  const { license_id } = await office.service.issue({ email: 'old@example.com' });
  await office.service.setLicense(license_id, { email: 'new@example.com' });
  await office.licenses.sendKey(license_id, ACT);
  await office.licenses.rekey(license_id, ACT);
  const sold = await office.sell('sold@example.com');
  await stalled;
  const sql = 'select key, payload from graphile_worker._private_jobs order by key';
  const jobs = await office.service.sql<{ key: string; payload: Record<string, string> }>(sql);
  expect(jobs.map(({ key }) => key)).toEqual([
    `email_changed ${license_id} ${jobs[0]!.payload['mail_id']}`,
    `email_changed ${license_id} ${jobs[1]!.payload['mail_id']}`,
    `license_key ${sold}`,
    `license_key_again ${license_id}`,
    `license_key_replaced ${license_id}`,
  ]);
  for (const { payload } of jobs)
    expect(payload).toEqual({ mail_id: expect.stringMatching(UUID), about: expect.stringMatching(UUID) });
  office.smtp.behave();
  await office.jobs.done('license_key', sold);
  await office.jobs.done('license_key_replaced', license_id);
});

test('repeated requests of a mail enqueue one job', async () => {
  office.smtp.misbehave('rcpt', 'stall');
  // All workers are busy.
  for (let number = 0; number < 5; number += 1) {
    const stalled = office.smtp.reached('rcpt');
    await office.sell(`busy-${number}@example.com`);
    await stalled;
  }
  const { license_id } = await office.service.issue({ email: 'twice@example.com' });
  for (let time = 0; time < 3; time += 1) await office.licenses.sendKey(license_id, ACT);
  expect(await office.waiting(license_id)).toEqual(['license_key_again']);
  office.smtp.behave();
  await office.jobs.done('license_key_again', license_id);
  expect(mailsTo('twice@example.com')).toHaveLength(1);
  expect(await office.waiting(license_id)).toEqual([]);
});

test('a mail that is requested while the same one is being sent is sent as well', async () => {
  office.smtp.misbehave('message', 'stall');
  const stalled = office.smtp.reached('message');
  const { license_id } = await office.service.issue({ email: 'meanwhile@example.com' });
  await office.licenses.sendKey(license_id, ACT);
  await stalled;
  const again = office.smtp.reached('message');
  await office.licenses.sendKey(license_id, ACT);
  await again;
  office.smtp.behave();
  // A mail whose delivery took too long is repeated with the same id.
  const accepted = () => office.smtp.accepted.filter(({ to }) => to[0] === 'meanwhile@example.com');
  const ids = () => new Set(accepted().map(({ headers }) => headers['message-id']));
  await office.smtp.mail(() => ids().size === 2);
  expect(ids().size).toBe(2);
});

test('a mail whose transaction is rolled back is not sent', async () => {
  const { license_id } = await office.service.issue({ email: 'rolled-back@example.com' });
  const rolledBack = office.service.app.get(DataSource).transaction(async (manager) => {
    const at = office.service.clock.now();
    await enqueueMail(manager, 'license_key', license_id, at);
    await enqueueMail(manager, 'email_changed', license_id, at, { to: 'rolled-back@example.com' });
    throw new Error('changed its mind');
  });
  await expect(rolledBack).rejects.toThrow('changed its mind');
  expect(await office.waiting(license_id)).toEqual([]);
  expect(await office.service.sql('select * from mail_recipient')).toEqual([]);
  expect(mailsTo('rolled-back@example.com')).toEqual([]);
});
