import { createHmac } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { LicenseKeys } from '../../src/keys/license-keys.js';

const secret = Buffer.alloc(32, 7);
const keys = new LicenseKeys(secret, 'MOOR');

test('the hash of an erased address is HMAC-SHA256 under a separate key', () => {
  const key = createHmac('sha256', secret).update('mooring erased address v1\0').digest();
  const expected = createHmac('sha256', key).update('ada@example.com').digest('hex');
  expect(keys.hashErasedAddress('ada@example.com')).toBe(expected);
  expect(expected).toMatch(/^[0-9a-f]{64}$/);
});

test('the hash of an erased address differs for another secret, and for another address', () => {
  const hashes = [
    keys.hashErasedAddress('ada@example.com'),
    new LicenseKeys(Buffer.alloc(32, 8), 'MOOR').hashErasedAddress('ada@example.com'),
    keys.hashErasedAddress('bob@example.com'),
  ];
  expect(new Set(hashes).size).toBe(3);
});

// The expected values were computed with openssl dgst -mac HMAC and base64. A stored check value, and the id of an actor, which is
// in URLs that staff may have saved, must not change with a new version.
test('the check value of the secret, challenges of passkeys and ids of actors are derived as SECURITY.md says', () => {
  expect(keys.secretCheck.toString('hex')).toBe(
    '200b1b37c5e1bcd1a219f20cd5e2a69ab8ac36e7dc8c8b7133c76b5aab4285be',
  );
  const id = '00000000-0000-7000-8000-000000000001';
  // The second argument is the id of the staff member who registers a passkey, or null for a sign-in.
  expect(keys.passkeyChallenge(id, 'staff').toString('hex')).toBe(
    '0e8b5bbe5a8b992742d0fff1ba72a9c437b6d80213011d8deb289b4569150c15',
  );
  expect(keys.passkeyChallenge(id, null).toString('hex')).toBe(
    '9a39b2788a40fa466d46fed15451f175a91ffe866bfd2efe4c6d702c2894c03b',
  );
  expect(keys.auditActorId('ada@example.com')).toBe('B3X3SOjEGo8gp06L');
});
