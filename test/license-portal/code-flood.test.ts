import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { DataSource } from 'typeorm';
import { DAY_MS } from '../../src/core/clock.js';
import { Mailer } from '../../src/mail/mailer.js';
import { until } from '../support/until.js';
import { SignInCodes } from '../../src/license-portal/sign-in-codes.js';
import { AUDIT_CONTEXT, retryWhileUnavailable, type Answer } from '../support/harness.js';
import { MailHarness, PUBLIC_URL } from '../mail/harness.js';
import { Browser } from './harness.js';
import { english } from '../support/languages.js';

/** The size of the token bucket, and the tokens that it gets per second (docs/decisions/0027). */
const BUCKET_SIZE = 100;
const TOKENS_PER_SECOND = 2;

const harness = await MailHarness.start();
const service = harness.service;
// After a day all limits are reset.
beforeEach(() => service.clock.advance(DAY_MS));
afterEach(async () => {
  harness.smtp.behave();
  jest.restoreAllMocks();
  await service.sql(`select graphile_worker.remove_job(key) from graphile_worker.jobs
    where task_identifier = 'mail_sign_in_code' and locked_by is null`);
});

const newBrowser = () => new Browser(service, new URL(PUBLIC_URL).origin);
const requestCode = (from: Browser, email: string) => from.call('POST', '/session/code', { email });
const newEmail = () => `${randomUUID()}@flood.example`;

/** Sends this many requests for codes, each for another address, 20 at a time. */
async function floodRequests(count: number): Promise<Answer[]> {
  const answers: Answer[] = [];
  while (answers.length < count) {
    const batch = Array.from({ length: Math.min(20, count - answers.length) }, () =>
      requestCode(newBrowser(), newEmail()),
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
/**
 * Counts the requests that the limits accept from now on. The responses do not show this number: on an overloaded computer
 * an accepted request may be answered 503 too.
 */
function countAccepted(): () => number {
  const send = jest.spyOn(service.app.get(SignInCodes), 'send');
  return () => send.mock.calls.length;
}

describe('a flood of requests for codes', () => {
  test('is accepted until the token bucket is empty, and then answered 503 with a random retry-after, without a write', async () => {
    const accepted = countAccepted();
    await floodRequests(BUCKET_SIZE);
    const database = service.app.get(DataSource);
    const [query, transaction] = [jest.spyOn(database, 'query'), jest.spyOn(database, 'transaction')];
    const refused = await floodRequests(100);
    expect(accepted()).toBe(BUCKET_SIZE);
    expect(transaction).not.toHaveBeenCalled();
    expect(query.mock.calls.filter(([sql]) => !sql.startsWith('select'))).toEqual([]);
    for (const { status, json, cookies } of refused)
      expect([status, json.code, json.client_action, cookies]).toEqual([503, 'unavailable', 'retry', []]);
    const waits = refused.map(({ headers }) => Number(headers['retry-after']));
    expect(waits.every((seconds) => seconds >= 5 && seconds <= 30)).toBe(true);
    // With a hundred random values out of 26, fewer than 3 different ones have a probability below 10^-100.
    expect(new Set(waits).size).toBeGreaterThan(2);
  });

  test('is accepted again as fast as the token bucket fills, by the monotonic clock', async () => {
    await floodRequests(BUCKET_SIZE);
    const accepted = countAccepted();
    service.clock.jump(10 * DAY_MS);
    await floodRequests(20);
    expect(accepted()).toBe(0);
    service.clock.advance(3_000);
    await floodRequests(20);
    expect(accepted()).toBe(3 * TOKENS_PER_SECOND);
  });

  test('counts towards the limit of an address only with its accepted requests', async () => {
    const email = newEmail();
    await floodRequests(BUCKET_SIZE);
    for (let times = 0; times < 12; times += 1)
      expect((await requestCode(newBrowser(), email)).status).toBe(503);
    service.clock.advance(60_000);
    const accepted = countAccepted();
    for (let times = 0; times < 12; times += 1) await requestCode(newBrowser(), email);
    expect(accepted()).toBe(10);
    expect((await retryWhileUnavailable(() => requestCode(newBrowser(), email))).status).toBe(429);
  });

  test('takes no token from the bucket for requests that the limit of an address refuses', async () => {
    const email = newEmail();
    for (let times = 0; times < BUCKET_SIZE + 20; times += 1) await requestCode(newBrowser(), email);
    expect((await retryWhileUnavailable(() => requestCode(newBrowser(), newEmail()))).status).toBe(202);
  });
});

/**
 * Requests this many codes whose mails wait, because the mail server does not respond, and waits until the first mail
 * reaches the mail server. @returns the addresses
 */
async function requestStalledCodes(count: number): Promise<string[]> {
  const emails = Array.from({ length: count }, (_each, number) => `hangs-${number}-${newEmail()}`);
  for (const email of emails) await service.issue({ email });
  harness.smtp.misbehave('rcpt', 'stall', /^hangs-/);
  const reached = harness.smtp.untilReached('rcpt');
  for (const email of emails) await retryWhileUnavailable(() => requestCode(newBrowser(), email));
  await reached;
  return emails;
}

describe('while code mails wait for a mail server that does not respond', () => {
  const WAITING_CODES = 20;

  test('the key of a purchase is mailed meanwhile, because at most one worker is busy with code mails', async () => {
    await requestStalledCodes(WAITING_CODES);
    const emails = Array.from({ length: 8 }, () => `buyer-${newEmail()}`);
    for (const email of emails) await harness.sell(email);
    await Promise.all(emails.map((email) => harness.smtp.untilAccepted(({ to }) => to.includes(email))));
    expect(await countCodeJobs()).toBeGreaterThanOrEqual(WAITING_CODES);
    expect(await countCodeJobs('locked_by is not null')).toBeLessThanOrEqual(1);
  });

  test('the code of a holder who is signed in with a key is mailed before all waiting ones', async () => {
    const license = await service.issue({ email: `holder-${newEmail()}` });
    const holder = await newBrowser().signInByKey(license);
    const others = await requestStalledCodes(WAITING_CODES);
    expect((await retryWhileUnavailable(() => requestCode(holder, license.email))).status).toBe(202);
    harness.smtp.behave();
    const mail = await harness.smtp.untilAccepted(({ to }) => to.includes(license.email));
    const sentBefore = harness.smtp.accepted.slice(0, harness.smtp.accepted.indexOf(mail));
    // The mail that was being sent comes first, unless it was given up before.
    expect(sentBefore.filter(({ to }) => others.includes(to[0]!)).length).toBeLessThanOrEqual(1);
  });
});

test('the delivery of a code mail has a time limit of ten seconds, and that of other mails has the default limit', async () => {
  const deliver = jest.spyOn(service.app.get(Mailer), 'deliver');
  const license = await service.issue({ email: `usual-${newEmail()}` });
  await harness.licenses.sendKey(license.license_id, AUDIT_CONTEXT);
  await retryWhileUnavailable(() => requestCode(newBrowser(), license.email));
  const limits = () =>
    Object.fromEntries(
      deliver.mock.calls
        .filter(([, to]) => to === license.email)
        .map(([, , { subject }, { timeoutMs }]) => [
          subject.includes('is your code') ? 'code' : 'key',
          timeoutMs,
        ]),
    );
  await until(async () => Object.keys(limits()).length === 2);
  expect(limits()).toEqual({ code: 10_000, key: undefined });
});

test('a delivery that exceeds its time limit fails, because the mail server is too slow', async () => {
  harness.smtp.misbehave('rcpt', 'stall');
  const message = { subject: 'A test', body: ['A test.'] };
  const options = { signal: new AbortController().signal, timeoutMs: 50, language: english };
  const delivery = service.app.get(Mailer).deliver(randomUUID(), 'ada@example.com', message, options);
  await expect(delivery).rejects.toThrow('the mail server is too slow');
});

describe('a holder who is signed in with a key', () => {
  test('gets a code for their own address, whatever others have requested', async () => {
    const license = await service.issue({ email: `own-${newEmail()}` });
    const holder = await newBrowser().signInByKey(license);
    for (let times = 0; times < 12; times += 1) await requestCode(newBrowser(), license.email);
    expect((await retryWhileUnavailable(() => requestCode(newBrowser(), license.email))).status).toBe(429);
    await floodRequests(BUCKET_SIZE);
    expect((await requestCode(newBrowser(), newEmail())).status).toBe(503);

    const answer = await retryWhileUnavailable(() => requestCode(holder, ` ${license.email.toUpperCase()} `));
    expect([answer.status, answer.json]).toEqual([202, { sent_to: license.email }]);
    // The mailbox also has the codes that others requested. The cookie has the id of this code, by which its job is found.
    const [job] = await harness.jobs.untilDone('sign_in_code', holder.cookies.get('__Host-mooring_code')!);
    const mail = await harness.smtp.untilAccepted(({ headers }) =>
      headers['message-id']!.includes(job!.mail_id),
    );
    const code = /^ {4}(\d{4} \d{4})$/m.exec(mail.text)![1]!;
    const signIn = () => holder.call('POST', '/session', { email: license.email, code });
    expect((await retryWhileUnavailable(signIn)).status).toBe(204);
    expect((await retryWhileUnavailable(() => holder.call('GET', '/session'))).json.signed_in_by).toBe(
      'code',
    );
  });

  test('has a separate limit of ten codes a day for all sessions of the license', async () => {
    const license = await service.issue({ email: `ten-${newEmail()}` });
    const accepted = countAccepted();
    for (let times = 0; times < 12; times += 1)
      await requestCode(await newBrowser().signInByKey(license), license.email);
    expect(accepted()).toBe(10);
    const refused = await retryWhileUnavailable(async () =>
      requestCode(await newBrowser().signInByKey(license), license.email),
    );
    expect(refused).toMatchObject({ status: 429, json: { code: 'too_many_requests' }, cookies: [] });
    expect((await retryWhileUnavailable(() => requestCode(newBrowser(), license.email))).status).toBe(202);
  });

  test('is limited like every caller when requesting a code for another address, also for that of another license, and after the session has ended', async () => {
    const [own, other] = [
      await service.issue({ email: `own-${newEmail()}` }),
      await service.issue({ email: `other-${newEmail()}` }),
    ];
    const holder = await newBrowser().signInByKey(own);
    await floodRequests(BUCKET_SIZE);
    for (const email of [other.email, newEmail()])
      expect(await requestCode(holder, email)).toMatchObject({ status: 503, json: { code: 'unavailable' } });
    await service.sql('delete from session where license_id = $1', [own.license_id]);
    expect((await requestCode(holder, own.email)).status).toBe(503);
  });
});
