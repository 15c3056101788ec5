import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { LeakSearch, formsOfText } from '../support/leak-search.js';
import { ACT, PostOffice } from './harness.js';
import type { Misconduct, Stage } from './smtp-server.js';
import { everyRow } from '../support/http/webhook.js';

/** A text in the refusals of the mail server, which also repeat the recipient and the mail. */
const SENTENCE = 'no such user';
const PASSWORD = 'kanari-password';

let office: PostOffice;
beforeAll(async () => {
  office = await PostOffice.open({
    credentials: `kanari-user:${PASSWORD}@`,
    environment: { LOG_LEVEL: 'trace' },
  });
});
beforeEach(() => office.smtp.behave());
afterAll(() => office.close());

/** The rows of the job queue and of `mail_recipient`. */
async function storedRows(): Promise<string[]> {
  const rows = await everyRow(office.service.database);
  return rows.filter((row) => /^(graphile_worker\.|public\.mail_recipient:)/.test(row));
}

async function findLeaks(canaries: readonly string[]): Promise<string[]> {
  const search = new LeakSearch(canaries.flatMap(formsOfText));
  return [...search.in((await storedRows()).join('\n')), ...search.in(office.service.logged.join(''))];
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
    const email = `kanari-${stage}-${misconduct}@example.com`;
    office.smtp.misbehave(stage, misconduct);
    const id = await office.sell(email);
    const { last_error } = await office.jobs.failed(id);
    expect(last_error).toMatch(/^the mail server [a-z -]+ \([A-Z0-9]+\)$/);
    const license_key = (await office.licenses.currentKey(id))!;
    expect(await findLeaks([email, license_key, SENTENCE, PASSWORD, 'kanari-user'])).toEqual([]);
    expect(office.service.logged.join('')).toContain(`"reason":"${last_error}"`);
    expect((await storedRows()).join('\n')).toContain(last_error);
  },
);

test('a delivered mail leaves none either', async () => {
  const id = await office.sell('kanari-delivered@example.com');
  await office.jobs.done('license_key', id);
  const license_key = (await office.licenses.currentKey(id))!;
  expect(await findLeaks(['kanari-delivered@example.com', license_key])).toEqual([]);
});

test('a former address is stored only in mail_recipient, until its mail is sent', async () => {
  const search = new LeakSearch(formsOfText('kanari-former@example.com'));
  office.smtp.misbehave('rcpt', 550);
  const { license_id } = await office.service.issue({ email: 'kanari-former@example.com' });
  await office.service.setLicense(license_id, { email: 'kanari-now@example.com' });
  await office.jobs.failed(license_id);
  const lines = (await storedRows()).filter((line) => search.in(line).size > 0);
  expect(lines).toEqual([
    expect.stringMatching(/^public\.mail_recipient: \([0-9a-f-]{36},kanari-former@example\.com,"2026-11-20 /),
  ]);
  expect([...search.in(office.service.logged.join(''))]).toEqual([]);
  office.smtp.behave();
  await office.tryAgain();
  await office.jobs.done('email_changed', license_id, 2);
  expect([...search.in((await storedRows()).join('\n'))]).toEqual([]);
});

test('an internal error is recorded with its kind and place, and without its text', async () => {
  const { license_id } = await office.service.issue({ email: 'kanari-broken@example.com' });
  await office.service.sql('alter table mail_recipient rename to elsewhere');
  await office.licenses.sendKey(license_id, ACT);
  const { last_error } = await office.jobs.failed(license_id);
  expect(last_error).toMatch(/^QueryFailedError 42P01 /);
  expect(last_error).not.toContain('relation');
  await office.service.sql('alter table elsewhere rename to mail_recipient');
  expect(await findLeaks(['kanari-broken@example.com'])).toEqual([]);
});

test('the search finds planted values', async () => {
  const planted = 'kanari-planted@example.com';
  office.smtp.misbehave('rcpt', 450);
  const id = await office.sell(planted);
  await office.jobs.failed(id);
  const plant = "update graphile_worker._private_jobs set last_error = $2 where payload->>'about' = $1";
  for (const text of [planted, `450 <${planted}>: ${SENTENCE}`, Buffer.from(planted).toString('base64')]) {
    await office.service.sql(plant, [id, text]);
    expect(await findLeaks([planted])).not.toEqual([]);
  }
  await office.service.sql(plant, [id, null]);
  expect(await findLeaks([planted])).toEqual([]);
});
