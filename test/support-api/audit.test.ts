import { expect, test } from '@jest/globals';
import { StaffService } from '../../src/staff/staff.service.js';
import { StaffTokensService } from '../../src/staff/tokens/staff-tokens.service.js';
import { AUDIT_CONTEXT, Service } from '../support/harness.js';
import { publish } from '../manifest/publish.js';
import { isActive } from './harness.js';

const service = await Service.start();
const authorization = `Bearer ${await service.staffToken()}`;

const release = (id: string, body: unknown = { reason: 'a new computer' }) =>
  service.call('POST', `/support/api/activations/${id}/release`, body, { authorization });

const readReleaseEvents = (licenseId: string) =>
  service.sql(
    `select actor, action, reason, change, at from audit_event where license_id = $1 and action = 'activation.release'`,
    [licenseId],
  );

test('a release is recorded with its actor, activation, reason and time, in the same transaction', async () => {
  const license = await service.issueActivated();
  service.clock.set('2026-11-20T15:30:00Z');
  await release(license.activation_id, { reason: 'the old computer was sold' });
  expect(await readReleaseEvents(license.license_id)).toEqual([
    {
      actor: 'grace@example.com',
      action: 'activation.release',
      reason: 'the old computer was sold',
      change: { activation_id: license.activation_id },
      at: new Date('2026-11-20T15:30:00Z'),
    },
  ]);
  const [row] = await service.sql(
    `select a.xmin = e.xmin as is_same_transaction from activation a, audit_event e
     where a.id = $1 and e.license_id = a.license_id and e.action = 'activation.release'`,
    [license.activation_id],
  );
  expect(row).toEqual({ is_same_transaction: true });
});

test('audit events have the exact changes, and no personal data', async () => {
  const staff = service.app.get(StaffService);
  const tokens = service.app.get(StaffTokensService);
  const { staff_id } = await staff.add('linus@example.com', 'admin', AUDIT_CONTEXT);
  const { id: token_id } = await tokens.create('linus@example.com', AUDIT_CONTEXT);
  await tokens.revoke(token_id, AUDIT_CONTEXT);
  const { license_id } = await service.issue({ machines_allowed: 3 });
  await service.setLicense(license_id, { staff_status: 'revoked' });
  const changes = await service.sql('select action, change from audit_event order by id desc limit 5');
  expect(changes.toReversed()).toEqual([
    { action: 'staff.add', change: { staff_id, role: 'admin' } },
    { action: 'staff.token', change: { staff_id, token_id } },
    { action: 'staff.revoke_token', change: { staff_id, token_id } },
    { action: 'license.issue', change: { machines_allowed: 3, expires_at: null, on_expiry: 'keep' } },
    { action: 'license.set', change: { staff_status: 'revoked', before: { staff_status: 'active' } } },
  ]);
});

test('if the audit event cannot be written, the release is rolled back', async () => {
  const license = await service.issueActivated();
  await service.sql(
    "alter table audit_event add constraint broken check (action <> 'activation.release') not valid",
  );
  const { status, json } = await release(license.activation_id);
  await service.sql('alter table audit_event drop constraint broken');
  expect([status, json.code]).toEqual([500, 'internal_error']);
  expect(await isActive(service, license.activation_id)).toBe(true);
});

test.each([
  "update audit_event set reason = 'another'",
  'update audit_event set at = at',
  'delete from audit_event',
  'truncate audit_event',
  "update manifest set signed = 'another'",
  'update manifest set published_at = published_at',
  'delete from manifest',
  'truncate manifest',
])('audit events and manifests cannot be changed or deleted: %s', async (statement) => {
  await publish(service, '1.0');
  await release((await service.issueActivated()).activation_id);
  await expect(service.sql(statement)).rejects.toThrow('is append-only');
});

test('an audit event can be deleted only after 24 months', async () => {
  const insertEvent = `insert into audit_event (id, actor, action, change, at) values (gen_random_uuid(), 'old', 'test', '{}', $1)`;
  const now = new Date();
  const timeAgo = ({ months, days }: { months: number; days: number }) => {
    const time = new Date(now.getTime() - days * 86_400_000);
    time.setUTCMonth(time.getUTCMonth() - months);
    return time;
  };
  await service.sql(insertEvent, [timeAgo({ months: 24, days: 3 })]);
  await service.sql("delete from audit_event where actor = 'old'");
  await service.sql(insertEvent, [timeAgo({ months: 24, days: -3 })]);
  await expect(service.sql("delete from audit_event where actor = 'old'")).rejects.toThrow('is append-only');
});
