import { beforeEach, expect, test } from '@jest/globals';
import { LeakSearch, formsOfText } from '../support/leak-search.js';
import { MailHarness } from './harness.js';
import type { Misconduct, Stage } from './smtp-server.js';
import { AUDIT_CONTEXT } from '../support/harness.js';
import { everyRow, whileGone } from '../support/tables.js';

/** A text in the refusals of the mail server. A refusal also repeats the recipient and the mail. */
const REFUSAL = 'no such user';
const PASSWORD = 'canary-password';

const harness = await MailHarness.start({
  credentials: `canary-user:${PASSWORD}@`,
  environment: { LOG_LEVEL: 'trace' },
});
beforeEach(() => harness.smtp.behave());

/** Reads the rows of the job queue and of `mail_recipient`. */
async function readStoredRows(): Promise<string[]> {
  const rows = await everyRow(harness.service.database);
  return rows.filter((row) => /^(graphile_worker\.|public\.mail_recipient:)/.test(row));
}

async function findLeaks(canaries: readonly string[]): Promise<string[]> {
  const search = new LeakSearch(canaries.flatMap(formsOfText));
  return [...search.in((await readStoredRows()).join('\n')), ...search.in(harness.service.logged.join(''))];
}

const misconducts: [stage: Stage, misconduct: Misconduct][] = [
  ['connect', 421],
  ['ehlo', 500],
  ['auth', 535],
  ['mail', 550],
  ['rcpt', 550],
  ['rcpt', 'drop'],
  ['data', 550],
  ['message', 550],
  ['message', 'drop'],
];

test.each(misconducts)(
  'a mail that failed at %s (%s) leaves no personal data in the job queue and the log',
  async (stage, misconduct) => {
    const email = `canary-${stage}-${misconduct}@example.com`;
    harness.smtp.misbehave(stage, misconduct);
    const id = await harness.sell(email);
    const { last_error } = await harness.jobs.untilFailed(id);
    expect(last_error).toMatch(/^the mail server [a-z -]+ \([A-Z0-9]+\)$/);
    const license_key = (await harness.licenses.currentKey(id))!;
    expect(await findLeaks([email, license_key, REFUSAL, PASSWORD, 'canary-user'])).toEqual([]);
    expect(harness.service.logged.join('')).toContain(`"reason":"${last_error}"`);
    expect((await readStoredRows()).join('\n')).toContain(last_error);
  },
);

test('a delivered mail leaves no personal data in the job queue and the log', async () => {
  const id = await harness.sell('canary-delivered@example.com');
  await harness.jobs.untilDone('license_key', id);
  const license_key = (await harness.licenses.currentKey(id))!;
  expect(await findLeaks(['canary-delivered@example.com', license_key])).toEqual([]);
});

test('a former address is stored only in mail_recipient, until its mail is sent', async () => {
  const search = new LeakSearch(formsOfText('canary-former@example.com'));
  harness.smtp.misbehave('rcpt', 550);
  const { license_id } = await harness.service.issue({ email: 'canary-former@example.com' });
  await harness.service.setLicense(license_id, { email: 'canary-now@example.com' });
  await harness.jobs.untilFailed(license_id);
  const rows = (await everyRow(harness.service.database)).filter((row) => search.in(row).size > 0);
  expect(rows).toEqual([
    expect.stringMatching(/^public\.mail_recipient: \([0-9a-f-]{36},canary-former@example\.com,"2026-11-20 /),
  ]);
  expect([...search.in(harness.service.logged.join(''))]).toEqual([]);
  harness.smtp.behave();
  await harness.runWaitingJobs();
  await harness.jobs.untilDone('email_changed', license_id, 2);
  expect([...search.in((await everyRow(harness.service.database)).join('\n'))]).toEqual([]);
});

test('an internal error is stored with its class, code and position in the source, and without its message', async () => {
  const { license_id } = await harness.service.issue({ email: 'canary-broken@example.com' });
  const { last_error } = await whileGone(harness.service, 'mail_recipient', async () => {
    await harness.licenses.sendKey(license_id, AUDIT_CONTEXT);
    return harness.jobs.untilFailed(license_id);
  });
  expect(last_error).toMatch(/^QueryFailedError 42P01 .*:\d+:\d+/);
  expect(last_error).not.toContain('relation');
  expect(await findLeaks(['canary-broken@example.com'])).toEqual([]);
});

test('the search finds planted values', async () => {
  const planted = 'canary-planted@example.com';
  harness.smtp.misbehave('rcpt', 450);
  const id = await harness.sell(planted);
  await harness.jobs.untilFailed(id);
  const plant = "update graphile_worker._private_jobs set last_error = $2 where payload->>'about' = $1";
  for (const text of [planted, `450 <${planted}>: ${REFUSAL}`, Buffer.from(planted).toString('base64')]) {
    await harness.service.sql(plant, [id, text]);
    expect(await findLeaks([planted])).not.toEqual([]);
  }
  await harness.service.sql(plant, [id, null]);
  expect(await findLeaks([planted])).toEqual([]);
});
