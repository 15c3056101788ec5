import { beforeEach, describe, expect, jest, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { DAY_MS } from '../../src/core/clock.js';
import { ReleaseService } from '../../src/releases/release.service.js';
import { ActivationReads } from '../../src/heartbeat/activation-reads.js';
import { AUDIT_CONTEXT, Service, type IssuedLicense } from '../support/harness.js';
import { unseenResponses } from '../support/http/openapi.js';
import { expectFailures } from '../support/tables.js';
import { publish } from '../manifest/publish.js';

const service = await Service.start();
beforeEach(() => service.clock.set('2026-11-20T13:00:00.500Z'));

const post = (body: unknown, headers: Record<string, string> = {}) =>
  service.call('POST', '/v1/heartbeat', body, headers);

test('200 returns a token, its times and the state of the license, and nothing else', async () => {
  const { token } = await service.issueActivated({ expires_at: new Date('2027-05-01T00:00:00Z') });
  service.clock.advance(6 * 3_600_000);
  const answer = await service.heartbeat(token);
  expect(answer.status).toBe(200);
  expect(answer.headers['cache-control']).toBe('no-store');
  expect(answer.json).toEqual({
    token: expect.any(String),
    offline_until: '2026-11-27T19:00:00Z',
    heartbeat_after_seconds: 21_600,
    server_time: '2026-11-20T19:00:00Z',
    license: { status: 'active', expires_at: '2027-05-01T00:00:00Z' },
  });
});

test('a renewed token is for the same activation, license and machine, and valid for 7 days from now', async () => {
  const { token, license_id, activation_id } = await service.issueActivated();
  service.clock.advance(DAY_MS);
  const { json } = await service.heartbeat(token);
  const [before, after] = [decodeJwt(token), decodeJwt(json.token)];
  expect(after).toEqual({ ...before, iat: before.iat! + 86_400, exp: before.exp! + 86_400 });
  expect(after).toMatchObject({ sub: activation_id, lic: license_id });
  expect(after.exp! - after.iat!).toBe(7 * 86_400);
});

test('a renewed token has the expiry that staff set', async () => {
  const { token, license_id } = await service.issueActivated();
  const expires_at = new Date('2027-05-01T00:00:00Z');
  await service.setLicense(license_id, { expires_at });
  const { json } = await service.heartbeat(token);
  expect(json.license.expires_at).toBe('2027-05-01T00:00:00Z');
  expect(decodeJwt(json.token)['lxp']).toBe(expires_at.getTime() / 1000);
});

test.each([8, 90, 3650])('a token of %i days ago is accepted', async (days) => {
  const { token } = await service.issueActivated();
  service.clock.advance(days * DAY_MS);
  const { status, json } = await service.heartbeat(token);
  expect(status).toBe(200);
  expect((await service.heartbeat(json.token)).status).toBe(200);
});

test('if several refusals apply, the first in their order is returned', async () => {
  const license = await service.issueActivated({
    expires_at: new Date('2026-11-01T00:00:00Z'),
    on_expiry: 'keep',
  });
  const { license_id, activation_id, token } = license;
  await publish(service, '3.2', '2027-06-01T00:00:00Z');
  await service.setPurchase(license_id, 'refunded');
  await service.setLicense(license_id, { staff_status: 'revoked', on_expiry: 'stop' });
  await service.app.get(ReleaseService).release(activation_id, AUDIT_CONTEXT);
  const undoRelease = 'update activation set ended_at = null, ended_reason = null where id = $1';
  const removals: [code: string, removeCause: () => Promise<unknown>][] = [
    ['license_refunded', () => service.setPurchase(license_id, 'disputed')],
    ['license_revoked', () => service.setLicense(license_id, { staff_status: 'suspended' })],
    ['license_suspended', () => service.setLicense(license_id, { staff_status: 'active' })],
    ['license_suspended', () => service.setPurchase(license_id, 'dispute_won')],
    ['binding_released', () => service.sql(undoRelease, [activation_id])],
    ['license_expired', () => service.setLicense(license_id, { on_expiry: 'keep' })],
    ['version_not_covered', () => publish(service, '3.2', null)],
  ];
  for (const [code, removeCause] of removals) {
    const { status, json } = await service.heartbeat(token);
    expect([status, json.code, json.client_action]).toEqual([403, code, 'stop']);
    await removeCause();
  }
  expect((await service.heartbeat(token)).status).toBe(200);
});

describe('expiry', () => {
  const expires_at = new Date('2026-12-01T00:00:00Z');

  test('with on_expiry stop, ends a license at exactly this time', async () => {
    const { token } = await service.issueActivated({ expires_at, on_expiry: 'stop' });
    service.clock.set('2026-11-30T23:59:59.999Z');
    expect((await service.heartbeat(token)).status).toBe(200);
    service.clock.set('2026-12-01T00:00:00.000Z');
    const { status, json } = await service.heartbeat(token);
    expect([status, json.code, json.expired_at]).toEqual([403, 'license_expired', '2026-12-01T00:00:00Z']);
  });

  test('with on_expiry keep, does not end a license', async () => {
    const { token } = await service.issueActivated({ expires_at, on_expiry: 'keep' });
    service.clock.set('2029-01-01T00:00:00Z');
    const { status, json } = await service.heartbeat(token);
    expect([status, json.license]).toEqual([200, { status: 'active', expires_at: '2026-12-01T00:00:00Z' }]);
  });
});

test('a released machine is refused, although the license is below its limit, until it activates again', async () => {
  const license = await service.issueActivated();
  await service.app.get(ReleaseService).release(license.activation_id, AUDIT_CONTEXT);
  expect((await service.heartbeat(license.token)).json.code).toBe('binding_released');
  const again = await service.activate(license, 'studio');
  expect(again.status).toBe(201);
  expect((await service.heartbeat(again.json.token)).status).toBe(200);
});

describe('the token of a released activation, sent from a restored state file', () => {
  const release = (id: string) => service.app.get(ReleaseService).release(id, AUDIT_CONTEXT);

  test('is token_invalid if the machine was activated again, and activating creates no second activation', async () => {
    const license = await service.issueActivated({ machines_allowed: 2 });
    await release(license.activation_id);
    const again = await service.activate(license, 'studio');
    const { status, json } = await service.heartbeat(license.token);
    expect([status, json.code, json.client_action]).toEqual([403, 'token_invalid', 'reactivate']);
    const third = await service.activate(license, 'studio');
    expect([third.status, third.json.activation.id]).toEqual([200, again.json.activation.id]);
    expect(await service.activeMachines(license)).toHaveLength(1);
    expect((await service.heartbeat(third.json.token)).status).toBe(200);
  });

  test.each([
    ['the machine was not activated again', async () => undefined],
    ['another machine was activated', async (license: IssuedLicense) => service.activate(license, 'laptop')],
    [
      'the new activation was released as well',
      async (license: IssuedLicense) => {
        const { json } = await service.activate(license, 'studio');
        await release(json.activation.id);
      },
    ],
    [
      'the new activation was released and its machine id is erased',
      async (license: IssuedLicense) => {
        const { json } = await service.activate(license, 'studio');
        await release(json.activation.id);
        await service.sql('update activation set machine_id = null where license_id = $1', [
          license.license_id,
        ]);
      },
    ],
    [
      'the machine is active on another license of the same holder',
      async (license: IssuedLicense) =>
        service.activate(await service.issue({ email: license.email }), 'studio'),
    ],
  ])('is binding_released if %s', async (_what, change) => {
    const license = await service.issueActivated();
    await release(license.activation_id);
    await change(license);
    const before = await service.activeMachines(license);
    const { status, json } = await service.heartbeat(license.token);
    expect([status, json.code, json.client_action]).toEqual([403, 'binding_released', 'stop']);
    expect(await service.activeMachines(license)).toEqual(before);
  });

  test('needs one more read only if the heartbeat is refused because of a release', async () => {
    const read = jest.spyOn(service.app.get(ActivationReads), 'hasActive');
    const license = await service.issueActivated();
    await service.heartbeat(license.token);
    await service.setLicense(license.license_id, { staff_status: 'suspended' });
    await service.heartbeat(license.token);
    expect(read).not.toHaveBeenCalled();
    await service.setLicense(license.license_id, { staff_status: 'active' });
    await release(license.activation_id);
    await service.heartbeat(license.token);
    expect(read).toHaveBeenCalledTimes(1);
    read.mockRestore();
  });

  test('is refused first because of a suspension or revocation, also if the machine was activated again', async () => {
    const license = await service.issueActivated();
    await release(license.activation_id);
    await service.activate(license, 'studio');
    await service.setLicense(license.license_id, { staff_status: 'suspended' });
    expect((await service.heartbeat(license.token)).json.code).toBe('license_suspended');
    await service.setLicense(license.license_id, { staff_status: 'revoked' });
    expect((await service.heartbeat(license.token)).json.code).toBe('license_revoked');
  });
});

/** The JSON pointers of the required members. */
const TOKEN = '/token';
const VERSION = '/app_version';
test.each([
  ['no member at all', {}, [TOKEN, VERSION]],
  ['no token', { app_version: '3.2' }, [TOKEN]],
  ['a token that is null', { token: null, app_version: '3.2' }, [TOKEN]],
  ['a token that is a number', { token: 7, app_version: '3.2' }, [TOKEN]],
  ['a token that is a list', { token: ['a.b.c'], app_version: '3.2' }, [TOKEN]],
  ['an empty token', { token: '', app_version: '3.2' }, [TOKEN]],
  ['a token over 2 KiB', { token: 'x'.repeat(2049), app_version: '3.2' }, [TOKEN]],
  [
    'a token over 2 KiB in bytes but not in characters',
    { token: 'é'.repeat(1025), app_version: '3.2' },
    [TOKEN],
  ],
  ['a token with a NUL', { token: 'a.b.c\0', app_version: '3.2' }, [TOKEN]],
  ['a token with half a surrogate pair', { token: 'a.b.\ud83d', app_version: '3.2' }, [TOKEN]],
  ['no app_version', { token: 'a.b.c' }, [VERSION]],
  ['an app_version that is null', { token: 'a.b.c', app_version: null }, [VERSION]],
  ['an app_version that is a number', { token: 'a.b.c', app_version: 3.2 }, [VERSION]],
  ['an app_version of five parts', { token: 'a.b.c', app_version: '1.2.3.4.5' }, [VERSION]],
  ['an app_version with a build part', { token: 'a.b.c', app_version: '3.2.0+456' }, [VERSION]],
  ['an app_version of 33 characters', { token: 'a.b.c', app_version: '1'.repeat(33) }, [VERSION]],
  ['an app_version with a NUL', { token: 'a.b.c', app_version: '3.2\0' }, [VERSION]],
])('a heartbeat is answered with 422 and a pointer to the member for %s', async (_what, body, pointers) => {
  const { status, json } = await post(body);
  expect([status, json.code, json.client_action]).toEqual([422, 'invalid_request', 'fix']);
  expect(json.errors.map(({ pointer }: { pointer: string }) => pointer)).toEqual(pointers);
});

test.each([
  ['400 for a body that is not JSON', '{', {}, 400, 'malformed_request'],
  ['400 for a body that is not an object', 'null', {}, 400, 'malformed_request'],
  ['413 for a body over 16 KiB', JSON.stringify({ more: 'x'.repeat(16_384) }), {}, 413, 'body_too_large'],
  [
    '415 for a body that is not declared as JSON',
    '{}',
    { 'content-type': 'text/plain' },
    415,
    'unsupported_media_type',
  ],
])('a heartbeat is answered with %s, with client_action fix', async (_what, body, headers, status, code) => {
  const answer = await post(body, headers);
  expect([answer.status, answer.json.code, answer.json.client_action]).toEqual([status, code, 'fix']);
});

test('the client is asked to retry, with 500 if a table is missing and with 503 if it is locked', async () => {
  const { token } = await service.issueActivated();
  await expectFailures(service, 'activation', () => service.heartbeat(token));
});

test('the tests of this file have seen every documented response', () => {
  expect(unseenResponses(/^POST \/v1\/heartbeat /)).toEqual([]);
});
