import { afterAll, beforeEach, expect, jest, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { DataSource } from 'typeorm';
import { ReleaseService } from '../../src/releases/release.service.js';
import { IMPORTED_KEY_MAIL } from '../../src/licenses/license-mails.js';
import { enqueueMail, enqueueMails } from '../../src/mail/mail.service.js';
import { readWaitingMail } from '../../src/mail/waiting-mail.js';
import { JobBacklog } from '../../src/monitoring/warnings/job-backlog.js';
import { waitForJobs } from '../erasure/harness.js';
import { MailHarness } from './harness.js';
import { report, PURCHASE_SETTINGS } from '../support/http/webhook.js';
import { AUDIT_CONTEXT } from '../support/harness.js';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

// A test may hold a mail back for long. Its delivery has no time limit, because after one the mail would be sent a second time.
const limit = jest.spyOn(AbortSignal, 'timeout').mockImplementation(() => new AbortController().signal);
afterAll(() => limit.mockRestore());
const parameters = `?socketTimeout=${2 ** 31 - 1}`;
const harness = await MailHarness.start({ environment: PURCHASE_SETTINGS, parameters });
beforeEach(async () => {
  harness.smtp.behave();
  // A mail of an earlier test would be taken for one of the next test.
  await waitForJobs(harness.service, 'mail_%');
});

async function buy(email: string): Promise<number> {
  const body = { transaction_id: randomUUID(), email, status: 'paid' };
  return (await report(harness.service, body)).status;
}

test('no response waits for a mail server that does not answer, and later the server gets each mail exactly once', async () => {
  const license = await harness.service.issue();
  const { json } = await harness.service.activate(license);
  harness.smtp.misbehave('message', 'stall');
  const stalled = harness.smtp.untilReached('message');
  const emails = Array.from({ length: 50 }, (_each, number) => `buyer-${number}@example.com`);
  const answers = await Promise.all(
    emails.flatMap((email) => [
      buy(email),
      harness.service.heartbeat(json.token, { telemetry: { uptime_hours: 1 } }).then(({ status }) => status),
    ]),
  );
  await harness.licenses.sendKey(license.license_id, AUDIT_CONTEXT);
  await harness.service.app.get(ReleaseService).release(json.activation.id, AUDIT_CONTEXT);
  await stalled;
  expect(answers).toEqual(emails.flatMap(() => [204, 200]));
  expect(harness.smtp.accepted).toEqual([]);
  harness.smtp.behave();
  await Promise.all(emails.map((email) => harness.smtp.untilAccepted(({ to }) => to.includes(email))));
  await harness.jobs.untilDone('binding_released', json.activation.id);
  await harness.jobs.untilDone('license_key', undefined, 50);
  await harness.jobs.untilDone('license_key_again', license.license_id);
  expect(emails.map((email) => harness.smtp.mailsTo(email).length)).toEqual(emails.map(() => 1));
  expect(harness.smtp.mailsTo(license.email)).toHaveLength(2);
});

test('a job has the id of its mail and the id of what the mail is about, and nothing else', async () => {
  harness.smtp.misbehave('mail', 'stall');
  const stalled = harness.smtp.untilReached('mail');
  const { license_id } = await harness.service.issue({ email: 'old@example.com' });
  await harness.service.setLicense(license_id, { email: 'new@example.com' });
  await harness.licenses.sendKey(license_id, AUDIT_CONTEXT);
  await harness.licenses.rekey(license_id, AUDIT_CONTEXT);
  const sold = await harness.sell('sold@example.com');
  await stalled;
  const sql = 'select key, payload from graphile_worker._private_jobs order by key';
  const jobs = await harness.service.sql<{ key: string; payload: Record<string, string> }>(sql);
  expect(jobs.map(({ key }) => key)).toEqual([
    `email_changed ${license_id} ${jobs[0]!.payload['mail_id']}`,
    `email_changed ${license_id} ${jobs[1]!.payload['mail_id']}`,
    `license_key ${sold}`,
    `license_key_again ${license_id}`,
    `license_key_replaced ${license_id}`,
  ]);
  for (const { payload } of jobs)
    expect(payload).toEqual({ mail_id: expect.stringMatching(UUID), about: expect.stringMatching(UUID) });
  harness.smtp.behave();
  await harness.jobs.untilDone('license_key', sold);
  await harness.jobs.untilDone('license_key_replaced', license_id);
});

test('repeated requests for a mail enqueue one job', async () => {
  harness.smtp.misbehave('rcpt', 'stall');
  // Each of these five mails keeps one of the five workers busy.
  for (let number = 0; number < 5; number += 1) {
    const stalled = harness.smtp.untilReached('rcpt');
    await harness.sell(`busy-${number}@example.com`);
    await stalled;
  }
  const { license_id } = await harness.service.issue({ email: 'twice@example.com' });
  for (let time = 0; time < 3; time += 1) await harness.licenses.sendKey(license_id, AUDIT_CONTEXT);
  expect(await harness.waitingMails(license_id)).toEqual(['license_key_again']);
  harness.smtp.behave();
  await harness.jobs.untilDone('license_key_again', license_id);
  expect(harness.smtp.mailsTo('twice@example.com')).toHaveLength(1);
  expect(await harness.waitingMails(license_id)).toEqual([]);
});

test('a mail that is requested again while it is being sent is sent a second time', async () => {
  harness.smtp.misbehave('message', 'stall');
  const stalled = harness.smtp.untilReached('message');
  const { license_id } = await harness.service.issue({ email: 'meanwhile@example.com' });
  await harness.licenses.sendKey(license_id, AUDIT_CONTEXT);
  await stalled;
  const again = harness.smtp.untilReached('message');
  await harness.licenses.sendKey(license_id, AUDIT_CONTEXT);
  await again;
  harness.smtp.behave();
  const accepted = () => harness.smtp.accepted.filter(({ to }) => to[0] === 'meanwhile@example.com');
  const ids = () => new Set(accepted().map(({ headers }) => headers['message-id']));
  await harness.smtp.untilAccepted(() => ids().size === 2);
  expect(ids().size).toBe(2);
});

test('a mail whose transaction is rolled back is not sent', async () => {
  const { license_id } = await harness.service.issue({ email: 'rolled-back@example.com' });
  const rolledBack = harness.service.app.get(DataSource).transaction(async (manager) => {
    const at = harness.service.clock.now();
    await enqueueMail(manager, 'license_key', license_id, at);
    await enqueueMail(manager, 'email_changed', license_id, at, { to: 'rolled-back@example.com' });
    throw new Error('roll back');
  });
  await expect(rolledBack).rejects.toThrow('roll back');
  expect(await harness.waitingMails(license_id)).toEqual([]);
  expect(await harness.service.sql('select * from mail_recipient')).toEqual([]);
  expect(harness.smtp.mailsTo('rolled-back@example.com')).toEqual([]);
});

test('the mails of an import that are due for over 5 minutes are late only while no instance runs a job', async () => {
  const { service, smtp, jobs } = harness;
  const dataSource = service.app.get(DataSource);
  const counts = async () => {
    const backlog = await service.app.get(JobBacklog).read();
    const ofImport = backlog.find(({ task }) => task === `mail_${IMPORTED_KEY_MAIL}`)!;
    return [ofImport.waiting, ofImport.late, (await readWaitingMail(dataSource)).late];
  };
  smtp.misbehave('message', 'stall');
  const licenses = await Promise.all(Array.from({ length: 8 }, () => service.issue()));
  const runAt = new Date(Date.now() - 10 * 60_000);
  await enqueueMails(
    dataSource.manager,
    IMPORTED_KEY_MAIL,
    licenses.map(({ license_id }) => ({ about: license_id, runAt })),
  );
  // Wakes the five workers, each of which sends one mail.
  await service.sql(`select pg_notify('jobs:insert', '{"count": 5}')`);
  const running = 'select id from graphile_worker.jobs where locked_at is not null';
  while ((await service.sql(running)).length < 5);
  expect(await counts()).toEqual([8, 0, 0]);
  // A lock of more than two minutes ago is that of a killed instance (`IS_LATE`).
  await service.sql(
    `update graphile_worker._private_jobs set locked_at = now() - interval '3 minutes' where locked_at is not null`,
  );
  expect(await counts()).toEqual([8, 3, 3]);
  smtp.behave();
  await jobs.untilDone(IMPORTED_KEY_MAIL, undefined, 8);
});
