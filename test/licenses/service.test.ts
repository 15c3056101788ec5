import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { DataSource } from 'typeorm';
import { LicensesService } from '../../src/licenses/licenses.service.js';
import { AUDIT_CONTEXT, Service } from '../support/harness.js';
import { lastAuditEvent } from '../support-api/harness.js';

const NOW = new Date('2026-11-20T13:00:00Z');
const LATER = new Date('2026-11-20T14:00:00Z');

const service = await Service.start();
const licenses = service.app.get(LicensesService);
beforeEach(() => service.clock.set(NOW.toISOString()));

const rowOf = async (id: string) => (await service.sql('select * from license where id = $1', [id]))[0]!;

/** The mail jobs that a new license of a purchase enqueues, read before they can run. */
async function jobsEnqueuedByPurchase({ isRefunded }: { isRefunded: boolean }): Promise<unknown[]> {
  const ids = { license_id: randomUUID(), purchase_id: randomUUID() };
  return service.app.get(DataSource).transaction(async (manager) => {
    await manager.query(
      "insert into purchase (id, transaction_id, state, recorded_on) values ($1, $1::uuid::text, 'paid', now())",
      [ids.purchase_id],
    );
    await licenses.issueForPurchase(manager, ids, 'ada@example.com', isRefunded);
    const sql = 'select task_identifier as task from graphile_worker.jobs where key = $1';
    return (await manager.query(sql, [`license_key ${ids.license_id}`])) as unknown[];
  });
}

test('a purchase enqueues the mail with its key, unless it is already refunded', async () => {
  expect(await jobsEnqueuedByPurchase({ isRefunded: false })).toEqual([{ task: 'mail_license_key' }]);
  expect(await jobsEnqueuedByPurchase({ isRefunded: true })).toEqual([]);
});

test('a key that staff mail again is recorded in the audit trail, and one that a holder requests is not', async () => {
  const { license_id } = await service.issue();
  const sendKeyEvents = () =>
    service.sql("select actor from audit_event where license_id = $1 and action = 'license.send_key'", [
      license_id,
    ]);
  await licenses.sendKey(license_id);
  expect(await sendKeyEvents()).toEqual([]);
  await licenses.sendKey(license_id, AUDIT_CONTEXT);
  expect(await sendKeyEvents()).toEqual([{ actor: 'test' }]);
});

test('the key of an erased license cannot be mailed or replaced', async () => {
  const { license_id } = await service.issue();
  await service.sql('update license set email = null, ended_at = $2 where id = $1', [license_id, NOW]);
  const refusal = { code: 'key_not_mailable', members: { reason: 'erased' } };
  const before = await rowOf(license_id);
  for (const attempt of [
    licenses.sendKey(license_id, AUDIT_CONTEXT),
    licenses.rekey(license_id, AUDIT_CONTEXT),
  ])
    await expect(attempt).rejects.toMatchObject(refusal);
  expect(await rowOf(license_id)).toEqual(before);
  expect(await licenses.currentKey(license_id)).toBeNull();
});

test('the key of a revoked license cannot be mailed, and the reason is given', async () => {
  const { license_id } = await service.issue();
  await licenses.set(license_id, { staff_status: 'revoked' }, AUDIT_CONTEXT);
  await expect(licenses.sendKey(license_id)).rejects.toMatchObject({
    code: 'key_not_mailable',
    members: { reason: 'revoked' },
  });
});

test('outside production a database without licenses is accepted, which production would take for the wrong database', async () => {
  const empty = await Service.start();
  await expect(empty.app.get(LicensesService).assertDatabaseHasLicenses()).resolves.toBeUndefined();
  await empty.close();
});

describe('a change', () => {
  test('of the terms of a refunded license leaves its end as it is', async () => {
    const { license_id } = await service.issue();
    await service.setPurchase(license_id, 'refunded');
    await service.sql('update license set ended_at = $2 where id = $1', [license_id, NOW]);
    service.clock.set(LATER.toISOString());
    await licenses.set(license_id, { machines_allowed: 4 }, AUDIT_CONTEXT);
    expect(await rowOf(license_id)).toMatchObject({
      machines_allowed: 4,
      ended_at: NOW,
      end_changed_at: NOW,
    });
  });

  test('of the end sets end_changed_at, and another change does not', async () => {
    const expires_at = new Date('2027-01-01T00:00:00Z');
    const { license_id } = await service.issue({ expires_at, on_expiry: 'stop' });
    service.clock.set(LATER.toISOString());
    await licenses.set(license_id, { machines_allowed: 4 }, AUDIT_CONTEXT);
    expect(await rowOf(license_id)).toMatchObject({ expires_at, end_changed_at: NOW, ended_at: null });
    await licenses.set(license_id, { expires_at: null }, AUDIT_CONTEXT);
    expect(await rowOf(license_id)).toMatchObject({ expires_at: null, end_changed_at: LATER });
  });

  test('of the status to revoked sets ended_at, and back to active removes it', async () => {
    const { license_id } = await service.issue();
    service.clock.set(LATER.toISOString());
    await licenses.set(license_id, { staff_status: 'revoked' }, AUDIT_CONTEXT);
    expect(await rowOf(license_id)).toMatchObject({ ended_at: LATER, end_changed_at: LATER });
    await licenses.set(license_id, { staff_status: 'active' }, AUDIT_CONTEXT);
    expect(await rowOf(license_id)).toMatchObject({ ended_at: null });
  });

  test('to the same address changes nothing and ends no session, unlike a change to another address', async () => {
    const { license_id, email, license_key } = await service.issue({ email: 'same@example.com' });
    const signIn = await service.call('POST', '/portal/api/session', { email, license_key });
    expect(signIn.status).toBeLessThan(300);
    await licenses.set(license_id, { email }, AUDIT_CONTEXT);
    expect((await rowOf(license_id))['email_since']).toBeNull();
    expect((await lastAuditEvent(service)).change).toEqual({});
    const sessions = 'select from session where license_id = $1';
    expect(await service.sql(sessions, [license_id])).toHaveLength(1);
    await licenses.set(license_id, { email: 'next@example.com' }, AUDIT_CONTEXT);
    expect((await rowOf(license_id))['email_since']).toEqual(NOW);
    expect(await service.sql(sessions, [license_id])).toEqual([]);
  });

  test('of an erased license is possible for its terms, and for its address only if a restore lost the address', async () => {
    const { license_id } = await service.issue();
    await service.sql('update license set email = null, ended_at = $2 where id = $1', [license_id, NOW]);
    await licenses.set(license_id, { machines_allowed: 2 }, AUDIT_CONTEXT);
    expect(await rowOf(license_id)).toMatchObject({ machines_allowed: 2, email: null, ended_at: NOW });
    const change = { email: 'back@example.com' };
    await expect(licenses.set(license_id, change, AUDIT_CONTEXT)).rejects.toMatchObject({
      code: 'license_erased',
    });
    await service.sql('update license set address_lost_at = $2 where id = $1', [license_id, NOW]);
    await licenses.set(license_id, change, AUDIT_CONTEXT);
    expect(await rowOf(license_id)).toMatchObject({ ...change, address_lost_at: null, ended_at: null });
  });
});
