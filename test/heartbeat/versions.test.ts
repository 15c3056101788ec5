import { expect, test } from '@jest/globals';
import { ManifestService } from '../../src/manifest/manifest.service.js';
import { Service } from '../support/harness.js';
import { downloadUrl, publish, withdraw } from '../manifest/publish.js';

/** Two instances with one database, as behind a load balancer. The tests publish versions at the first one. */
const service = await Service.start();
const expires_at = new Date('2026-12-01T00:00:00Z');
const { token } = await service.issueActivated({ expires_at });
const { token: tokenWithoutExpiry } = await service.issueActivated();
const other = await Service.beside(service);

/** Sends a heartbeat. @returns `covered`, or the code of the refusal */
const sendHeartbeat = async (app_version: string, license_token = token) => {
  const { status, json } = await service.heartbeat(license_token, { app_version });
  return status === 200 ? 'covered' : json.code;
};

test('before anything is published, every version is covered', async () => {
  expect(await sendHeartbeat('9.9.9')).toBe('covered');
});

test('if the license covers no published version, newest_covered_version is null', async () => {
  await publish(service, '1.0', '2027-01-01T00:00:00Z');
  const { status, json } = await service.heartbeat(token, { app_version: '1.0' });
  expect(status).toBe(403);
  expect(json).toEqual({
    type: 'http://localhost:3000/docs/errors#version_not_covered',
    title: 'This license does not cover this version',
    status: 403,
    code: 'version_not_covered',
    detail: 'This license covers no published version.',
    client_action: 'stop',
    minimum_license_expiry: '2027-01-01T00:00:00Z',
    newest_covered_version: null,
    download_url: null,
    request_id: expect.any(String),
  });
});

test('the refusal of a version contains the newest covered version, compared by number, and its download URL', async () => {
  for (const version of ['2.9', '2.10']) await publish(service, version);
  await publish(service, '3.2', '2027-01-01T00:00:00Z');
  const { json } = await service.heartbeat(token, { app_version: '3.2' });
  expect(json).toMatchObject({
    code: 'version_not_covered',
    detail: 'This license covers versions up to 2.10.',
    minimum_license_expiry: '2027-01-01T00:00:00Z',
    newest_covered_version: '2.10',
    download_url: downloadUrl('2.10'),
  });
});

// Versions are equal if their numbers are, without zeros at the end. A version that was never published is not refused.
test.each([
  ['3.2', 'version_not_covered'],
  ['3.2.0', 'version_not_covered'],
  ['3.2.0.0', 'version_not_covered'],
  ['03.02', 'version_not_covered'],
  ['3.20', 'covered'],
  ['3.2.1', 'covered'],
  ['3', 'covered'],
  ['2.10', 'covered'],
  ['99999999999999999999999.0', 'covered'],
])('a heartbeat of version %s has the outcome %s', async (version, outcome) => {
  expect(await sendHeartbeat(version)).toBe(outcome);
});

test('a license without expiry covers every version', async () => {
  expect(await sendHeartbeat('3.2', tokenWithoutExpiry)).toBe('covered');
});

test('a renewed license covers the version with its next heartbeat', async () => {
  const license = await service.issue({ expires_at: new Date('2026-12-01T00:00:00Z') });
  const renewed = (await service.activate(license, 'studio', { app_version: '2.10' })).json.token;
  expect(await sendHeartbeat('3.2', renewed)).toBe('version_not_covered');
  await service.setLicense(license.license_id, { expires_at: new Date('2027-01-01T00:00:00Z') });
  expect(await sendHeartbeat('3.2', renewed)).toBe('covered');
});

test('a lowered minimum_license_expiry applies at once, also at an instance that has not polled yet', async () => {
  await other.app.get(ManifestService).refresh();
  const before = await other.heartbeat(token, { app_version: '3.2.0' });
  expect(before.json.code).toBe('version_not_covered');
  // Stops the polling of this instance, so that its next heartbeat comes before a poll.
  other.app.get(ManifestService).beforeApplicationShutdown();
  await publish(service, '3.2', '2026-12-01T00:00:00Z');
  expect(await sendHeartbeat('3.2.0')).toBe('covered');
  expect((await other.heartbeat(token, { app_version: '3.2.0' })).status).toBe(200);
});

test('a withdrawn version is not returned as the newest covered one', async () => {
  const license = await service.issue({ expires_at: new Date('2026-11-25T00:00:00Z') });
  const expiringToken = (await service.activate(license, 'laptop', { app_version: '2.10' })).json.token;
  const newest = async (at: Service) => {
    const { status, json } = await at.heartbeat(expiringToken, { app_version: '3.2' });
    expect([status, json.code]).toEqual([403, 'version_not_covered']);
    return [json.newest_covered_version, json.download_url];
  };
  await publish(service, '3.3');
  for (const instance of [service, other])
    expect(await newest(instance)).toEqual(['3.3', downloadUrl('3.3')]);

  await withdraw(service);
  for (const instance of [service, other])
    expect(await newest(instance)).toEqual(['2.10', downloadUrl('2.10')]);
  // This stays so after a later version is published, and after the later version is withdrawn as well.
  await publish(service, '3.4', '2027-01-01T00:00:00Z');
  for (const instance of [service, other])
    expect(await newest(instance)).toEqual(['2.10', downloadUrl('2.10')]);
  await withdraw(service);
  for (const instance of [service, other])
    expect(await newest(instance)).toEqual(['2.10', downloadUrl('2.10')]);
  // A client with the withdrawn version is not refused.
  expect(await sendHeartbeat('3.3', expiringToken)).toBe('covered');
});

test('a version that is live again after a withdrawal can be the newest covered one', async () => {
  // The test above withdrew 3.3 and 3.4, each time back to 3.2.
  const license = await service.issue({ expires_at: new Date('2026-12-15T00:00:00Z') });
  const expiringToken = (await service.activate(license, 'laptop', { app_version: '2.10' })).json.token;
  await publish(service, '3.5', '2027-01-01T00:00:00Z');
  const { json } = await service.heartbeat(expiringToken, { app_version: '3.5' });
  expect(json).toMatchObject({ code: 'version_not_covered', newest_covered_version: '3.2' });
});
