import { expect, test } from '@jest/globals';
import { LicenseKeys } from '../../src/keys/license-keys.js';

const keys = new LicenseKeys(Buffer.alloc(32, 7), 'MOOR');

// The expected ids were computed with `echo` and `openssl dgst -mac HMAC`. The bits of version and variant (RFC 9562) were set by
// hand.
test('a purchase id and a license id are derived from a transaction id, each with its own label', () => {
  expect(keys.purchaseIds('pi_3QWErTyUiOp')).toEqual({
    purchase_id: '9f9bd35e-211f-736a-b070-3b8b4c13a50d',
    license_id: 'c631566c-7fe2-7672-a998-4ef93752a079',
  });
});

test('another transaction id or another secret gives other ids, each a UUID of version 7', () => {
  const derived = Array.from({ length: 1_000 }, (_, n) => keys.purchaseIds(`pi_${n}`));
  const otherKeys = new LicenseKeys(Buffer.alloc(32, 8), 'MOOR');
  const others = [otherKeys.purchaseIds('pi_1'), keys.purchaseIds('pi_1 ')];
  const ids = [...derived, ...others].flatMap(({ purchase_id, license_id }) => [purchase_id, license_id]);
  expect(new Set(ids).size).toBe(2_004);
  for (const id of ids)
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
});
