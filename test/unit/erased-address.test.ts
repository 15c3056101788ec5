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
