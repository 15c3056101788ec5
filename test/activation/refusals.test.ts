import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { ReleaseService } from '../../src/releases/release.service.js';
import { type Answer, AUDIT_CONTEXT, Service } from '../support/harness.js';
import { downloadUrl, publish } from '../manifest/publish.js';
import { OpenTransaction } from '../support/open-transaction.js';

const service = await Service.start();
await publish(service, '3.9', '2026-01-01T00:00:00Z');
await publish(service, '3.10', '2026-02-01T00:00:00Z');
await publish(service, '3.11', '2027-06-01T00:00:00Z');
beforeEach(() => service.clock.set('2026-11-20T13:00:00Z'));

test('if several refusals apply, the first in their order is returned', async () => {
  const license = await service.issue({ expires_at: new Date('2026-11-01T00:00:00Z'), on_expiry: 'keep' });
  const other = await service.activate(license, 'other', { app_version: '3.10' });
  expect(other.status).toBe(201);
  const id = license.license_id;
  await service.setLicense(id, { staff_status: 'revoked', on_expiry: 'stop' });
  await service.setPurchase(id, 'refunded');
  const removals: [code: string, removeCause: () => Promise<unknown>][] = [
    ['license_refunded', () => service.setPurchase(id, 'disputed')],
    ['license_revoked', () => service.setLicense(id, { staff_status: 'suspended' })],
    ['license_suspended', () => service.setLicense(id, { staff_status: 'active' })],
    ['license_suspended', () => service.setPurchase(id, 'dispute_won')],
    ['license_expired', () => service.setLicense(id, { on_expiry: 'keep' })],
    // 3.11.0 is the same version as 3.11. Publishing it again lowers its minimum license expiry.
    ['version_not_covered', () => publish(service, '3.11.0', '2026-11-01T00:00:00Z')],
    [
      'machine_limit_reached',
      () => service.app.get(ReleaseService).release(other.json.activation.id, AUDIT_CONTEXT),
    ],
  ];
  for (const [code, removeCause] of removals) {
    const { json } = await service.activate(license, 'studio', { app_version: '3.11' });
    expect([json.code, json.client_action]).toEqual([code, 'stop']);
    await removeCause();
  }
  expect((await service.activate(license, 'studio', { app_version: '3.11' })).status).toBe(201);
});

test('a suspension by staff and one by a dispute are independent', async () => {
  const license = await service.issue();
  await service.setPurchase(license.license_id, 'dispute_won');
  await service.setLicense(license.license_id, { staff_status: 'suspended' });
  expect((await service.activate(license)).json.code).toBe('license_suspended');
  await service.setLicense(license.license_id, { staff_status: 'active' });
  await service.setPurchase(license.license_id, 'disputed');
  expect((await service.activate(license)).json.code).toBe('license_suspended');
  await service.setPurchase(license.license_id, 'paid');
  expect((await service.activate(license)).status).toBe(201);
});

describe('expiry', () => {
  const expires_at = new Date('2026-12-01T00:00:00Z');

  test('with on_expiry stop, ends a license at exactly this time, also for active machines', async () => {
    const license = await service.issue({ expires_at, on_expiry: 'stop', machines_allowed: 2 });
    service.clock.set('2026-11-30T23:59:59.999Z');
    expect((await service.activate(license, 'studio')).status).toBe(201);
    service.clock.set('2026-12-01T00:00:00.000Z');
    for (const machine of ['studio', 'laptop']) {
      const { status, json } = await service.activate(license, machine);
      expect([status, json.code, json.expired_at]).toEqual([403, 'license_expired', '2026-12-01T00:00:00Z']);
    }
  });

  test('with on_expiry keep, does not end a license, and is shown in expires_at', async () => {
    const license = await service.issue({ expires_at, on_expiry: 'keep' });
    service.clock.set('2029-01-01T00:00:00Z');
    const { status, json } = await service.activate(license);
    expect(status).toBe(201);
    expect(json.license).toMatchObject({ status: 'active', expires_at: '2026-12-01T00:00:00Z' });
  });
});

describe('a published version', () => {
  const expiredTerms = { expires_at: new Date('2026-10-01T00:00:00Z'), machines_allowed: 100 };

  beforeAll(() => publish(service, '3.12', '2027-06-01T00:00:00Z'));

  test('that is not covered is refused with its minimum_license_expiry, and with the newest covered version', async () => {
    const { status, json } = await service.activate(await service.issue(expiredTerms), 'studio', {
      app_version: '3.12',
    });
    expect(status).toBe(403);
    expect(json).toMatchObject({
      code: 'version_not_covered',
      minimum_license_expiry: '2027-06-01T00:00:00Z',
      newest_covered_version: '3.10',
      download_url: downloadUrl('3.10'),
    });
  });

  test.each(['3.12', '3.12.0', '3.12.0.0', '03.12', '3.012'])('is recognized as %s', async (app_version) => {
    const { json } = await service.activate(await service.issue(expiredTerms), 'studio', { app_version });
    expect(json.code).toBe('version_not_covered');
  });

  test.each(['3.1.2', '3.1', '31.2', '3.120', '3.12.1', '3.12.0.1', '3.2', '4', '12.3', '0'])(
    'is not the same as %s, which was never published and needs no coverage',
    async (app_version) => {
      const { status } = await service.activate(await service.issue(expiredTerms), 'studio', { app_version });
      expect(status).toBe(201);
    },
  );

  test('is covered by a license that never expires, or not before its minimum_license_expiry', async () => {
    const app_version = '3.12';
    for (const expires_at of [new Date('2027-06-01T00:00:00Z'), null]) {
      const { status } = await service.activate(await service.issue({ expires_at }), 'studio', {
        app_version,
      });
      expect(status).toBe(201);
    }
    const short = await service.issue({ expires_at: new Date('2027-05-31T23:59:59Z') });
    expect((await service.activate(short, 'studio', { app_version })).status).toBe(403);
  });
});

test('machine_limit_reached contains the numbers of machines and the URLs of the portal, and no other hostname hint', async () => {
  const license = await service.issue({ machines_allowed: 2 });
  const others = [
    await service.activate(license, 'one', { hostname_hint: 'Canary Studio' }),
    await service.activate(license, 'two', { hostname_hint: 'Canary Laptop' }),
  ];
  const { status, json, text } = await service.activate(license, 'three', { hostname_hint: 'Canary Third' });
  expect(status).toBe(409);
  expect(json).toEqual({
    type: 'http://localhost:3000/docs/errors#machine_limit_reached',
    title: 'All machines of this license are in use',
    status: 409,
    code: 'machine_limit_reached',
    detail: 'This license is active on 2 of 2 machines. Release one at http://localhost:3000/portal/.',
    client_action: 'stop',
    machines_allowed: 2,
    machines_in_use: 2,
    portal_url: 'http://localhost:3000/portal/',
    release_url: expect.stringMatching(
      /^http:\/\/localhost:3000\/portal\/#release=[\w.-]+&machine=Canary\+Third&version=3\.2\.0$/,
    ),
    request_id: expect.any(String),
  });
  expect(text).not.toContain('Studio');
  expect(text).not.toContain('Laptop');
  for (const { json: other } of others) expect(text).not.toContain(other.activation.id);
});

test('if the limit was lowered, the refusal says how many machines have to be released', async () => {
  const license = await service.issue({ machines_allowed: 3 });
  for (const machine of ['one', 'two', 'three']) await service.activate(license, machine);
  await service.setLicense(license.license_id, { machines_allowed: 2 });
  const { json } = await service.activate(license, 'four');
  expect(json.detail).toBe(
    'This license is active on 3 of 2 machines. Release 2 at http://localhost:3000/portal/.',
  );
});

const LOCK_LICENSE = 'select 1 from license where id = $1 for update';

test('two concurrent activations of one machine create one activation, and get 201 and 200', async () => {
  const license = await service.issue();
  const lock = await OpenTransaction.begin(service, LOCK_LICENSE, [license.license_id]);
  const responses = [service.activate(license), service.activate(license)];
  // Once both requests wait for the lock, both have read that the machine has no activation.
  await lock.untilWaiting(Promise.race(responses), 2);
  await lock.commit();
  const answers = await Promise.all(responses);
  expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 201]);
  expect(answers[0]!.json.activation).toEqual(answers[1]!.json.activation);
});

test('if the expiry changes while an activation waits for the lock of the license, the new expiry applies', async () => {
  await publish(service, '7.0.0', '2027-06-01T00:00:00Z');
  const activate = async (): Promise<Answer> => {
    const license = await service.issue();
    const lock = await OpenTransaction.begin(service, LOCK_LICENSE, [license.license_id]);
    const response = service.activate(license, 'a machine', { app_version: '7.0.0' });
    await lock.untilWaiting(response);
    await lock.query(`update license set expires_at = '2027-01-01' where id = $1`, [license.license_id]);
    await lock.commit();
    const answer = await response;
    // On a slow computer the time limit of the request may end first; then the test tries again.
    return answer.status === 503 ? activate() : answer;
  };
  expect((await activate()).json).toMatchObject({ status: 403, code: 'version_not_covered' });
});
