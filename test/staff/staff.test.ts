import { beforeEach, describe, expect, test } from '@jest/globals';
import { createHmac, randomUUID } from 'node:crypto';
import { Config } from '../../src/core/config.js';
import { licenseKeySecret } from '../../src/keys/key-material.js';
import { StaffService } from '../../src/staff/staff.service.js';
import { StaffTokensService } from '../../src/staff/tokens/staff-tokens.service.js';
import type { Answer } from '../support/harness.js';
import { MailHarness } from '../mail/harness.js';
import {
  Browser,
  lastAuditEvent,
  lastMailTo,
  createPrintedLink,
  signInStaff,
} from '../support-api/harness.js';
import { AUDIT_CONTEXT, NOW, HOUR_MS } from '../support/harness.js';
import { OpenTransaction } from '../support/open-transaction.js';
import { until } from '../support/until.js';

const ORIGIN = 'https://licenses.example.org';
const REASON = { reason: 'Joined the team.' };

let newcomerCount = 0;
const harness = await MailHarness.start();
const service = harness.service;
const staff = service.app.get(StaffService);
const admin = await signInStaff(service, 'admin', 'root@example.com', ORIGIN);
beforeEach(() => service.clock.set(NOW));

const newEmail = () => `newcomer-${(newcomerCount += 1)}@example.com`;
async function addStaff(role: 'support' | 'admin' = 'support') {
  const { json } = await admin.post('staff', { email: newEmail(), role });
  return json.staff as { id: string; email: string };
}

describe('people', () => {
  test('are added, listed and given another role, with audit events', async () => {
    const email = newEmail();
    const { status, json } = await admin.post('staff', {
      email: ` ${email.toUpperCase()} `,
      role: 'support',
    });
    expect([status, json]).toEqual([
      201,
      { staff: { id: expect.any(String), email, role: 'support', created_at: NOW, passkeys: 0 } },
    ]);
    const { id } = json.staff;
    expect(await lastAuditEvent(service)).toMatchObject({
      actor: 'root@example.com',
      action: 'staff.add',
      change: { staff_id: id, role: 'support' },
    });
    const changed = await admin.call('PATCH', `staff/${id}`, { role: 'admin', ...REASON });
    expect([changed.status, changed.json.staff.role]).toEqual([200, 'admin']);
    expect(await lastAuditEvent(service)).toMatchObject({
      action: 'staff.role',
      reason: REASON.reason,
      change: { staff_id: id, role: 'admin', before: { role: 'support' } },
    });
    expect((await admin.get('staff')).json.staff).toContainEqual({ ...json.staff, role: 'admin' });
  });

  test('with an existing address cannot be added, because changing a role needs a reason', async () => {
    const { email, id } = await addStaff();
    const again = await admin.post('staff', { email, role: 'admin' });
    expect([again.status, again.json.errors[0].pointer]).toEqual([422, '/email']);
    expect((await staff.getView(id)).role).toBe('support');
  });

  test('who are removed lose sessions, tokens, passkeys and links at once, and stay in the audit trail', async () => {
    const { id, email } = await addStaff();
    const browser = await signInStaff(service, 'support', email, ORIGIN);
    const { token } = await service.app.get(StaffTokensService).create(email, AUDIT_CONTEXT);
    const link = await createPrintedLink(service, email);
    await service.sql(
      `insert into passkey (id, staff_id, credential_id, public_key, sign_count, transports, created_at)
       values (gen_random_uuid(), $1, 'x', 'x', 0, '{}', now())`,
      [id],
    );
    const license = await service.issue();
    await browser.post(`licenses/${license.license_id}/send-key`);
    const { status, text } = await admin.post(`staff/${id}/remove`, { reason: 'Left the team.' });
    expect([status, text]).toEqual([204, '']);
    expect(await lastAuditEvent(service)).toMatchObject({
      actor: 'root@example.com',
      action: 'staff.remove',
      reason: 'Left the team.',
      change: { staff_id: id, before: { role: 'support' } },
    });
    expect((await browser.get('fleet')).status).toBe(401);
    const authorization = `Bearer ${token}`;
    expect((await service.call('GET', '/support/api/fleet', undefined, { authorization })).status).toBe(401);
    const signIn = await new Browser(service, ORIGIN).post('session/link', { link });
    expect(signIn.json.code).toBe('link_invalid');
    for (const table of ['session', 'staff_token', 'passkey', 'staff_link']) {
      expect(await service.sql(`select 1 from ${table} where staff_id = $1`, [id])).toEqual([]);
    }
    const { events } = (await admin.get(`audit?license_id=${license.license_id}`)).json;
    expect(events[0]).toMatchObject({ actor: email, action: 'license.send_key' });
    expect((await admin.post(`staff/${id}/remove`, REASON)).json.code).toBe('not_found');
  });

  test.each([randomUUID(), 'x', '%00'])('and tokens are not found by the id %s', async (id) => {
    for (const answer of [
      await admin.call('PATCH', `staff/${id}`, { role: 'admin', ...REASON }),
      await admin.post(`staff/${id}/remove`, REASON),
      await admin.post(`staff/${id}/link`),
      await admin.post(`tokens/${id}/revoke`, REASON),
    ]) {
      expect([answer.status, answer.json.code]).toEqual([404, 'not_found']);
    }
  });
});

test.each<[string, string, string, object, string]>([
  ['no e-mail', 'POST', 'staff', { role: 'support' }, '/email'],
  ['an invalid e-mail', 'POST', 'staff', { email: 'x', role: 'support' }, '/email'],
  ['no role', 'POST', 'staff', { email: 'x@example.com' }, '/role'],
  ['another role', 'POST', 'staff', { email: 'x@example.com', role: 'root' }, '/role'],
  ['a list of roles', 'POST', 'staff', { email: 'x@example.com', role: ['admin'] }, '/role'],
  ['another role', 'PATCH', 'staff/{id}', { role: 'root', ...REASON }, '/role'],
  ['no reason', 'PATCH', 'staff/{id}', { role: 'admin' }, '/reason'],
  ['no reason', 'POST', 'staff/{id}/remove', {}, '/reason'],
  ['no reason', 'POST', 'tokens/{id}/revoke', {}, '/reason'],
])('a request with %s is answered with 422: %s %s', async (_what, method, path, body, pointer) => {
  const { id } = await addStaff();
  const { status, json } = await admin.call(method, path.replace('{id}', id), body);
  expect([status, json.errors[0].pointer]).toEqual([422, pointer]);
});

describe('the last admin', () => {
  const admins = () => service.sql<{ id: string }>("select id from staff where role = 'admin'");
  /** Makes these staff admins and all others support. */
  async function setAdmins(...ids: string[]): Promise<void> {
    await service.sql("update staff set role = case when id = any($1) then 'admin' else 'support' end", [
      ids,
    ]);
  }

  test('cannot be removed or given another role', async () => {
    const id = await staff.findId('root@example.com');
    await setAdmins(id);
    // A client may send the id in upper case.
    for (const spelled of [id, id.toUpperCase()]) {
      for (const refused of [
        await admin.post(`staff/${spelled}/remove`, REASON),
        await admin.call('PATCH', `staff/${spelled}`, { role: 'support', ...REASON }),
      ]) {
        expect([refused.status, refused.json.code]).toEqual([409, 'last_admin']);
      }
    }
    await expect(staff.ensure('root@example.com', 'support', AUDIT_CONTEXT)).rejects.toMatchObject({
      code: 'last_admin',
    });
    expect((await admin.call('PATCH', `staff/${id}`, { role: 'admin', ...REASON })).status).toBe(200);
    const { id: second } = await addStaff('admin');
    expect((await admin.post(`staff/${second}/remove`, REASON)).status).toBe(204);
    expect(await admins()).toEqual([{ id }]);
  });

  test('is kept, also if two admins are removed or demoted concurrently', async () => {
    const first = await staff.findId('root@example.com');
    const changes: ((id: string) => Promise<unknown>)[] = [
      (id) => staff.remove(id, AUDIT_CONTEXT),
      (id) => staff.setRole(id, 'support', AUDIT_CONTEXT),
    ];
    // The rounds try each of the four pairs of changes twice.
    for (let round = 0; round < 8; round += 1) {
      const { staff_id: one } = await staff.ensure(newEmail(), 'admin', AUDIT_CONTEXT);
      const { staff_id: two } = await staff.ensure(newEmail(), 'admin', AUDIT_CONTEXT);
      await setAdmins(one, two);
      const done = await Promise.allSettled([changes[round % 2]!(one), changes[(round >> 1) % 2]!(two)]);
      expect(done.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      expect(done.find(({ status }) => status === 'rejected')).toMatchObject({
        reason: { code: 'last_admin' },
      });
      expect(await admins()).toHaveLength(1);
    }
    await setAdmins(first);
  });
});

describe('an admin who loses the role at the same moment', () => {
  const waiting = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
  /** Runs statements in a transaction, which is committed when the requests wait for its locks, or are answered. */
  async function during(sql: string, ...requests: (() => Promise<Answer>)[]): Promise<Answer[]> {
    const transaction = await service.database.connect();
    await transaction.query(`begin; ${sql}`);
    let answered = 0;
    const answers = Promise.all(requests.map((send) => send().finally(() => (answered += 1))));
    const isWaiting = async () => answered + (await service.sql(waiting)).length >= requests.length;
    await until(isWaiting);
    await transaction.query('commit');
    transaction.release();
    return answers;
  }

  const requests: Record<
    string,
    (browser: Browser, other: { id: string; email: string }) => Promise<Answer>
  > = {
    'adds no person': (browser) => browser.post('staff', { email: newEmail(), role: 'admin' }),
    'changes no role': (browser, { id }) =>
      browser.call('PATCH', `staff/${id}`, { role: 'admin', ...REASON }),
    'removes no person': (browser, { id }) => browser.post(`staff/${id}/remove`, REASON),
    'sends no link': (browser, { id }) => browser.post(`staff/${id}/link`),
  };
  describe.each(['delete from staff', `update staff set role = 'support'`])('by %s', (statement) => {
    test.each(Object.keys(requests))('%s', async (name) => {
      const acting = await addStaff('admin');
      const browser = await signInStaff(service, 'admin', acting.email, ORIGIN);
      const other = await addStaff();
      const read = () => service.sql(`select id, role from staff where id <> '${acting.id}' order by id`);
      const before = await read();
      const [answer] = await during(`${statement} where id = '${acting.id}'`, () =>
        requests[name]!(browser, other),
      );
      expect([answer!.status, answer!.json?.code]).toEqual([403, 'forbidden']);
      expect(await read()).toEqual(before);
      expect(await service.sql('select 1 from staff_link where staff_id = $1', [other.id])).toEqual([]);
    });
  });

  test('of two admins who remove each other at once only one succeeds, also if a third one remains', async () => {
    const people = [await addStaff('admin'), await addStaff('admin')] as const;
    const [one, two] = people;
    const browsers = await Promise.all(
      people.map(({ email }) => signInStaff(service, 'admin', email, ORIGIN)),
    );
    const answers = await during(
      `select 1 from staff where id in ('${one.id}', '${two.id}') for update`,
      () => browsers[0]!.post(`staff/${two.id}/remove`, REASON),
      () => browsers[1]!.post(`staff/${one.id}/remove`, REASON),
    );
    expect(answers.map(({ status }) => status).toSorted()).toEqual([204, 403]);
  });
});

describe('a mailed link', () => {
  const linkOf = (email: string) =>
    /^https:\/\/licenses\.example\.org\/shop\/support\/#link=([\w-]{43})$/m.exec(
      lastMailTo(harness, email),
    )![1]!;
  const signIn = (link: string) => new Browser(service, ORIGIN).post('session/link', { link });

  test('has a secret that cannot be derived from LICENSE_KEY_SECRET and the id of the link', async () => {
    const { id, email } = await addStaff();
    await admin.post(`staff/${id}/link`);
    const [row] = await service.sql<{ id: string }>('select id from staff_link where staff_id = $1', [id]);
    await harness.jobs.untilDone('staff_link', row!.id);
    const secret = await licenseKeySecret(service.app.get(Config));
    // The derivation before docs/decisions/0027, and the present one without the nonce, which only the database has.
    for (const domain of ['mooring staff link v1\0', 'mooring staff link v2\0']) {
      const guess = createHmac('sha256', secret).update(domain).update(row!.id).digest('base64url');
      expect((await signIn(guess)).json?.code).toBe('link_invalid');
    }
    expect((await signIn(linkOf(email))).status).toBe(204);
  });

  test('is mailed to the staff member, signs in once, and is recorded in the audit trail', async () => {
    const { id, email } = await addStaff();
    const { status, text } = await admin.post(`staff/${id}/link`);
    expect([status, text]).toEqual([202, '']);
    expect(await lastAuditEvent(service)).toMatchObject({
      actor: 'root@example.com',
      action: 'staff.link',
      change: { staff_id: id, mailed: true },
    });
    const [row] = await service.sql<{ id: string }>('select id from staff_link where staff_id = $1', [id]);
    await harness.jobs.untilDone('staff_link', row!.id);
    const link = linkOf(email);
    expect((await signIn(link)).status).toBe(204);
    expect((await signIn(link)).json.code).toBe('link_invalid');
  });

  test('expires after 30 minutes, and is invalid if the staff member has a passkey', async () => {
    const { id, email } = await addStaff();
    const mailLink = async () => {
      await admin.post(`staff/${id}/link`);
      const rows = await service.sql<{ id: string }>('select id from staff_link where staff_id = $1', [id]);
      for (const { id: linkId } of rows) await harness.jobs.untilDone('staff_link', linkId);
      return linkOf(email);
    };
    const expired = await mailLink();
    service.clock.advance(30 * 60_000);
    expect((await signIn(expired)).json.code).toBe('link_invalid');
    service.clock.set(NOW);
    await service.sql('delete from staff_link');
    const link = await mailLink();
    await service.sql(
      `insert into passkey (id, staff_id, credential_id, public_key, sign_count, transports, created_at)
       values (gen_random_uuid(), $1, 'y', 'y', 0, '{}', now())`,
      [id],
    );
    expect((await signIn(link)).json.code).toBe('link_invalid');
    const refused = await admin.post(`staff/${id}/link`);
    expect([refused.status, refused.json.code]).toEqual([409, 'has_passkey']);
  });

  test('has its secret in no row of links, jobs and audit events, neither as text nor in hex', async () => {
    const { id, email } = await addStaff();
    await admin.post(`staff/${id}/link`);
    const [row] = await service.sql<{ id: string }>('select id from staff_link where staff_id = $1', [id]);
    await harness.jobs.untilDone('staff_link', row!.id);
    const link = linkOf(email);
    const stored = JSON.stringify([
      await service.sql('select l::text from staff_link l'),
      await service.sql('select j::text from graphile_worker._private_jobs j'),
      await service.sql('select e::text from audit_event e'),
    ]);
    for (const form of [link, Buffer.from(link, 'base64url').toString('hex')])
      expect(stored).not.toContain(form);
  });
});

describe('tokens', () => {
  test('are listed without their secret, and are invalid when they are revoked', async () => {
    const { email } = await addStaff();
    const { id, token } = await service.app.get(StaffTokensService).create(email, AUDIT_CONTEXT);
    const { json, text } = await admin.get('tokens');
    expect(json.tokens).toContainEqual({
      id,
      email,
      role: 'support',
      created_at: NOW,
      expires_at: '2027-02-18T13:00:00Z',
    });
    expect(text).not.toContain(token);
    expect((await admin.post(`tokens/${id}/revoke`, { reason: 'It leaked.' })).status).toBe(204);
    expect(await lastAuditEvent(service)).toMatchObject({
      actor: 'root@example.com',
      action: 'staff.revoke_token',
      reason: 'It leaked.',
      change: { staff_id: await staff.findId(email), token_id: id },
    });
    const authorization = `Bearer ${token}`;
    expect((await service.call('GET', '/support/api/fleet', undefined, { authorization })).status).toBe(401);
    expect((await admin.post(`tokens/${id}/revoke`, REASON)).json.code).toBe('not_found');
  });

  test('that were created while the clock was more than an hour ahead are invalid once the clock is right', async () => {
    const { email } = await addStaff();
    const { token } = await service.app.get(StaffTokensService).create(email, AUDIT_CONTEXT);
    const authorization = `Bearer ${token}`;
    const read = () => service.call('GET', '/support/api/fleet', undefined, { authorization });
    service.clock.advance(-HOUR_MS - 1);
    expect((await read()).status).toBe(401);
    service.clock.advance(1);
    expect((await read()).status).toBe(200);
  });

  test('are not created for a person whose removal is in progress', async () => {
    const { id, email } = await addStaff();
    const removal = await OpenTransaction.begin(service, 'delete from staff where id = $1', [id]);
    const result = service.app
      .get(StaffTokensService)
      .create(email, AUDIT_CONTEXT)
      .catch((error: unknown) => error);
    await removal.untilWaiting(result);
    await removal.commit();
    expect(await result).toMatchObject({ code: 'not_found' });
  });
});
