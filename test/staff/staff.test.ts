import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { createHmac, randomUUID } from 'node:crypto';
import { Config } from '../../src/core/config.js';
import { licenseKeySecret } from '../../src/keys/key-material.js';
import { StaffService } from '../../src/staff/staff.service.js';
import { StaffTokensService } from '../../src/staff/tokens/staff-tokens.service.js';
import type { Service } from '../support/harness.js';
import { PostOffice } from '../mail/harness.js';
import { ACT, Browser, lastEntry, lastMailTo, printedLink, signedIn } from '../support-api/harness.js';

const NOW = '2026-11-20T13:00:00Z';
const ORIGIN = 'https://licenses.example.org';
const WHY = { reason: 'Joined the team.' };

let office: PostOffice;
let service: Service;
let staff: StaffService;
let admin: Browser;
let count = 0;
beforeAll(async () => {
  office = await PostOffice.open();
  service = office.service;
  staff = service.app.get(StaffService);
  admin = await signedIn(service, 'admin', 'root@example.com', ORIGIN);
});
beforeEach(() => service.clock.set(NOW));
afterAll(() => office.close());

const newcomer = () => `newcomer-${(count += 1)}@example.com`;
async function addStaff(role: 'support' | 'admin' = 'support') {
  const { json } = await admin.post('staff', { email: newcomer(), role });
  return json.staff as { id: string; email: string };
}

describe('people', () => {
  test('are added, listed and given another role, with audit events', async () => {
    const email = newcomer();
    const { status, json } = await admin.post('staff', {
      email: ` ${email.toUpperCase()} `,
      role: 'support',
    });
    expect([status, json]).toEqual([
      201,
      { staff: { id: expect.any(String), email, role: 'support', created_at: NOW, passkeys: 0 } },
    ]);
    const { id } = json.staff;
    expect(await lastEntry(service)).toMatchObject({
      actor: 'root@example.com',
      action: 'staff.add',
      change: { staff_id: id, role: 'support' },
    });
    const changed = await admin.call('PATCH', `staff/${id}`, { role: 'admin', ...WHY });
    expect([changed.status, changed.json.staff.role]).toEqual([200, 'admin']);
    expect(await lastEntry(service)).toMatchObject({
      action: 'staff.role',
      reason: WHY.reason,
      change: { staff_id: id, role: 'admin' },
    });
    expect((await admin.get('staff')).json.staff).toContainEqual({ ...json.staff, role: 'admin' });
  });

  test('with an existing address are refused, because changing a role needs a reason', async () => {
    const { email, id } = await addStaff();
    const again = await admin.post('staff', { email, role: 'admin' });
    expect([again.status, again.json.errors[0].pointer]).toEqual([422, '/email']);
    expect((await staff.getView(id)).role).toBe('support');
  });

  test('who are removed lose sessions, tokens, passkeys and links at once, and stay in the audit trail', async () => {
    const { id, email } = await addStaff();
    const browser = await signedIn(service, 'support', email, ORIGIN);
    const { token } = await service.app.get(StaffTokensService).create(email, ACT);
    const link = await printedLink(service, email);
    await service.sql(
      `insert into passkey (id, staff_id, credential_id, public_key, sign_count, transports, created_at)
       values (gen_random_uuid(), $1, 'x', 'x', 0, '{}', now())`,
      [id],
    );
    const license = await service.issue();
    await browser.post(`licenses/${license.license_id}/send-key`);
    const { status, text } = await admin.post(`staff/${id}/remove`, { reason: 'Left the team.' });
    expect([status, text]).toEqual([204, '']);
    expect(await lastEntry(service)).toMatchObject({
      actor: 'root@example.com',
      action: 'staff.remove',
      reason: 'Left the team.',
      change: { staff_id: id },
    });
    expect((await browser.get('fleet')).status).toBe(401);
    const authorization = `Bearer ${token}`;
    expect((await service.call('GET', '/support/api/fleet', undefined, { authorization })).status).toBe(401);
    const back = await new Browser(service, ORIGIN).post('session/link', { link });
    expect(back.json.code).toBe('link_invalid');
    for (const table of ['session', 'staff_token', 'passkey', 'staff_link']) {
      expect(await service.sql(`select 1 from ${table} where staff_id = $1`, [id])).toEqual([]);
    }
    const { events } = (await admin.get(`audit?license_id=${license.license_id}`)).json;
    expect(events[0]).toMatchObject({ actor: email, action: 'license.send_key' });
    expect((await admin.post(`staff/${id}/remove`, WHY)).json.code).toBe('not_found');
  });

  test.each<[string, string, string, object, string]>([
    ['no e-mail', 'POST', 'staff', { role: 'support' }, '/email'],
    ['an invalid e-mail', 'POST', 'staff', { email: 'x', role: 'support' }, '/email'],
    ['no role', 'POST', 'staff', { email: 'x@example.com' }, '/role'],
    ['another role', 'POST', 'staff', { email: 'x@example.com', role: 'root' }, '/role'],
    ['a list of roles', 'POST', 'staff', { email: 'x@example.com', role: ['admin'] }, '/role'],
    ['another role', 'PATCH', 'staff/{id}', { role: 'root', ...WHY }, '/role'],
    ['no reason', 'PATCH', 'staff/{id}', { role: 'admin' }, '/reason'],
    ['no reason', 'POST', 'staff/{id}/remove', {}, '/reason'],
    ['no reason', 'POST', 'tokens/{id}/revoke', {}, '/reason'],
  ])('422 for %s: %s %s', async (_what, method, path, body, pointer) => {
    const { id } = await addStaff();
    const { status, json } = await admin.call(method, path.replace('{id}', id), body);
    expect([status, json.errors[0].pointer]).toEqual([422, pointer]);
  });

  test.each([randomUUID(), 'x', '%00'])('404 for the id %s', async (id) => {
    for (const answer of [
      await admin.call('PATCH', `staff/${id}`, { role: 'admin', ...WHY }),
      await admin.post(`staff/${id}/remove`, WHY),
      await admin.post(`staff/${id}/link`),
      await admin.post(`tokens/${id}/revoke`, WHY),
    ]) {
      expect([answer.status, answer.json.code]).toEqual([404, 'not_found']);
    }
  });
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
    // The id may be in upper case.
    for (const spelled of [id, id.toUpperCase()]) {
      for (const refused of [
        await admin.post(`staff/${spelled}/remove`, WHY),
        await admin.call('PATCH', `staff/${spelled}`, { role: 'support', ...WHY }),
      ]) {
        expect([refused.status, refused.json.code]).toEqual([409, 'last_admin']);
      }
    }
    await expect(staff.ensure('root@example.com', 'support', ACT)).rejects.toMatchObject({
      code: 'last_admin',
    });
    expect((await admin.call('PATCH', `staff/${id}`, { role: 'admin', ...WHY })).status).toBe(200);
    const { id: second } = await addStaff('admin');
    expect((await admin.post(`staff/${second}/remove`, WHY)).status).toBe(204);
    expect(await admins()).toEqual([{ id }]);
  });

  test('is kept, also if two admins remove or demote each other concurrently', async () => {
    const first = await staff.findId('root@example.com');
    const changes: ((id: string) => Promise<unknown>)[] = [
      (id) => staff.remove(id, ACT),
      (id) => staff.setRole(id, 'support', ACT),
    ];
    for (let round = 0; round < 8; round += 1) {
      const { staff_id: one } = await staff.ensure(newcomer(), 'admin', ACT);
      const { staff_id: two } = await staff.ensure(newcomer(), 'admin', ACT);
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

describe('a mailed link', () => {
  const linkOf = (email: string) =>
    /^https:\/\/licenses\.example\.org\/shop\/support\/#link=([\w-]{43})$/m.exec(
      lastMailTo(office, email),
    )![1]!;
  const signIn = (link: string) => new Browser(service, ORIGIN).post('session/link', { link });

  test('cannot be derived from LICENSE_KEY_SECRET and its id', async () => {
    const { id, email } = await addStaff();
    await admin.post(`staff/${id}/link`);
    const [row] = await service.sql<{ id: string }>('select id from staff_link where staff_id = $1', [id]);
    await office.jobs.done('staff_link', row!.id);
    const secret = await licenseKeySecret(service.app.get(Config));
    // Derivations without a value of the database: that of before decision 0027, and the new one without its nonce.
    for (const domain of ['mooring staff link v1\0', 'mooring staff link v2\0']) {
      const guess = createHmac('sha256', secret).update(domain).update(row!.id).digest('base64url');
      expect((await signIn(guess)).json?.code).toBe('link_invalid');
    }
    expect((await signIn(linkOf(email))).status).toBe(204);
  });

  test('is mailed to its person, signs in once, and is recorded in the audit trail', async () => {
    const { id, email } = await addStaff();
    const { status, text } = await admin.post(`staff/${id}/link`);
    expect([status, text]).toEqual([202, '']);
    expect(await lastEntry(service)).toMatchObject({
      actor: 'root@example.com',
      action: 'staff.link',
      change: { staff_id: id, mailed: true },
    });
    const [row] = await service.sql<{ id: string }>('select id from staff_link where staff_id = $1', [id]);
    await office.jobs.done('staff_link', row!.id);
    const link = linkOf(email);
    expect((await signIn(link)).status).toBe(204);
    expect((await signIn(link)).json.code).toBe('link_invalid');
  });

  test('expires after 30 minutes, and is invalid if its person has a passkey', async () => {
    const { id, email } = await addStaff();
    const ask = async () => {
      await admin.post(`staff/${id}/link`);
      const rows = await service.sql<{ id: string }>('select id from staff_link where staff_id = $1', [id]);
      for (const { id: about } of rows) await office.jobs.done('staff_link', about);
      return linkOf(email);
    };
    const late = await ask();
    service.clock.advance(30 * 60_000);
    expect((await signIn(late)).json.code).toBe('link_invalid');
    service.clock.set(NOW);
    await service.sql('delete from staff_link');
    const link = await ask();
    await service.sql(
      `insert into passkey (id, staff_id, credential_id, public_key, sign_count, transports, created_at)
       values (gen_random_uuid(), $1, 'y', 'y', 0, '{}', now())`,
      [id],
    );
    expect((await signIn(link)).json.code).toBe('link_invalid');
    const refused = await admin.post(`staff/${id}/link`);
    expect([refused.status, refused.json.code]).toEqual([409, 'has_passkey']);
  });

  test('is in no table and in no job, in any form', async () => {
    const { id, email } = await addStaff();
    await admin.post(`staff/${id}/link`);
    const [row] = await service.sql<{ id: string }>('select id from staff_link where staff_id = $1', [id]);
    await office.jobs.done('staff_link', row!.id);
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
    const { id, token } = await service.app.get(StaffTokensService).create(email, ACT);
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
    expect(await lastEntry(service)).toMatchObject({
      actor: 'root@example.com',
      action: 'staff.revoke_token',
      reason: 'It leaked.',
      change: { token_id: id },
    });
    const authorization = `Bearer ${token}`;
    expect((await service.call('GET', '/support/api/fleet', undefined, { authorization })).status).toBe(401);
    expect((await admin.post(`tokens/${id}/revoke`, WHY)).json.code).toBe('not_found');
  });
});
