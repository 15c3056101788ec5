import { beforeEach, describe, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { DAY_MS } from '../../src/core/clock.js';
import { ReleaseService } from '../../src/releases/release.service.js';
import { waitForJobs, outbox } from '../erasure/harness.js';
import { AUDIT_CONTEXT, NOW, Service } from '../support/harness.js';
import { isActive } from '../support-api/harness.js';
import { Browser, COMMON_REFUSALS, commonRefusals, withoutIdAndDate } from './harness.js';
import { OpenTransaction } from '../support/open-transaction.js';
import { unseenResponses } from '../support/http/openapi.js';

const service = await Service.start({ environment: { SELF_RELEASES_PER_YEAR: '1' } });
/** A second instance with the same database, without SELF_RELEASES_PER_YEAR: holders cannot release a machine. */
const withoutSelfReleases = await Service.beside(service);
beforeEach(() => service.clock.set(NOW));

async function activatedLicense(machines = 1) {
  const email = `${randomUUID()}@example.com`;
  const license = await service.issue({ email, machines_allowed: machines });
  const activationIds: string[] = [];
  const tokens: string[] = [];
  for (let machine = 0; machine < machines; machine += 1) {
    const { json } = await service.activate(license, `${machine}`, { hostname_hint: `Mac ${machine}` });
    activationIds.push(json.activation.id as string);
    tokens.push(json.token as string);
  }
  return { ...license, activationIds, activationId: activationIds[0]!, token: tokens[0]! };
}

const mailsOf = async (email: string, subject: RegExp) => {
  await waitForJobs(service, 'mail_%');
  return (await outbox(service)).filter((mail) => mail.to === email && subject.test(mail.subject));
};
const readRequests = (id: string) =>
  service.sql('select reason, asked_at, decided_at from release_request where activation_id = $1', [id]);

describe('POST activations/:id/release-request', () => {
  const requestRelease = (from: Browser, id: string, body: unknown = { reason: 'The old one was sold.' }) =>
    from.call('POST', `/activations/${id}/release-request`, body);

  test.each(['by key', 'by code'] as const)(
    'creates one request, and sends the holder one mail, after a sign-in %s',
    async (by) => {
      const license = await activatedLicense();
      const holder = new Browser(service);
      await (by === 'by key' ? holder.signInByKey(license) : holder.beginSession(license.email));
      const { status, text } = await requestRelease(holder, license.activationId);
      expect([status, text]).toEqual([202, '']);
      expect((await requestRelease(holder, license.activationId, { reason: 'once more' })).status).toBe(202);
      expect(await readRequests(license.activationId)).toEqual([
        { reason: 'The old one was sold.', asked_at: new Date(NOW), decided_at: null },
      ]);
      const [mail, ...more] = await mailsOf(license.email, /^You asked to release a machine/);
      expect([mail!.text.includes('Machine: Mac 0'), more]).toEqual([true, []]);
      expect(await isActive(service, license.activationId)).toBe(true);
    },
  );

  test('ten concurrent requests create one request and one mail', async () => {
    const license = await activatedLicense();
    const holder = await new Browser(service).signInByKey(license);
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => requestRelease(holder, license.activationId)),
    );
    for (const { status } of answers) expect([202, 503]).toContain(status);
    expect(await readRequests(license.activationId)).toHaveLength(1);
    expect(await mailsOf(license.email, /^You asked to release/)).toHaveLength(1);
  });

  test.each([
    ['absent', {}, null],
    ['null', { reason: null }, null],
    ['white space only', { reason: ' \n ' }, null],
    ['text between white space', { reason: ' sold \n' }, 'sold'],
    ['500 characters of two UTF-16 units each', { reason: '🖥'.repeat(500) }, '🖥'.repeat(500)],
  ])('accepts a reason that is %s', async (_what, body, reason) => {
    const license = await activatedLicense();
    expect(
      (await requestRelease(await new Browser(service).signInByKey(license), license.activationId, body))
        .status,
    ).toBe(202);
    expect(await readRequests(license.activationId)).toMatchObject([{ reason }]);
  });

  test.each([
    ['not a string', { reason: 7 }],
    ['501 characters long', { reason: 'x'.repeat(501) }],
    ['with an e-mail address', { reason: 'write to ada@example.com' }],
    ['with a NUL', { reason: 'so\0ld' }],
  ])('answers 422 to a reason that is %s, and stores no request', async (_what, body) => {
    const license = await activatedLicense();
    const { status, json } = await requestRelease(
      await new Browser(service).signInByKey(license),
      license.activationId,
      body,
    );
    expect([status, json.errors[0].pointer]).toEqual([422, '/reason']);
    expect(await readRequests(license.activationId)).toEqual([]);
  });

  test('answers 202 for a machine that is already released, and creates no request and no mail', async () => {
    const license = await activatedLicense();
    await service.app.get(ReleaseService).release(license.activationId, AUDIT_CONTEXT);
    expect(
      (await requestRelease(await new Browser(service).signInByKey(license), license.activationId)).status,
    ).toBe(202);
    expect(await readRequests(license.activationId)).toEqual([]);
    expect(await mailsOf(license.email, /^You asked to release/)).toEqual([]);
  });

  test('does not lock the activation while it waits for the lock of the license', async () => {
    const license = await activatedLicense();
    const holder = await new Browser(service).beginSession(license.email);
    const lock = 'select 1 from license where id = $1 for update';
    const transaction = await OpenTransaction.begin(service, lock, [license.license_id]);
    const response = requestRelease(holder, license.activationId);
    await transaction.untilWaiting();
    const sql = `update activation set ended_at = now(), ended_reason = 'released' where id = $1`;
    await transaction.query(`set local lock_timeout = '100ms'`);
    const ended = await transaction.query(sql, [license.activationId]).catch((error: Error) => error.message);
    await transaction.commit();
    expect(ended).toMatchObject({ rowCount: 1 });
    expect((await response).status).toBe(202);
    expect(await readRequests(license.activationId)).toEqual([]);
  });

  test('has the refusals that all writes of the portal have in common', async () => {
    const license = await activatedLicense();
    const holder = await new Browser(service).signInByKey(license);
    const path = `/activations/${license.activationId}/release-request`;
    expect(await commonRefusals(holder, { path, body: {} })).toEqual(COMMON_REFUSALS);
    expect((await requestRelease(new Browser(service), license.activationId)).json.code).toBe(
      'sign_in_required',
    );
    expect(await readRequests(license.activationId)).toEqual([]);
  });
});

describe('POST activations/:id/release', () => {
  const release = (from: Browser, id: string) => from.call('POST', `/activations/${id}/release`);
  const beginSession = ({ email }: { email: string }, instance = service) =>
    new Browser(instance).beginSession(email);
  const selfReleasesLeft = async (from: Browser) =>
    (await from.call('GET', '/session')).json.licenses[0].self_releases_left;

  test('ends the activation, so that another machine can activate, and sends a mail', async () => {
    const license = await activatedLicense();
    const holder = await beginSession(license);
    service.clock.advance(60_000);
    const { status, json } = await release(holder, license.activationId);
    expect([status, json]).toEqual([
      200,
      {
        activation: {
          id: license.activationId,
          hostname_hint: 'Mac 0',
          app_version: '3.2.0',
          activated_at: NOW,
          state: 'released',
          ended_at: '2026-11-20T13:01:00Z',
          ended_reason: 'released',
        },
        was_active: true,
      },
    ]);
    expect((await service.heartbeat(license.token)).json.code).toBe('binding_released');
    expect((await service.activate(license, 'a new one')).status).toBe(201);
    const [mail, ...more] = await mailsOf(license.email, /^A machine was released/);
    expect([mail!.text.includes('Machine: Mac 0'), more]).toEqual([true, []]);
    // The audit trail does not record what holders do.
    const trail = `select 1 from audit_event where license_id = $1 and action <> 'license.issue'`;
    expect(await service.sql(trail, [license.license_id])).toEqual([]);
  });

  test('deletes the release request of its machine', async () => {
    const license = await activatedLicense();
    const holder = await beginSession(license);
    await holder.call('POST', `/activations/${license.activationId}/release-request`, {});
    await release(holder, license.activationId);
    expect(await readRequests(license.activationId)).toEqual([]);
  });

  test('of a released activation answers `was_active: false`, even if no self-release is left, and sends no mail', async () => {
    const license = await activatedLicense();
    const holder = await beginSession(license);
    const first = await release(holder, license.activationId);
    service.clock.advance(60_000);
    const second = await release(holder, license.activationId);
    expect([second.status, second.json]).toEqual([200, { ...first.json, was_active: false }]);
    expect(await mailsOf(license.email, /^A machine was released/)).toHaveLength(1);
  });

  test('answers 403 if no self-release is left; each self-release counts for exactly 365 days', async () => {
    const license = await activatedLicense(3);
    let holder = await beginSession(license);
    expect(await selfReleasesLeft(holder)).toBe(1);
    expect((await release(holder, license.activationIds[0]!)).status).toBe(200);
    expect(await selfReleasesLeft(holder)).toBe(0);
    service.clock.set(new Date(Date.parse(NOW) + 365 * DAY_MS - 1));
    holder = await beginSession(license);
    const { status, json } = await release(holder, license.activationIds[1]!);
    expect([status, json.code, json.client_action]).toEqual([403, 'release_needs_support', 'fix']);
    expect(await isActive(service, license.activationIds[1]!)).toBe(true);
    service.clock.advance(1);
    expect(await selfReleasesLeft(holder)).toBe(1);
    expect((await release(holder, license.activationIds[1]!)).status).toBe(200);
    expect((await release(holder, license.activationIds[2]!)).json.code).toBe('release_needs_support');
  });

  test('of concurrent releases of six machines with one self-release left, exactly one succeeds', async () => {
    for (let round = 0; round < 5; round += 1) {
      const license = await activatedLicense(6);
      const holder = await beginSession(license);
      const answers = await Promise.all(license.activationIds.map((id) => release(holder, id)));
      const [released] = await service.sql(
        'select count(*)::int as n from activation where license_id = $1 and ended_at is not null',
        [license.license_id],
      );
      expect(released).toEqual({ n: 1 });
      const others = answers.filter(({ status }) => status !== 200);
      for (const { json } of others) expect(['release_needs_support', 'unavailable']).toContain(json.code);
    }
  });

  test('does not count releases by staff and releases of another license', async () => {
    const license = await activatedLicense(2);
    const other = await service.issue({ email: license.email });
    const { id } = (await service.activate(other)).json.activation;
    await service.app.get(ReleaseService).release(license.activationIds[0]!, AUDIT_CONTEXT);
    const holder = await beginSession(license);
    expect((await release(holder, id)).status).toBe(200);
    expect((await release(holder, license.activationIds[1]!)).status).toBe(200);
  });

  test('answers 403 if SELF_RELEASES_PER_YEAR is not set', async () => {
    const license = await activatedLicense();
    const holder = await beginSession(license, withoutSelfReleases);
    expect(await selfReleasesLeft(holder)).toBe(0);
    expect((await release(holder, license.activationId)).json.code).toBe('release_needs_support');
    expect(await isActive(service, license.activationId)).toBe(true);
  });

  test('answers 403 to a holder who signed in with a key, also for an unknown id', async () => {
    const license = await activatedLicense();
    const holder = await new Browser(service).signInByKey(license);
    for (const id of [license.activationId, randomUUID()]) {
      const { status, json } = await release(holder, id);
      expect([status, json.code]).toEqual([403, 'mailbox_proof_needed']);
    }
    expect(await isActive(service, license.activationId)).toBe(true);
  });

  test('the holder of the old address cannot release a machine after the license got another address', async () => {
    const license = await activatedLicense();
    const holder = await beginSession(license);
    await service.setLicense(license.license_id, { email: 'elsewhere@example.com' });
    expect((await release(holder, license.activationId)).json.code).toBe('not_found');
    expect(await isActive(service, license.activationId)).toBe(true);
  });

  test('has the refusals that all writes of the portal have in common', async () => {
    const license = await activatedLicense();
    const path = `/activations/${license.activationId}/release`;
    expect(await commonRefusals(await beginSession(license), { path })).toEqual(COMMON_REFUSALS);
    expect((await release(new Browser(service), license.activationId)).json.code).toBe('sign_in_required');
    expect(await isActive(service, license.activationId)).toBe(true);
  });
});

test.each(['release', 'release-request'])(
  'answers for the activation of another holder exactly as for an unknown id: %s',
  async (route) => {
    const license = await activatedLicense();
    const own = await activatedLicense();
    const otherHolder = await new Browser(service).beginSession(own.email);
    const send = (id: string) => otherHolder.call('POST', `/activations/${id}/${route}`, {});
    const [foreign, ...unknown] = await Promise.all(
      [license.activationId, randomUUID(), own.license_id, 'x', '%00', `${own.activationId}0`].map(send),
    );
    expect(foreign!.json).toMatchObject({ status: 404, code: 'not_found' });
    for (const answer of unknown) expect(withoutIdAndDate(answer)).toEqual(withoutIdAndDate(foreign!));
    expect([await isActive(service, license.activationId), await readRequests(license.activationId)]).toEqual(
      [true, []],
    );
  },
);

test('the tests of this file have received every documented response', () => {
  expect(unseenResponses(/ \/portal\/api\/activations/)).toEqual([]);
});
