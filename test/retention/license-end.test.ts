import { randomUUID } from 'node:crypto';
import { beforeEach, expect, test } from '@jest/globals';
import { ReleaseService } from '../../src/releases/release.service.js';
import { LicensesService, type LicenseChange } from '../../src/licenses/licenses.service.js';
import { PurchasesService } from '../../src/purchases/purchases.service.js';
import { ErasureService } from '../../src/erasure/erasure.service.js';
import { NOW, Service } from '../support/harness.js';

const LATER = '2026-12-24T18:00:00Z';

const service = await Service.start({ environment: { SELF_RELEASES_PER_YEAR: '1' } });
beforeEach(() => service.clock.set(NOW));

let purchaseCount = 0;
const report = (transaction_id: string, status: 'paid' | 'disputed' | 'dispute_won' | 'refunded') =>
  service.app
    .get(PurchasesService)
    .record({ transaction_id, status, ...(status === 'paid' && { email: 'ada@example.com' }) });

async function recordPurchase(): Promise<{ transaction_id: string; license_id: string }> {
  const transaction_id = `sale ${(purchaseCount += 1)}`;
  return { transaction_id, license_id: (await report(transaction_id, 'paid')).license_id! };
}

async function endOf(id: string): Promise<string | null> {
  const [license] = await service.sql<{ ended_at: Date | null }>(
    'select ended_at from license where id = $1',
    [id],
  );
  return license!.ended_at && license!.ended_at.toISOString().replace('.000', '');
}

test('a license ends at its refund, and later reports do not change its end', async () => {
  const { transaction_id, license_id } = await recordPurchase();
  expect(await endOf(license_id)).toBeNull();
  await report(transaction_id, 'refunded');
  expect(await endOf(license_id)).toBe(NOW);
  service.clock.set(LATER);
  await report(transaction_id, 'refunded');
  await report(transaction_id, 'disputed');
  expect(await endOf(license_id)).toBe(NOW);
});

test('a license whose refund was reported before its purchase ends when it is created', async () => {
  await report('backwards', 'refunded');
  service.clock.set(LATER);
  const { license_id } = await report('backwards', 'paid');
  expect(await endOf(license_id!)).toBe(LATER);
});

test('a revocation sets the end of a license, lifting it removes the end, and another revocation sets a new one', async () => {
  const { license_id } = await service.issue();
  await service.setLicense(license_id, { staff_status: 'revoked' });
  expect(await endOf(license_id)).toBe(NOW);
  service.clock.set(LATER);
  // A second revocation and another change do not change the end.
  await service.setLicense(license_id, { staff_status: 'revoked' });
  await service.setLicense(license_id, { machines_allowed: 3 });
  expect(await endOf(license_id)).toBe(NOW);
  await service.setLicense(license_id, { staff_status: 'suspended' });
  expect(await endOf(license_id)).toBeNull();
  await service.setLicense(license_id, { staff_status: 'revoked' });
  expect(await endOf(license_id)).toBe(LATER);
});

test('a refunded license keeps its end when an earlier revocation is lifted', async () => {
  const { transaction_id, license_id } = await recordPurchase();
  await service.setLicense(license_id, { staff_status: 'revoked' });
  service.clock.set(LATER);
  await report(transaction_id, 'refunded');
  await service.setLicense(license_id, { staff_status: 'active' });
  expect(await endOf(license_id)).toBe(NOW);
});

test.each(['suspended', 'active'] as const)(
  'a license that is %s has no end, also if its purchase is disputed',
  async (staff_status) => {
    const { transaction_id, license_id } = await recordPurchase();
    await service.setLicense(license_id, { staff_status });
    await report(transaction_id, 'disputed');
    expect(await endOf(license_id)).toBeNull();
  },
);

/** When the end of a license was last changed. */
async function changedAt(id: string): Promise<string> {
  const sql = 'select end_changed_at from license where id = $1';
  const [license] = await service.sql<{ end_changed_at: Date }>(sql, [id]);
  return license!.end_changed_at.toISOString().replace('.000', '');
}

const EXPIRED = { on_expiry: 'stop', expires_at: new Date('2026-01-01') } as const;
const KEEPS = { on_expiry: 'keep', expires_at: new Date('2026-01-01') } as const;
const REVOKED = { staff_status: 'revoked' } as const;
const erase = async () => {
  const erasures = service.app.get(ErasureService);
  const { id } = await erasures.request('grace@example.com', { actor: 'test', reason: null });
  await erasures.run(id);
};

test.each<[what: string, terms: LicenseChange, change: LicenseChange, isChange: boolean]>([
  ['a new expiry', EXPIRED, { expires_at: new Date('2025-01-01') }, true],
  ['an expiry that is removed', EXPIRED, { expires_at: null }, true],
  ['on_expiry: stop', KEEPS, { on_expiry: 'stop' }, true],
  ['on_expiry: keep', EXPIRED, { on_expiry: 'keep' }, true],
  ['a revocation', {}, REVOKED, true],
  ['a revocation that is lifted', REVOKED, { staff_status: 'active' }, true],
  ['the same values again', { ...EXPIRED, ...REVOKED }, { ...EXPIRED, ...REVOKED }, false],
  ['a new expiry of a license with on_expiry: keep', KEEPS, { expires_at: new Date('2025-01-01') }, false],
  ['a suspension', EXPIRED, { staff_status: 'suspended' }, false],
  ['another number of machines', EXPIRED, { machines_allowed: 3 }, false],
  ['another address', EXPIRED, { email: 'other@example.com' }, false],
])('after %s, end_changed_at is updated only if the end changed', async (_what, terms, change, isChange) => {
  const { license_id } = await service.issue();
  expect(await changedAt(license_id)).toBe(NOW);
  await service.setLicense(license_id, terms);
  service.clock.set(LATER);
  await service.setLicense(license_id, change);
  expect(await changedAt(license_id)).toBe(isChange ? LATER : NOW);
});

test('a refund and an erasure set the end of a license that has none, and change no existing end', async () => {
  const valid = await recordPurchase();
  const revoked = await recordPurchase();
  const expired = (await service.issue({ email: 'grace@example.com', ...EXPIRED })).license_id;
  const erased = (await service.issue({ email: 'grace@example.com' })).license_id;
  await service.setLicense(revoked.license_id, REVOKED);
  service.clock.set(LATER);
  await report(valid.transaction_id, 'refunded');
  await report(revoked.transaction_id, 'refunded');
  await erase();
  expect(await Promise.all([valid.license_id, erased].map(changedAt))).toEqual([LATER, LATER]);
  expect(await Promise.all([revoked.license_id, expired].map(changedAt))).toEqual([NOW, NOW]);
});

test('a release, a refund, an erasure and its replay record the current time as the end of the activation', async () => {
  // Each license expired long before, so that its expiry would show as a wrong end of the activation.
  const purchase = await recordPurchase();
  const email = 'ada@example.com';
  const activateAndExpire = async (license_id: string, owner = email) => {
    const license_key = (await service.app.get(LicensesService).currentKey(license_id))!;
    const { json } = await service.activate({ license_key, email: owner }, randomUUID());
    await service.setLicense(license_id, EXPIRED);
    return json.activation.id as string;
  };
  const grace = () => service.issue({ email: 'grace@example.com' });
  const releases = service.app.get(ReleaseService);
  const paths: Record<string, [id: string, end: (id: string) => Promise<unknown>]> = {
    staff: [
      await activateAndExpire((await service.issue()).license_id),
      (id) => releases.release(id, { actor: 'test', reason: null }),
    ],
    holder: [
      await activateAndExpire((await service.issue()).license_id),
      (id) => releases.releaseForHolder(id, email),
    ],
    refund: [await activateAndExpire(purchase.license_id), () => report(purchase.transaction_id, 'refunded')],
    erasure: [await activateAndExpire((await grace()).license_id, 'grace@example.com'), erase],
    replay: [
      await activateAndExpire((await grace()).license_id, 'grace@example.com'),
      async (id) => {
        await erase();
        // Restores the row as a backup would.
        await service.sql(
          `update activation set machine_id = sha256('m'), ended_at = null, ended_reason = null where id = $1`,
          [id],
        );
        service.clock.advance(1000);
        await service.app.get(ErasureService).replay();
      },
    ],
  };
  service.clock.set(LATER);
  for (const [path, [id, end]] of Object.entries(paths)) {
    service.clock.advance(3_600_000);
    await end(id);
    const [row] = await service.sql('select ended_at from activation where id = $1', [id]);
    expect({ path, ...row }).toEqual({ path, ended_at: service.clock.now() });
  }
});
