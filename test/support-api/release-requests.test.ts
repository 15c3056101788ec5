import { beforeEach, describe, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { ReleaseRequests } from '../../src/releases/release-requests.js';
import { MailHarness } from '../mail/harness.js';
import { isActive, lastMailTo, signInStaff } from './harness.js';
import { whileGone } from '../support/tables.js';
import { NOW } from '../support/harness.js';

const ORIGIN = 'https://licenses.example.org';
const harness = await MailHarness.start();
const service = harness.service;
const support = await signInStaff(service, 'support', 'grace@example.com', ORIGIN);
const admin = await signInStaff(service, 'admin', 'linus@example.com', ORIGIN);
beforeEach(() => service.clock.set(NOW));

/** Creates a machine whose holder has requested its release. */
async function createRequest(reason: string | null = 'It was sold.', email = `${randomUUID()}@example.com`) {
  const license = await service.issue({ email });
  const { id } = (await service.activate(license, 'old', { hostname_hint: 'Old Mac' })).json.activation;
  await service.app.get(ReleaseRequests).create(id, reason);
  const [request] = await service.sql<{ id: string }>(
    'select id from release_request where activation_id = $1',
    [id],
  );
  return { ...license, activation_id: id as string, id: request!.id };
}

const decide = (id: string, decision: unknown, browser = support, reason: unknown = 'Proven by invoice.') =>
  browser.post(`release-requests/${id}`, { decision, reason });

const readOpenRequests = async () =>
  (await support.get('release-requests')).json.release_requests as { id: string }[];
const readAuditEvents = (licenseId: string) =>
  service.sql(
    `select actor, action, reason, change from audit_event where license_id = $1 and action <> 'license.issue' order by id`,
    [licenseId],
  );

describe('the queue', () => {
  test('lists waiting requests, oldest first, with their license and activation', async () => {
    const first = await createRequest();
    service.clock.advance(60_000);
    const second = await createRequest(null);
    const found = (await readOpenRequests()).filter(({ id }) => [first.id, second.id].includes(id));
    expect(found).toEqual([
      {
        id: first.id,
        asked_at: NOW,
        reason: 'It was sold.',
        language: null,
        license: {
          id: first.license_id,
          key_hint: first.license_key.slice(-2),
          email: first.email,
          machines_allowed: 1,
          machines_in_use: 1,
        },
        activation: {
          id: first.activation_id,
          hostname_hint: 'Old Mac',
          app_version: '3.2.0',
          activated_at: NOW,
          state: 'active',
          ended_at: null,
          ended_reason: null,
        },
      },
      expect.objectContaining({ id: second.id, reason: null }),
    ]);
  });

  test('does not list requests that were decided, whose activation ended, or whose holder was erased', async () => {
    const [decided, ended, erased] = [await createRequest(), await createRequest(), await createRequest()];
    const ids = async () => (await readOpenRequests()).map(({ id }) => id);
    expect(await ids()).toEqual(expect.arrayContaining([decided.id, ended.id, erased.id]));
    await decide(decided.id, 'decline');
    await support.post(`activations/${ended.activation_id}/release`, { reason: 'Asked by phone.' });
    await admin.post('erasures', { email: erased.email, reason: 'Asked by phone.' });
    await harness.jobs.untilDone('erasure_receipt');
    const left = await ids();
    for (const { id } of [decided, ended, erased]) expect(left).not.toContain(id);
    // A release by other means counts as the decision to release.
    const { license } = (await support.get(`licenses/${ended.license_id}`)).json;
    expect(license.release_requests).toEqual([
      expect.objectContaining({ id: ended.id, decision: 'release' }),
    ]);
  });
});

describe('a decision', () => {
  test('to release ends the activation, mails the holder, and is recorded in the audit trail', async () => {
    const request = await createRequest();
    service.clock.advance(600_000);
    const { status, json } = await decide(request.id, 'release');
    expect([status, json]).toEqual([
      200,
      {
        release_request: { id: request.id, decision: 'release', decided_at: '2026-11-20T13:10:00Z' },
        was_open: true,
      },
    ]);
    expect((await service.activate(request, 'new')).status).toBe(201);
    const [mail] = await harness.jobs.untilDone('binding_released', request.activation_id);
    expect(mail).toBeDefined();
    const { activation_id } = request;
    expect(await readAuditEvents(request.license_id)).toEqual([
      {
        actor: 'grace@example.com',
        action: 'release_request.decide',
        reason: 'Proven by invoice.',
        change: { release_request_id: request.id, activation_id, decision: 'release' },
      },
      {
        actor: 'grace@example.com',
        action: 'activation.release',
        reason: 'Proven by invoice.',
        change: { activation_id },
      },
    ]);
    const { license } = (await support.get(`licenses/${request.license_id}`)).json;
    expect(license.release_requests).toEqual([
      {
        id: request.id,
        activation_id,
        reason: 'It was sold.',
        language: null,
        asked_at: NOW,
        decision: 'release',
        decided_at: '2026-11-20T13:10:00Z',
      },
    ]);
  });

  test('to decline does not end the activation, and is mailed to the holder with the reason', async () => {
    const request = await createRequest();
    // The test waits for the first mail, because the two mails of a request may be sent in either order.
    await harness.jobs.untilDone('release_requested', request.id);
    expect((await decide(request.id, 'decline', support, 'No invoice.')).status).toBe(200);
    expect(await isActive(service, request.activation_id)).toBe(true);
    await harness.jobs.untilDone('release_declined', request.id);
    const mail = lastMailTo(harness, request.email);
    expect(mail).toMatch(/It was not released, and stays active[^]*Machine: Old Mac/);
    expect(mail).toContain('Reason: No invoice.');
    expect(await readAuditEvents(request.license_id)).toMatchObject([
      { action: 'release_request.decide', reason: 'No invoice.', change: { decision: 'decline' } },
    ]);
  });

  test('is final: a later decision, also the same one, is answered with the first and `was_open: false`, and changes nothing', async () => {
    const request = await createRequest();
    const first = await decide(request.id, 'decline');
    service.clock.advance(60_000);
    for (const decision of ['release', 'decline']) {
      const later = await decide(request.id, decision, admin, 'Another reason.');
      expect([later.status, later.json]).toEqual([200, { ...first.json, was_open: false }]);
    }
    expect(await isActive(service, request.activation_id)).toBe(true);
    expect(await readAuditEvents(request.license_id)).toHaveLength(1);
  });

  test('that two people make concurrently is made once, and only one response has `was_open: true`', async () => {
    for (let attempt = 0; attempt < 10; attempt += 1) {
      const request = await createRequest();
      const answers = await Promise.all([
        decide(request.id, 'release', support),
        decide(request.id, 'decline', admin),
      ]);
      expect(answers.map(({ status }) => status)).toEqual([200, 200]);
      expect(answers[0]!.json.release_request).toEqual(answers[1]!.json.release_request);
      expect(answers.filter(({ json }) => json.was_open)).toHaveLength(1);
      const isReleased = answers[0]!.json.release_request.decision === 'release';
      expect(await isActive(service, request.activation_id)).toBe(!isReleased);
      expect(await readAuditEvents(request.license_id)).toHaveLength(isReleased ? 2 : 1);
    }
  });

  test('about an activation that has ended is recorded, and no mail says that the machine stays active', async () => {
    for (const decision of ['release', 'decline']) {
      const request = await createRequest();
      await service.sql(
        "update activation set ended_at = '2026-11-20', ended_reason = 'refunded' where id = $1",
        [request.activation_id],
      );
      expect((await decide(request.id, decision)).json.release_request.decision).toBe(decision);
      expect(await harness.waitingMails(request.id)).not.toContain('release_declined');
      const actions = (await readAuditEvents(request.license_id)).map(({ action }) => action);
      expect(actions).toEqual(['release_request.decide']);
    }
  });

  test('that fails changes neither the request nor the activation', async () => {
    const request = await createRequest();
    const broken = await whileGone(service, 'audit_event', () => decide(request.id, 'release'));
    expect(broken.status).toBe(500);
    expect(await isActive(service, request.activation_id)).toBe(true);
    expect((await readOpenRequests()).map(({ id }) => id)).toContain(request.id);
  });

  test('about an unknown request is answered with 404', async () => {
    for (const id of [randomUUID(), 'x', '%00', (await createRequest()).activation_id]) {
      const { status, json } = await decide(id, 'release');
      expect([status, json.code]).toEqual([404, 'not_found']);
    }
  });

  test.each<[string, unknown, unknown, string]>([
    ['no decision', undefined, 'Why.', '/decision'],
    ['another decision', 'maybe', 'Why.', '/decision'],
    ['a list of decisions', ['release'], 'Why.', '/decision'],
    ['no reason', 'release', null, '/reason'],
    ['a reason with an e-mail address', 'release', 'for ada@example.com', '/reason'],
  ])('with %s is answered with 422, and the request stays open', async (_what, decision, reason, pointer) => {
    const request = await createRequest();
    const { status, json } = await decide(request.id, decision, support, reason);
    expect([status, json.errors[0].pointer]).toEqual([422, pointer]);
    expect((await readOpenRequests()).map(({ id }) => id)).toContain(request.id);
  });
});
