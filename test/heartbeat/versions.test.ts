import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { ManifestService } from '../../src/manifest/manifest.service.js';
import { Service } from '../support/harness.js';
import { downloadUrl, publish, withdraw } from '../manifest/publish.js';

/** Two instances on one database, as behind a balancer: the publisher reaches the first. */
let service: Service;
let other: Service;
let token: string;
let forever: string;
beforeAll(async () => {
  service = await Service.start();
  const expires_at = new Date('2026-12-01T00:00:00Z');
  token = (await service.activate(await service.issue({ expires_at }))).json.token;
  forever = (await service.activate(await service.issue())).json.token;
  other = await Service.start({ databaseUrl: service.databaseUrl, dataDir: service.dataDir });
});
afterAll(async () => {
  await other.close();
  await service.close();
});

const beat = async (app_version: string, given = token) => {
  const { status, json } = await service.heartbeat(given, { app_version });
  return status === 200 ? 'covered' : json.code;
};

test('before anything is published, every version is covered', async () => {
  expect(await beat('9.9.9')).toBe('covered');
});

test('where the license covers no published version, there is none to name', async () => {
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

test('a version that is not covered names the newest that is, by number, and where to get it', async () => {
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
])('%s is %s', async (version, outcome) => {
  expect(await beat(version)).toBe(outcome);
});

test('a license without expiry covers everything', async () => {
  expect(await beat('3.2', forever)).toBe('covered');
});

test('a renewed license covers the version with its next heartbeat', async () => {
  const license = await service.issue({ expires_at: new Date('2026-12-01T00:00:00Z') });
  const renewed = (await service.activate(license, 'studio', { app_version: '2.10' })).json.token;
  expect(await beat('3.2', renewed)).toBe('version_not_covered');
  await service.setLicense(license.license_id, { expires_at: new Date('2027-01-01T00:00:00Z') });
  expect(await beat('3.2', renewed)).toBe('covered');
});

test('a minimum lowered by a refresh is honoured at once, by an instance that had not looked again too', async () => {
  await other.app.get(ManifestService).refresh();
  const before = await other.heartbeat(token, { app_version: '3.2.0' });
  expect(before.json.code).toBe('version_not_covered');
  // An instance that does not poll: its next heartbeat comes before its next look.
  other.app.get(ManifestService).beforeApplicationShutdown();
  await publish(service, '3.2', '2026-12-01T00:00:00Z');
  expect(await beat('3.2.0')).toBe('covered');
  expect((await other.heartbeat(token, { app_version: '3.2.0' })).status).toBe(200);
});

test('a version that was withdrawn is named to no client as the newest that is covered', async () => {
  const license = await service.issue({ expires_at: new Date('2026-11-25T00:00:00Z') });
  const lapsing = (await service.activate(license, 'laptop', { app_version: '2.10' })).json.token;
  const newest = async (at: Service) => {
    const { status, json } = await at.heartbeat(lapsing, { app_version: '3.2' });
    expect([status, json.code]).toEqual([403, 'version_not_covered']);
    return [json.newest_covered_version, json.download_url];
  };
  await publish(service, '3.3');
  for (const each of [service, other]) expect(await newest(each)).toEqual(['3.3', downloadUrl('3.3')]);

  await withdraw(service);
  for (const each of [service, other]) expect(await newest(each)).toEqual(['2.10', downloadUrl('2.10')]);
  // Nor once another version is above it, nor where that is withdrawn as well.
  await publish(service, '3.4', '2027-01-01T00:00:00Z');
  for (const each of [service, other]) expect(await newest(each)).toEqual(['2.10', downloadUrl('2.10')]);
  await withdraw(service);
  for (const each of [service, other]) expect(await newest(each)).toEqual(['2.10', downloadUrl('2.10')]);
  // A client that runs it keeps it: a withdrawal is no refusal.
  expect(await beat('3.3', lapsing)).toBe('covered');
});

test('an older version is the newest covered one again, once it is what was gone back to', async () => {
  const license = await service.issue({ expires_at: new Date('2026-12-15T00:00:00Z') });
  const lapsing = (await service.activate(license, 'laptop', { app_version: '2.10' })).json.token;
  await publish(service, '3.5', '2027-01-01T00:00:00Z');
  const { json } = await service.heartbeat(lapsing, { app_version: '3.5' });
  expect(json).toMatchObject({ code: 'version_not_covered', newest_covered_version: '3.2' });
});
