import { beforeEach, describe, expect, test } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { StaffService } from '../../src/staff/staff.service.js';
import { Sessions } from '../../src/http/sessions/sessions.js';
import { AUDIT_CONTEXT, NOW, Service, HOUR_MS, MINUTE_MS } from '../support/harness.js';
import { Browser, lastAuditEvent, createPrintedLink, signInStaff } from '../support-api/harness.js';
import { ORIGIN } from '../support/http/cookie-client.js';
import { OpenTransaction } from '../support/open-transaction.js';

const service = await Service.start();
const staff = service.app.get(StaffService);
await staff.add('grace@example.com', 'support', AUDIT_CONTEXT);
await staff.add('root@example.com', 'admin', AUDIT_CONTEXT);
beforeEach(() => service.clock.set(NOW));

const createLink = (email = 'grace@example.com') => createPrintedLink(service, email);
const signIn = (secret: string) => new Browser(service).post('session/link', { link: secret });

describe('a link', () => {
  test('signs in with a session cookie that is HttpOnly and SameSite=Strict', async () => {
    const browser = new Browser(service);
    const answer = await browser.post('session/link', { link: await createLink() });
    expect([answer.status, answer.text]).toEqual([204, '']);
    expect(answer.cookies).toEqual([
      expect.stringMatching(/^mooring_staff=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/),
    ]);
    const { status, json } = await browser.get('session');
    expect([status, json]).toEqual([
      200,
      { id: expect.any(String), email: 'grace@example.com', role: 'support', has_passkey: false },
    ]);
  });

  test('works once', async () => {
    const secret = await createLink();
    expect((await signIn(secret)).status).toBe(204);
    expect((await signIn(secret)).json.code).toBe('link_invalid');
  });

  test('signs in only one of several concurrent requests', async () => {
    const secret = await createLink();
    // The lock makes at least two requests read the link before one can use it.
    const lock = await OpenTransaction.begin(service, 'select 1 from staff_link for update');
    const requests = Array.from({ length: 4 }, () => signIn(secret));
    await lock.untilWaiting(Promise.race(requests), 2);
    await lock.commit();
    // If all requests exceed a time limit on a slow machine, the link is still valid.
    const answers = [...(await Promise.all(requests)), await signIn(secret)];
    expect(answers.filter(({ status }) => status === 204)).toHaveLength(1);
    expect(answers.at(-1)!.json?.code ?? 'signed in').toMatch(/^(link_invalid|signed in)$/);
  });

  test('works for exactly 30 minutes', async () => {
    const [early, late] = [await createLink(), await createLink()];
    service.clock.advance(30 * MINUTE_MS - 1);
    expect((await signIn(early)).status).toBe(204);
    service.clock.advance(1);
    expect((await signIn(late)).json.code).toBe('link_invalid');
    service.clock.advance(HOUR_MS);
    expect((await signIn(late)).json).toMatchObject({
      code: 'link_invalid',
      status: 403,
      client_action: 'fix',
    });
  });

  test('that was created while the clock was more than an hour ahead is invalid once the clock is right', async () => {
    const secret = await createLink();
    service.clock.advance(-HOUR_MS - 1);
    expect((await signIn(secret)).json.code).toBe('link_invalid');
    service.clock.advance(1);
    expect((await signIn(secret)).status).toBe(204);
  });

  test('that is unknown, changed by a character, or of a removed person does not sign in', async () => {
    await staff.add('leaver@example.com', 'support', AUDIT_CONTEXT);
    const linkOfRemoved = await createLink('leaver@example.com');
    await staff.remove(await staff.findId('leaver@example.com'), AUDIT_CONTEXT);
    const secret = await createLink();
    const changed = secret.startsWith('A') ? `B${secret.slice(1)}` : `A${secret.slice(1)}`;
    for (const wrong of [linkOfRemoved, changed, randomBytes(32).toString('base64url')]) {
      expect((await signIn(wrong)).json.code).toBe('link_invalid');
    }
    expect((await signIn(secret)).status).toBe(204);
  });

  test.each([
    ['absent', {}],
    ['null', { link: null }],
    ['a number', { link: 7 }],
    ['42 characters long', { link: 'x'.repeat(42) }],
    ['44 characters long', { link: 'x'.repeat(44) }],
    ['text with a character of base64 but not base64url', { link: `${'x'.repeat(42)}+` }],
    ['text with a line feed', { link: `${'x'.repeat(43)}\n` }],
  ])('that is %s is answered with 422 at /link', async (_what, body) => {
    const { status, json } = await new Browser(service).post('session/link', body);
    expect([status, json.errors[0].pointer]).toEqual([422, '/link']);
  });

  test('is not used up by a request from another site', async () => {
    const secret = await createLink();
    const browser = new Browser(service);
    const otherSites: Record<string, string>[] = [
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { 'sec-fetch-site': 'cross-site' },
    ];
    for (const headers of otherSites) {
      const path = '/support/api/session/link';
      const answer = await service.call('POST', path, { link: secret }, headers);
      expect([answer.status, answer.json.code, answer.cookies]).toEqual([403, 'cross_origin', []]);
    }
    expect((await browser.post('session/link', { link: secret })).status).toBe(204);
  });

  test('is recorded in the audit trail, and its secret is not in the table of links', async () => {
    const secret = await createLink();
    const staff_id = await staff.findId('grace@example.com');
    expect(await lastAuditEvent(service)).toMatchObject({
      actor: 'test',
      action: 'staff.link',
      change: { staff_id, mailed: false },
    });
    const rows = await service.sql('select l::text from staff_link l');
    expect(JSON.stringify(rows)).not.toContain(secret);
    expect(JSON.stringify(rows)).not.toContain(Buffer.from(secret, 'base64url').toString('hex'));
  });
});

describe('a session', () => {
  test('ends 30 minutes after its last use, and 12 hours after its beginning', async () => {
    const idle = await signInStaff(service, 'support', 'grace@example.com');
    service.clock.advance(30 * MINUTE_MS - 1);
    expect((await idle.get('session')).status).toBe(200);
    service.clock.advance(30 * MINUTE_MS);
    expect((await idle.get('session')).status).toBe(204);
    service.clock.set(NOW);
    const busy = await signInStaff(service, 'support', 'grace@example.com');
    for (let minutes = 20; minutes < 12 * 60; minutes += 20) {
      service.clock.advance(20 * MINUTE_MS);
      expect((await busy.get('session')).status).toBe(200);
    }
    service.clock.advance(20 * MINUTE_MS);
    expect((await busy.get('session')).status).toBe(204);
  });

  test('ends at the sign-out, which deletes its cookie', async () => {
    const browser = await signInStaff(service, 'support', 'grace@example.com');
    const cookiesBefore = new Map(browser.cookies);
    const { status, cookies } = await browser.call('DELETE', 'session');
    expect([status, cookies]).toEqual([
      204,
      [expect.stringMatching(/^mooring_staff=; .*Expires=Thu, 01 Jan 1970/)],
    ]);
    cookiesBefore.forEach((value, name) => browser.cookies.set(name, value));
    expect((await browser.get('session')).status).toBe(204);
    expect((await browser.call('DELETE', 'session')).status).toBe(401);
  });

  test('has the current role of its person, and ends when the person is removed', async () => {
    await staff.add('changing@example.com', 'admin', AUDIT_CONTEXT);
    const browser = await signInStaff(service, 'admin', 'changing@example.com');
    expect((await browser.get('staff')).status).toBe(200);
    const id = await staff.findId('changing@example.com');
    await staff.setRole(id, 'support', AUDIT_CONTEXT);
    expect((await browser.get('staff')).json.code).toBe('forbidden');
    await staff.remove(id, AUDIT_CONTEXT);
    expect((await browser.get('session')).status).toBe(204);
  });

  test('is not a token: the read of the session answers 204 to a staff token, and without a session', async () => {
    const authorization = `Bearer ${await service.staffToken('admin', 'root@example.com')}`;
    const headersOf: Record<string, string>[] = [{ authorization }, { cookie: 'mooring_staff=x' }, {}];
    for (const headers of headersOf) {
      const answer = await service.call('GET', '/support/api/session', undefined, headers);
      expect([answer.status, answer.text, answer.cookies]).toEqual([204, '', []]);
      expect(answer.headers['cache-control']).toBe('no-store');
    }
  });

  test('of a holder is not accepted by the support API, also in the cookie of staff', async () => {
    const { license_id } = await service.issue();
    for (const owner of [{ license_id }, { email: 'grace@example.com' }]) {
      const cookie = await service.app
        .get(Sessions)
        .begin(service.app.get(Sessions)['dataSource'].manager, owner);
      for (const name of ['mooring_staff', 'mooring_holder']) {
        const browser = new Browser(service);
        browser.cookies.set(name, cookie);
        expect((await browser.get('session')).status).toBe(204);
        expect((await browser.post('licenses/search', { email: 'a@b.example' })).json.code).toBe(
          'sign_in_required',
        );
      }
    }
  });

  test('and passkeys cannot be managed with a staff token', async () => {
    const authorization = `Bearer ${await service.staffToken('admin', 'root@example.com')}`;
    for (const [method, path] of [
      ['DELETE', 'session'],
      ['GET', 'passkeys'],
      ['POST', 'passkeys/options'],
      ['POST', 'passkeys'],
    ]) {
      const body = path === 'passkeys' && method === 'POST' ? { response: { id: 'x' } } : undefined;
      const { status } = await service.call(method!, `/support/api/${path}`, body, { authorization });
      expect([method, path, status]).toEqual([method, path, 401]);
    }
    expect((await service.call('GET', '/support/api/staff', undefined, { authorization })).status).toBe(200);
  });

  test('does not authorize a write from another site', async () => {
    const browser = await signInStaff(service, 'admin', 'root@example.com');
    const cookie = `mooring_staff=${browser.cookies.get('mooring_staff')}`;
    const write = (headers: Record<string, string>) =>
      service.call('POST', '/support/api/licenses/search', { email: 'a@b.example' }, { cookie, ...headers });
    const otherSites: Record<string, string>[] = [
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { origin: `${ORIGIN}.evil.example` },
      { origin: 'http://localhost:3001' },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { 'sec-fetch-site': 'none' },
      {},
    ];
    for (const headers of otherSites) {
      expect((await write(headers)).json.code).toBe('cross_origin');
    }
    expect((await write({ origin: ORIGIN })).status).toBe(200);
    expect((await write({ 'sec-fetch-site': 'same-origin' })).status).toBe(200);
  });
});

test('with an https PUBLIC_URL the cookies have the prefix __Host-', async () => {
  const secure = await Service.start({ environment: { PUBLIC_URL: 'https://licenses.example.org' } });
  await secure.app.get(StaffService).add('grace@example.com', 'support', AUDIT_CONTEXT);
  const browser = new Browser(secure);
  browser.origin = 'https://licenses.example.org';
  const { cookies } = await browser.post('session/link', {
    link: await createPrintedLink(secure, 'grace@example.com'),
  });
  expect(cookies).toEqual([
    expect.stringMatching(/^__Host-mooring_staff=[\w-]{43}; Path=\/; HttpOnly; Secure; SameSite=Strict$/),
  ]);
  expect((await browser.get('session')).status).toBe(200);
  await secure.close();
});
