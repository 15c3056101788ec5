import { beforeEach, describe, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { NOW, Service } from '../support/harness.js';
import { publish, withdraw } from '../manifest/publish.js';
import { signInStaff } from './harness.js';
import { expectFailures } from '../support/tables.js';

const service = await Service.start();
const support = await signInStaff(service, 'support');
beforeEach(() => service.clock.set(NOW));

describe('the audit trail', () => {
  test('lists actor, action, time and reason, newest first, of all licenses or of one', async () => {
    const { license_id } = await service.issue();
    service.clock.advance(60_000);
    await service.setLicense(license_id, { machines_allowed: 2 });
    await service.issue();
    const { events } = (await support.get('audit')).json;
    expect(events.map(({ action }: { action: string }) => action).slice(0, 3)).toEqual([
      'license.issue',
      'license.set',
      'license.issue',
    ]);
    const ofLicense = await support.get(`audit?license_id=${license_id}`);
    expect(ofLicense.json.events).toEqual([
      {
        id: expect.any(String),
        at: '2026-11-20T13:01:00Z',
        actor: 'test',
        action: 'license.set',
        license_id,
        key_hint: expect.any(String),
        hostname_hint: null,
        staff_email: null,
        reason: 'a test',
        change: { machines_allowed: 2, before: { machines_allowed: 1 } },
      },
      expect.objectContaining({ action: 'license.issue', license_id }),
    ]);
    expect((await support.get(`audit?license_id=${randomUUID()}`)).json).toEqual({
      events: [],
      next_cursor: null,
    });
  });

  test.each(['x', '', '%00', `${randomUUID()}0`, `${randomUUID()}&license_id=x`])(
    'is answered with 422 for the license_id "%s"',
    async (id) => {
      const { status, json } = await support.get(`audit?license_id=${id}`);
      expect([status, json.errors[0].pointer]).toEqual([422, '/license_id']);
    },
  );
});

describe('the manifests', () => {
  test('are an empty list before a version is published', async () => {
    expect((await support.get('manifests')).json).toEqual({ live: null, manifests: [] });
  });

  test('are listed newest first, with withdrawals and the expiry of the live one', async () => {
    await publish(service, '1.0.0');
    await publish(service, '1.1.0', '2027-01-01T00:00:00Z');
    await withdraw(service);
    const { live, manifests } = (await support.get('manifests')).json;
    expect(
      manifests.map(({ sequence, version, withdrawal, minimum_license_expiry }: Record<string, unknown>) => [
        sequence,
        version,
        withdrawal,
        minimum_license_expiry,
      ]),
    ).toEqual([
      [3, '1.0.0', true, null],
      [2, '1.1.0', false, '2027-01-01T00:00:00Z'],
      [1, '1.0.0', false, null],
    ]);
    const { sequence, version, expires_at } = manifests[0];
    const days = (Date.parse(expires_at) - Date.parse(NOW)) / 86_400_000;
    expect(live).toEqual({ sequence, version, expires_at, days_left: Math.floor(days) });
    service.clock.set(new Date(Date.parse(expires_at) + 1));
    const later = await signInStaff(service, 'support');
    expect((await later.get('manifests')).json.live.days_left).toBe(-1);
  });

  test('are publications in the fleet view if they change the version, not if they renew the manifest of a version', async () => {
    const published_at = NOW;
    // The test above published 1.0.0 and 1.1.0, and withdrew 1.1.0. This one renews the manifest of 1.0.0.
    await publish(service, '1.0.0');
    const staff = await signInStaff(service, 'support');
    expect((await staff.get('fleet')).json.publications).toEqual([
      { version: '1.0.0', published_at, withdrawal: true },
      { version: '1.1.0', published_at, withdrawal: false },
      { version: '1.0.0', published_at, withdrawal: false },
    ]);
  });
});

describe('the retention runs', () => {
  test('are listed newest first, with deleted rows and failures, including interrupted runs', async () => {
    await service.sql('delete from retention_run');
    await service.sql(
      `insert into retention_run (id, as_of, started_at, finished_at, deleted, failed) values
       ('01980000-0000-7000-8000-000000000001', '2026-11-18', '2026-11-18T01:00:00Z', '2026-11-18T01:00:09Z', '{"telemetry": 7, "graphile_worker._private_jobs": 1}', '{}'),
       ('01980000-0000-7000-8000-000000000002', '2026-11-19', '2026-11-19T01:00:00Z', '2026-11-19T01:00:09Z', '{}', '{license,purchase}'),
       ('01980000-0000-7000-8000-000000000003', '2026-11-20', '2026-11-20T01:00:00Z', null, '{}', '{}')`,
    );
    const { runs } = (await support.get('retention')).json;
    expect(runs).toEqual([
      expect.objectContaining({ started_at: '2026-11-20T01:00:00Z', finished_at: null }),
      expect.objectContaining({ error: 'Failed steps: license, purchase.' }),
      {
        id: '01980000-0000-7000-8000-000000000001',
        as_of: '2026-11-18T00:00:00Z',
        started_at: '2026-11-18T01:00:00Z',
        finished_at: '2026-11-18T01:00:09Z',
        deleted: { telemetry: 7, 'graphile_worker._private_jobs': 1 },
      },
    ]);
  });

  test('are limited to 30', async () => {
    await service.sql(
      `insert into retention_run (id, as_of, started_at)
       select ('01980000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, '2026-12-01', timestamptz '2026-12-01' + n * interval '1 hour'
       from generate_series(100, 139) n`,
    );
    expect((await support.get('retention')).json.runs).toHaveLength(30);
  });
});

test.each([
  ['audit', 'audit_event'],
  ['manifests', 'manifest'],
  ['retention', 'retention_run'],
  ['release-requests', 'release_request'],
])('GET %s answers 500 if a table is missing, and 503 if it is locked', async (path, table) => {
  await expectFailures(service, table, () => support.get(path));
});
