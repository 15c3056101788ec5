import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { DataSource } from 'typeorm';
import { Mailer } from '../../src/mail/mailer.js';
import { until } from '../erasure/harness.js';
import { SignInCodes } from '../../src/license-portal/sign-in-codes.js';
import { answered, type Answer, type Service } from '../support/harness.js';
import { PostOffice, PUBLIC_URL } from '../mail/harness.js';
import { Browser } from './harness.js';

/** What one instance takes at once, and then every second (docs/decisions/0027). */
const [CAPACITY, PER_SECOND] = [100, 2];
/** A day: whatever limit counted before has ended, and is full again. */
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
const made = () => `${randomUUID()}@flood.example`;

/** So many requests for codes, each for another address, some at once. */
async function flood(count: number): Promise<Answer[]> {
  const answers: Answer[] = [];
  while (answers.length < count) {
    const some = Array.from({ length: Math.min(20, count - answers.length) }, () => ask(browser(), made()));
    answers.push(...(await Promise.all(some)));
  }
  return answers;
}

const jobs = async (which = 'true') =>
  (
    await service.sql(`select 1 from graphile_worker.jobs
      where task_identifier = 'mail_sign_in_code' and ${which}`)
  ).length;
/** How many requests are let through from now on, whatever became of them on a busy machine. */
function letThrough(): () => number {
  const asked = jest.spyOn(service.app.get(SignInCodes), 'send');
  return () => asked.mock.calls.length;
}

describe('a flood of requests for codes', () => {
  test('is let through as far as the bucket goes, and then answered 503 with a spread retry-after', async () => {
    const through = letThrough();
    const answers = await flood(CAPACITY + 100);
    expect(through()).toBe(CAPACITY);
    const refused = answers.filter(({ status }) => status !== 202);
    expect(refused.length).toBeGreaterThanOrEqual(100);
    for (const { status, json, cookies } of refused)
      expect([status, json.code, json.client_action, cookies]).toEqual([503, 'unavailable', 'retry', []]);
    const waits = refused.map(({ headers }) => Number(headers['retry-after']));
    expect(waits.every((seconds) => seconds >= 5 && seconds <= 30)).toBe(true);
    // A hundred of 26 values: that they are fewer than 3 is less likely than one in 10^100.
    expect(new Set(waits).size).toBeGreaterThan(2);
  });

  test('is let through again as fast as the bucket fills, by a clock that does not jump', async () => {
    await flood(CAPACITY);
    const through = letThrough();
    service.clock.jump(10 * DAY_MS);
    await flood(20);
    expect(through()).toBe(0);
    service.clock.advance(3_000);
    await flood(20);
    expect(through()).toBe(3 * PER_SECOND);
  });

  test('writes nothing where it is refused', async () => {
    await flood(CAPACITY);
    const database = service.app.get(DataSource);
    const [query, transaction] = [jest.spyOn(database, 'query'), jest.spyOn(database, 'transaction')];
    await flood(50);
    expect(transaction).not.toHaveBeenCalled();
    expect(query.mock.calls.filter(([sql]) => !sql.startsWith('select'))).toEqual([]);
  });

  test('counts for no address where it is refused: who comes back later has ten as before', async () => {
    const email = made();
    await flood(CAPACITY);
    for (let times = 0; times < 12; times += 1) expect((await ask(browser(), email)).status).toBe(503);
    service.clock.advance(60_000);
    const through = letThrough();
    for (let times = 0; times < 12; times += 1) await ask(browser(), email);
    expect(through()).toBe(10);
    expect((await answered(() => ask(browser(), email))).status).toBe(429);
  });

  test('what the limit of an address refuses takes nothing from others', async () => {
    const email = made();
    for (let times = 0; times < CAPACITY + 20; times += 1) await ask(browser(), email);
    expect((await answered(() => ask(browser(), made()))).status).toBe(202);
  });
});

/** Asks for so many codes to which the mail server says nothing; the first of them is on its way. @returns for whom */
async function codesThatHang(count: number): Promise<string[]> {
  const emails = Array.from({ length: count }, (_each, number) => `hangs-${number}-${made()}`);
  for (const email of emails) await service.issue({ email });
  office.smtp.misbehave('rcpt', 'stall', /^hangs-/);
  const reached = office.smtp.reached('rcpt');
  for (const email of emails) await answered(() => ask(browser(), email));
  await reached;
  return emails;
}

describe('while code mails wait for a mail server that says nothing to them', () => {
  const WAITING = 20;

  test("a purchase's key is mailed before any of them, as are other mails", async () => {
    const hanging = await codesThatHang(WAITING);
    const emails = Array.from({ length: 8 }, () => `buyer-${made()}`);
    for (const email of emails) await office.sell(email);
    await Promise.all(emails.map((email) => office.smtp.mail(({ to }) => to.includes(email))));
    expect(office.smtp.accepted.filter(({ to }) => hanging.includes(to[0]!))).toEqual([]);
    expect(await jobs()).toBeGreaterThanOrEqual(WAITING);
    // At most one worker is held.
    expect(await jobs('locked_by is not null')).toBeLessThanOrEqual(1);
  });

  test('who signed in by key gets the next code, before all others that wait', async () => {
    const license = await service.issue({ email: `holder-${made()}` });
    const holder = await browser().byKey(license);
    const others = await codesThatHang(WAITING);
    expect((await answered(() => ask(holder, license.email))).status).toBe(202);
    office.smtp.behave();
    const mail = await office.smtp.mail(({ to }) => to.includes(license.email));
    const sentBefore = office.smtp.accepted.slice(0, office.smtp.accepted.indexOf(mail));
    // The one that was on its way comes first, if it was not given up before.
    expect(sentBefore.filter(({ to }) => others.includes(to[0]!)).length).toBeLessThanOrEqual(1);
  });
});

test('a code mail is given up after ten seconds and tried again, any other after the usual minute', async () => {
  const deliver = jest.spyOn(service.app.get(Mailer), 'deliver');
  const license = await service.issue({ email: `usual-${made()}` });
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

test('a mail server that says nothing within the limit of a mail is reported as too slow', async () => {
  office.smtp.misbehave('rcpt', 'stall');
  const message = { subject: 'A test', body: ['A test.'] };
  const options = { signal: new AbortController().signal, timeoutMs: 50 };
  const delivery = service.app.get(Mailer).deliver(randomUUID(), 'ada@example.com', message, options);
  await expect(delivery).rejects.toThrow('the mail server is too slow');
});

describe('a holder who signed in by key', () => {
  test('gets a code for the own mailbox, whatever others have asked for', async () => {
    const license = await service.issue({ email: `own-${made()}` });
    const holder = await browser().byKey(license);
    for (let times = 0; times < 12; times += 1) await ask(browser(), license.email);
    expect((await answered(() => ask(browser(), license.email))).status).toBe(429);
    await flood(CAPACITY);
    expect((await ask(browser(), made())).status).toBe(503);

    const answer = await answered(() => ask(holder, ` ${license.email.toUpperCase()} `));
    expect([answer.status, answer.text]).toEqual([202, '']);
    // One of several in the mailbox: those that others asked for are there too.
    const [job] = await office.jobs.done('sign_in_code', holder.cookies.get('__Host-mooring_code')!);
    const mail = await office.smtp.mail(({ headers }) => headers['message-id']!.includes(job!.mail_id));
    const code = /^ {4}(\d{8})$/m.exec(mail.text)![1]!;
    const type = () => holder.call('POST', '/session', { email: license.email, code });
    expect((await answered(type)).status).toBe(204);
    expect((await answered(() => holder.call('GET', '/licenses'))).json.signed_in_by).toBe('code');
  });

  test('has a limit of ten a day too, over all sessions of the license, and uses none of the address', async () => {
    const license = await service.issue({ email: `ten-${made()}` });
    const through = letThrough();
    for (let times = 0; times < 12; times += 1) await ask(await browser().byKey(license), license.email);
    expect(through()).toBe(10);
    const refused = await answered(async () => ask(await browser().byKey(license), license.email));
    expect(refused).toMatchObject({ status: 429, json: { code: 'too_many_requests' }, cookies: [] });
    expect((await answered(() => ask(browser(), license.email))).status).toBe(202);
  });

  test('is any other caller for another address, also one of another license', async () => {
    const [own, other] = [
      await service.issue({ email: `own-${made()}` }),
      await service.issue({ email: `other-${made()}` }),
    ];
    const holder = await browser().byKey(own);
    await flood(CAPACITY);
    for (const email of [other.email, made()])
      expect(await ask(holder, email)).toMatchObject({ status: 503, json: { code: 'unavailable' } });
  });

  test('is any other caller once the session has ended', async () => {
    const license = await service.issue({ email: `ended-${made()}` });
    const holder = await browser().byKey(license);
    await service.sql('delete from session where license_id = $1', [license.license_id]);
    await flood(CAPACITY);
    expect((await ask(holder, license.email)).status).toBe(503);
  });
});
