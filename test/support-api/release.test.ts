import { beforeEach, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { retryWhileUnavailable, Service } from '../support/harness.js';
import { unseenResponses } from '../support/http/openapi.js';
import { expectFailures } from '../support/tables.js';
import { isActive, signInStaff } from './harness.js';
import { OpenTransaction } from '../support/open-transaction.js';

const service = await Service.start();
const authorization = `Bearer ${await service.staffToken()}`;
beforeEach(() => service.clock.set('2026-11-20T13:00:00Z'));

const release = (
  id: string,
  body: unknown = { reason: 'a new computer' },
  headers: Record<string, string> = {},
) => service.call('POST', `/support/api/activations/${id}/release`, body, { authorization, ...headers });

const readReleaseEvents = (licenseId: string) =>
  service.sql(
    `select actor, action, reason, at from audit_event where license_id = $1 and action = 'activation.release'`,
    [licenseId],
  );

test('a release ends the activation and returns it, so that another machine can activate', async () => {
  const license = await service.issueActivated();
  service.clock.advance(3_600_000);
  const { status, json } = await release(license.activation_id);
  expect(status).toBe(200);
  expect(json).toEqual({
    activation: {
      id: license.activation_id,
      hostname_hint: 'Studio Mac',
      app_version: '3.2.0',
      activated_at: '2026-11-20T13:00:00Z',
      state: 'released',
      ended_at: '2026-11-20T14:00:00Z',
      ended_reason: 'released',
    },
    was_active: true,
  });
  expect((await service.heartbeat(license.token)).json.code).toBe('binding_released');
  expect((await service.activate(license, 'new')).status).toBe(201);
});

test('a release that another staff member confirmed is refused, and the machine stays active', async () => {
  const { activation_id } = await service.issueActivated();
  const browser = await signInStaff(service, 'support', 'own@example.com');
  const { id } = (await browser.get('session')).json;
  const send = (staffId: string) =>
    browser.call('POST', `activations/${activation_id}/release`, { reason: 'Sold' }, { 'staff-id': staffId });
  const { status, json } = await send(randomUUID());
  expect([status, json.code]).toEqual([412, 'another_person']);
  expect(await isActive(service, activation_id)).toBe(true);
  expect((await send(id as string)).status).toBe(200);
});

test('a repeated release reports was_active: false, has no audit event, and does not end a newer activation', async () => {
  const license = await service.issueActivated();
  const first = await release(license.activation_id);
  const again = await service.activate(license, 'studio');
  expect(again.status).toBe(201);
  service.clock.advance(3_600_000);
  const second = await release(license.activation_id, { reason: 'again' });
  expect([second.status, second.json]).toEqual([200, { ...first.json, was_active: false }]);
  expect(await readReleaseEvents(license.license_id)).toHaveLength(1);
  expect(await isActive(service, again.json.activation.id)).toBe(true);
});

test('a release does not change an activation that a refund ended', async () => {
  const license = await service.issueActivated();
  await service.sql(
    "update activation set ended_at = '2026-11-01', ended_reason = 'refunded' where id = $1",
    [license.activation_id],
  );
  const { status, json } = await release(license.activation_id);
  expect([status, json.activation.state, json.activation.ended_at]).toEqual([
    200,
    'refunded',
    '2026-11-01T00:00:00Z',
  ]);
  expect(await readReleaseEvents(license.license_id)).toEqual([]);
});

test('ten concurrent releases of an activation end it once, and have one audit event', async () => {
  const license = await service.issueActivated();
  const answers = await Promise.all(
    Array.from({ length: 10 }, () => retryWhileUnavailable(() => release(license.activation_id))),
  );
  expect(
    new Set(answers.map(({ status, json }) => `${status} ${JSON.stringify(json.activation)}`)).size,
  ).toBe(1);
  expect(answers.filter(({ json }) => json.was_active)).toHaveLength(1);
  expect(await readReleaseEvents(license.license_id)).toHaveLength(1);
});

test.each([
  ['absent', {}],
  ['null', { reason: null }],
  ['a number', { reason: 7 }],
  ['a list', { reason: ['a new computer'] }],
  ['empty', { reason: '' }],
  ['blank', { reason: ' \t\n\u00a0' }],
  ['501 characters long', { reason: 'x'.repeat(501) }],
  ['text with a NUL', { reason: 'a new computer\0' }],
  ['text with half a surrogate pair', { reason: 'a new computer\ud83d' }],
  ['text with an e-mail address', { reason: 'asked by ada@example.com' }],
  ['text with an e-mail address in another alphabet', { reason: 'see ада @ пример.рф' }],
  ['text with an e-mail address with another full stop', { reason: 'see ada @ example。com' }],
  ['text with an e-mail address between other words', { reason: 'see <ADA+x@Mail.Example.co.uk>, thanks' }],
])('a reason that is %s is answered with 422, and nothing is released', async (_what, body) => {
  const license = await service.issueActivated();
  const { status, json, text } = await release(license.activation_id, body);
  expect([status, json.code]).toEqual([422, 'invalid_request']);
  expect(json.errors).toEqual([{ pointer: '/reason', detail: expect.any(String) }]);
  expect(text).not.toMatch(/ada[@+]/i);
  expect(await isActive(service, license.activation_id)).toBe(true);
});

test.each([
  ['500 characters', 'x'.repeat(500)],
  ['500 characters of two units each', '🖥'.repeat(500)],
  ['text with an @ that is not an address', 'sold @ the market, 2 @ 5'],
])('a release stores a reason of %s unchanged', async (_what, reason) => {
  const license = await service.issueActivated();
  expect((await release(license.activation_id, { reason })).status).toBe(200);
  expect(await readReleaseEvents(license.license_id)).toMatchObject([{ reason }]);
});

test.each([
  ['unknown', randomUUID()],
  ['that of a license', 'license'],
  ['not a UUID', 'x'],
  ['a UUID with one more character', `${randomUUID()}0`],
  ['an SQL injection', encodeURIComponent("' or 1=1 --")],
  ['a NUL', '%00'],
])('an id that is %s is answered with 404', async (_what, id) => {
  const license = await service.issueActivated();
  const { status, json } = await release(id === 'license' ? license.license_id : id);
  expect([status, json.code]).toEqual([404, 'not_found']);
  expect(await isActive(service, license.activation_id)).toBe(true);
});

test.each([
  [400, '{', {}, 'malformed_request'],
  [403, '{}', { origin: 'https://evil.example' }, 'cross_origin'],
  [413, JSON.stringify({ more: 'x'.repeat(20_000) }), {}, 'body_too_large'],
  [415, '{}', { 'content-type': 'text/plain' }, 'unsupported_media_type'],
  [401, '{}', { authorization: 'Bearer x' }, 'sign_in_required'],
])('a malformed or unauthorized request is answered with %i', async (status, body, headers, code) => {
  const { activation_id } = await service.issueActivated();
  const answer = await release(activation_id, body, headers);
  expect([answer.status, answer.json.code]).toEqual([status, code]);
  expect(await isActive(service, activation_id)).toBe(true);
});

test('a release is answered with 500 if a table is missing and with 503 if a table is locked, and the activation stays active', async () => {
  const { activation_id } = await service.issueActivated();
  await expectFailures(service, 'audit_event', () => release(activation_id), 'activation');
  expect(await isActive(service, activation_id)).toBe(true);
});

test('a release of an ended activation is answered with 404 if the activation is deleted while the release waits for a lock', async () => {
  const { activation_id, license_id } = await service.issueActivated();
  await release(activation_id);
  const lock = 'select 1 from license where id = $1 for update';
  const deletion = await OpenTransaction.begin(service, lock, [license_id]);
  const response = release(activation_id);
  await deletion.untilWaiting();
  await deletion.query('delete from activation where id = $1', [activation_id]);
  await deletion.commit();
  const { status, json } = await response;
  expect([status, json.code]).toEqual([404, 'not_found']);
});

test('the tests of this file have received every documented response', () => {
  expect(unseenResponses(/^POST \/support\/api\/activations\//)).toEqual([]);
});
