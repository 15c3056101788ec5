import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { PurchasesService } from '../src/purchases/purchases.service.js';
import { Service } from './harness.js';

const NOON = '2026-11-20T13:00:00Z';
const LATER = '2026-12-24T18:00:00Z';

let service: Service;
beforeAll(async () => void (service = await Service.start()));
beforeEach(() => service.clock.set(NOON));
afterAll(() => service.close());

let sold = 0;
const report = (transaction_id: string, status: 'paid' | 'disputed' | 'dispute_won' | 'refunded') =>
  service.app
    .get(PurchasesService)
    .record({ transaction_id, status, ...(status === 'paid' && { email: 'ada@example.com' }) });

async function sell(): Promise<{ transaction_id: string; license_id: string }> {
  const transaction_id = `sale ${(sold += 1)}`;
  return { transaction_id, license_id: (await report(transaction_id, 'paid')).license_id! };
}

async function endOf(id: string): Promise<string | null> {
  const [license] = await service.sql<{ ended_at: Date | null }>(
    'select ended_at from license where id = $1',
    [id],
  );
  return license!.ended_at && license!.ended_at.toISOString().replace('.000', '');
}

test('a license that is refunded ends then, and reported once more it does not end later', async () => {
  const { transaction_id, license_id } = await sell();
  expect(await endOf(license_id)).toBeNull();
  await report(transaction_id, 'refunded');
  expect(await endOf(license_id)).toBe(NOON);
  service.clock.set(LATER);
  await report(transaction_id, 'refunded');
  await report(transaction_id, 'disputed');
  expect(await endOf(license_id)).toBe(NOON);
});

test('a license whose refund was reported before its purchase has ended from the start', async () => {
  await report('backwards', 'refunded');
  service.clock.set(LATER);
  const { license_id } = await report('backwards', 'paid');
  expect(await endOf(license_id!)).toBe(LATER);
});

test('a license that is revoked ends then; lifting it undoes that, and the next time counts anew', async () => {
  const { license_id } = await service.issue();
  await service.setLicense(license_id, { staff_status: 'revoked' });
  expect(await endOf(license_id)).toBe(NOON);
  service.clock.set(LATER);
  // Said twice, and changed in another way: it ended when it ended.
  await service.setLicense(license_id, { staff_status: 'revoked' });
  await service.setLicense(license_id, { machines_allowed: 3 });
  expect(await endOf(license_id)).toBe(NOON);
  await service.setLicense(license_id, { staff_status: 'suspended' });
  expect(await endOf(license_id)).toBeNull();
  await service.setLicense(license_id, { staff_status: 'revoked' });
  expect(await endOf(license_id)).toBe(LATER);
});

test('lifting a revocation never lifts a refund', async () => {
  const { transaction_id, license_id } = await sell();
  await service.setLicense(license_id, { staff_status: 'revoked' });
  service.clock.set(LATER);
  await report(transaction_id, 'refunded');
  await service.setLicense(license_id, { staff_status: 'active' });
  expect(await endOf(license_id)).toBe(NOON);
});

test.each(['suspended', 'active'] as const)('a license that is %s has no end', async (staff_status) => {
  const { transaction_id, license_id } = await sell();
  await service.setLicense(license_id, { staff_status });
  await report(transaction_id, 'disputed');
  expect(await endOf(license_id)).toBeNull();
});
