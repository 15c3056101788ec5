import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { DataSource } from 'typeorm';
import { Mailer } from '../../src/mail/mailer.js';
import { until } from '../erasure/harness.js';
import { SignInCodes } from '../../src/license-portal/sign-in-codes.js';
import { answered, type Answer, type Service } from '../support/harness.js';
import { PostOffice, PUBLIC_URL } from '../mail/harness.js';
import { Browser } from './harness.js';

/** The number of requests that an instance accepts at once, and then per second (docs/decisions/0027). */
const [CAPACITY, PER_SECOND] = [100, 2];
/** After a day all limits are reset. */
const DAY_MS = 86_400_000;

let office: PostOffice;
let service: Service;
beforeAll(async () => {
  office = await PostOffice.open();
  service = office.service;
});
beforeEach(() => service.clock.advance(DAY_MS));
afterEach(async () => {
  office.smtp.behave();
  jest.restoreAllMocks();
  await service.sql(`select graphile_worker.remove_job(key) from graphile_worker.jobs
    where task_identifier = 'mail_sign_in_code' and locked_by is null`);
});
afterAll(() => office.close());

const browser = () => new Browser(service, new URL(PUBLIC_URL).origin);
const ask = (from: Browser, email: string) => from.call('POST', '/session/code', { email });
const newEmail = () => `${randomUUID()}@flood.example`;

/** Sends this many requests for codes, each for another address, 20 at a time. */
async function flood(count: number): Promise<Answer[]> {
  const answers: Answer[] = [];
  while (answers.length < count) {
    const batch = Array.from({ length: Math.min(20, count - answers.length) }, () =>
      ask(browser(), newEmail()),
    );
    answers.push(...(await Promise.all(batch)));
  }
  return answers;
}

const countCodeJobs = async (condition = 'true') =>
  (
    await service.sql(`select 1 from graphile_worker.jobs
      where task_identifier = 'mail_sign_in_code' and ${condition}`)
  ).length;
/** Counts the requests that the limits accept from now on, whatever their responses on an overloaded machine. */
function countAccepted(): () => number {
  const send = jest.spyOn(service.app.get(SignInCodes), 'send');
  return () => send.mock.calls.length;
}

describe('a flood of requests for codes', () => {
  test('is accepted until the token bucket is empty, and then answered 503 with a random retry-after', async () => {
    const accepted = countAccepted();
    const answers = await flood(CAPACITY + 100);
    expect(accepted()).toBe(CAPACITY);
    const refused = answers.filter(({ status }) => status !== 202);
    expect(refused.length).toBeGreaterThanOrEqual(100);
    for (const { status, json, cookies } of refused)
      expect([status, json.code, json.client_action, cookies]).toEqual([503, 'unavailable', 'retry', []]);
    const waits = refused.map(({ headers }) => Number(headers['retry-after']));
    expect(waits.every((seconds) => seconds >= 5 && seconds <= 30)).toBe(true);
    // With a hundred random values out of 26, fewer than 3 different ones have a probability below 10^-100.
    expect(new Set(waits).size).toBeGreaterThan(2);
  });

  test('is accepted again as fast as the token bucket fills, by the monotonic clock', async () => {
    await flood(CAPACITY);
    const accepted = countAccepted();
    service.clock.jump(10 * DAY_MS);
    await flood(20);
    expect(accepted()).toBe(0);
    service.clock.advance(3_000);
    await flood(20);
    expect(accepted()).toBe(3 * PER_SECOND);
  });

  test('writes nothing to the database for refused requests', async () => {
    await flood(CAPACITY);
    const database = service.app.get(DataSource);
    const [query, transaction] = [jest.spyOn(database, 'query'), jest.spyOn(database, 'transaction')];
    await flood(50);
    expect(transaction).not.toHaveBeenCalled();
    expect(query.mock.calls.filter(([sql]) => !sql.startsWith('select'))).toEqual([]);
  });

  test('does not count refused requests towards the limit of their address', async () => {
    const email = newEmail();
    await flood(CAPACITY);
    for (let times = 0; times < 12; times += 1) expect((await ask(browser(), email)).status).toBe(503);
    service.clock.advance(60_000);
    const accepted = countAccepted();
    for (let times = 0; times < 12; times += 1) await ask(browser(), email);
    expect(accepted()).toBe(10);
    expect((await answered(() => ask(browser(), email))).status).toBe(429);
  });

  test('requests that the limit of an address refuses do not empty the token bucket', async () => {
    const email = newEmail();
    for (let times = 0; times < CAPACITY + 20; times += 1) await ask(browser(), email);
    expect((await answered(() => ask(browser(), newEmail()))).status).toBe(202);
  });
});

/** Requests this many codes, to whose mails the mail server does not respond, and waits for the first of them. @returns the addresses */
async function requestStalledCodes(count: number): Promise<string[]> {
  const emails = Array.from({ length: count }, (_each, number) => `hangs-${number}-${newEmail()}`);
  for (const email of emails) await service.issue({ email });
  office.smtp.misbehave('rcpt', 'stall', /^hangs-/);
  const reached = office.smtp.reached('rcpt');
  for (const email of emails) await answered(() => ask(browser(), email));
  await reached;
  return emails;
}

describe('while code mails wait for a mail server that does not respond', () => {
  const WAITING = 20;

  test('the key of a purchase is mailed before all of them', async () => {
    const hanging = await requestStalledCodes(WAITING);
    const emails = Array.from({ length: 8 }, () => `buyer-${newEmail()}`);
    for (const email of emails) await office.sell(email);
    await Promise.all(emails.map((email) => office.smtp.mail(({ to }) => to.includes(email))));
    expect(office.smtp.accepted.filter(({ to }) => hanging.includes(to[0]!))).toEqual([]);
    expect(await countCodeJobs()).toBeGreaterThanOrEqual(WAITING);
    // At most one worker is busy with a code mail.
    expect(await countCodeJobs('locked_by is not null')).toBeLessThanOrEqual(1);
  });

  test('the code of a holder who is signed in with a key is mailed before all waiting ones', async () => {
    const license = await service.issue({ email: `holder-${newEmail()}` });
    const holder = await browser().byKey(license);
    const others = await requestStalledCodes(WAITING);
    expect((await answered(() => ask(holder, license.email))).status).toBe(202);
    office.smtp.behave();
    const mail = await office.smtp.mail(({ to }) => to.includes(license.email));
    const sentBefore = office.smtp.accepted.slice(0, office.smtp.accepted.indexOf(mail));
    // The mail that was being sent comes first, unless it was given up before.
    expect(sentBefore.filter(({ to }) => others.includes(to[0]!)).length).toBeLessThanOrEqual(1);
  });
});

test('the delivery of a code mail has a time limit of ten seconds, that of other mails the default', async () => {
  const deliver = jest.spyOn(service.app.get(Mailer), 'deliver');
  const license = await service.issue({ email: `usual-${newEmail()}` });
  await office.licenses.sendKey(license.license_id, { actor: 'test', reason: 'a test' });
  await answered(() => ask(browser(), license.email));
  const limits = () =>
    Object.fromEntries(
      deliver.mock.calls
        .filter(([, to]) => to === license.email)
        .map(([, , { subject }, { timeoutMs }]) => [
          subject.startsWith('Your code') ? 'code' : 'key',
          timeoutMs,
        ]),
    );
  await until(async () => Object.keys(limits()).length === 2);
  expect(limits()).toEqual({ code: 10_000, key: undefined });
});

test('a delivery that exceeds its time limit fails with: the mail server is too slow', async () => {
  office.smtp.misbehave('rcpt', 'stall');
  const message = { subject: 'A test', body: ['A test.'] };
  const options = { signal: new AbortController().signal, timeoutMs: 50 };
  const delivery = service.app.get(Mailer).deliver(randomUUID(), 'ada@example.com', message, options);
  await expect(delivery).rejects.toThrow('the mail server is too slow');
});

describe('a holder who is signed in with a key', () => {
  test('gets a code for their own address, whatever others have requested', async () => {
    const license = await service.issue({ email: `own-${newEmail()}` });
    const holder = await browser().byKey(license);
    for (let times = 0; times < 12; times += 1) await ask(browser(), license.email);
    expect((await answered(() => ask(browser(), license.email))).status).toBe(429);
    await flood(CAPACITY);
    expect((await ask(browser(), newEmail())).status).toBe(503);

    const answer = await answered(() => ask(holder, ` ${license.email.toUpperCase()} `));
    expect([answer.status, answer.text]).toEqual([202, '']);
    // The mailbox also has the codes that others requested.
    const [job] = await office.jobs.done('sign_in_code', holder.cookies.get('__Host-mooring_code')!);
    const mail = await office.smtp.mail(({ headers }) => headers['message-id']!.includes(job!.mail_id));
    const code = /^ {4}(\d{8})$/m.exec(mail.text)![1]!;
    const type = () => holder.call('POST', '/session', { email: license.email, code });
    expect((await answered(type)).status).toBe(204);
    expect((await answered(() => holder.call('GET', '/licenses'))).json.signed_in_by).toBe('code');
  });

  test('has a separate limit of ten codes a day for all sessions of the license', async () => {
    const license = await service.issue({ email: `ten-${newEmail()}` });
    const accepted = countAccepted();
    for (let times = 0; times < 12; times += 1) await ask(await browser().byKey(license), license.email);
    expect(accepted()).toBe(10);
    const refused = await answered(async () => ask(await browser().byKey(license), license.email));
    expect(refused).toMatchObject({ status: 429, json: { code: 'too_many_requests' }, cookies: [] });
    expect((await answered(() => ask(browser(), license.email))).status).toBe(202);
  });

  test('is limited as any caller for other addresses, also for that of another license', async () => {
    const [own, other] = [
      await service.issue({ email: `own-${newEmail()}` }),
      await service.issue({ email: `other-${newEmail()}` }),
    ];
    const holder = await browser().byKey(own);
    await flood(CAPACITY);
    for (const email of [other.email, newEmail()])
      expect(await ask(holder, email)).toMatchObject({ status: 503, json: { code: 'unavailable' } });
  });

  test('is limited as any caller when the session has ended', async () => {
    const license = await service.issue({ email: `ended-${newEmail()}` });
    const holder = await browser().byKey(license);
    await service.sql('delete from session where license_id = $1', [license.license_id]);
    await flood(CAPACITY);
    expect((await ask(holder, license.email)).status).toBe(503);
  });
});
