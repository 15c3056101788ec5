import { describe, expect, test } from '@jest/globals';
import { rfc3339 } from '../../src/core/clock.js';
import { Problem } from '../../src/http/problems/problem.js';
import {
  endChangedAt,
  endedAt,
  expiryRefusal,
  licenseStatus,
  statusRefusal,
  type LicenseState,
  type LicenseStatus,
  type PurchaseState,
  type StaffStatus,
} from '../../src/licenses/license.rules.js';

const at = (second: number) => new Date(Date.UTC(2026, 10, 20, 13, 0, second));
const NOW = at(30);

/** Each staff status and purchase state, with the status of the license. */
const STATUSES: [StaffStatus, PurchaseState | null, LicenseStatus][] = [
  ['active', null, 'active'],
  ['active', 'paid', 'active'],
  ['active', 'disputed', 'suspended'],
  ['active', 'dispute_won', 'active'],
  ['active', 'refunded', 'refunded'],
  ['suspended', null, 'suspended'],
  ['suspended', 'paid', 'suspended'],
  ['suspended', 'disputed', 'suspended'],
  ['suspended', 'dispute_won', 'suspended'],
  ['suspended', 'refunded', 'refunded'],
  ['revoked', null, 'revoked'],
  ['revoked', 'paid', 'revoked'],
  ['revoked', 'disputed', 'revoked'],
  ['revoked', 'dispute_won', 'revoked'],
  ['revoked', 'refunded', 'refunded'],
];

const facts = (more: Partial<LicenseState> = {}): LicenseState => ({
  staff_status: 'active',
  purchase_state: null,
  expires_at: null,
  on_expiry: 'stop',
  ...more,
});

describe('the status of a license', () => {
  test.each(STATUSES)(
    'with the staff status %s and the purchase state %s is %s',
    (staff_status, purchase_state, status) => {
      expect(licenseStatus({ staff_status, purchase_state })).toBe(status);
      const refusal = statusRefusal(facts({ staff_status, purchase_state }));
      expect(refusal?.code).toBe(status === 'active' ? undefined : `license_${status}`);
    },
  );

  test('does not depend on the expiry', () => {
    expect(statusRefusal(facts({ expires_at: at(0) }))).toBeUndefined();
  });
});

describe('a license with on_expiry stop', () => {
  test.each([
    ['is valid a second before it expires', at(31), false],
    ['is valid a millisecond before it expires', new Date(NOW.getTime() + 1), false],
    ['has expired in the millisecond of expires_at', NOW, true],
    ['has expired a second after expires_at', at(29), true],
  ])('%s', (_when, expires_at, isExpired) => {
    const refusal = expiryRefusal(facts({ expires_at }), NOW);
    expect(refusal instanceof Problem).toBe(isExpired);
    if (isExpired)
      expect(refusal).toMatchObject({
        code: 'license_expired',
        members: { expired_at: rfc3339(expires_at) },
      });
    expect(expiryRefusal(facts({ expires_at, on_expiry: 'keep' }), NOW)).toBeUndefined();
  });

  test('never expires without expires_at', () => expect(expiryRefusal(facts(), NOW)).toBeUndefined());
});

describe('the end of a license', () => {
  const end = (more: Partial<Parameters<typeof endedAt>[0]> = {}) =>
    endedAt(
      { staff_status: 'active', purchase_state: null, email: 'ada@example.com', ended_at: null, ...more },
      NOW,
    );

  test.each(STATUSES)(
    'with the staff status %s and the purchase state %s is set only if the status, here %s, is refunded or revoked',
    (staff_status, purchase_state, status) => {
      const hasEnded = status === 'refunded' || status === 'revoked';
      expect(end({ staff_status, purchase_state })).toEqual(hasEnded ? NOW : null);
      // A license that has ended already keeps that time, unless its status no longer ends it.
      expect(end({ staff_status, purchase_state, ended_at: at(1) })).toEqual(hasEnded ? at(1) : null);
    },
  );

  test('is now if the address was erased, but not if a restore lost the address', () => {
    expect(end({ email: null })).toEqual(NOW);
    expect(end({ email: null, address_lost_at: null })).toEqual(NOW);
    expect(end({ email: null, address_lost_at: at(2) })).toBeNull();
    expect(end({ address_lost_at: at(2) })).toBeNull();
  });
});

describe('end_changed_at becomes the present time only if the end of a license changes:', () => {
  const changed = (
    before: Partial<Parameters<typeof endChangedAt>[0]>,
    after: Partial<Parameters<typeof endChangedAt>[1]>,
  ) => {
    const none = { ended_at: null, expires_at: null, on_expiry: 'stop' as const };
    return endChangedAt({ ...none, end_changed_at: at(0), ...before }, { ...none, ...after }, NOW);
  };

  test.each([
    ['it has no end before and after a change', {}, {}, at(0)],
    ['it gets an expiry', {}, { expires_at: at(5) }, NOW],
    ['it loses its expiry', { expires_at: at(5) }, {}, NOW],
    ['its expiry does not change', { expires_at: at(5) }, { expires_at: at(5) }, at(0)],
    ['its expiry moves by a second', { expires_at: at(5) }, { expires_at: at(6) }, NOW],
    ['it ends', {}, { ended_at: at(5) }, NOW],
    [
      'it ended before its expiry, which moves',
      { ended_at: at(3), expires_at: at(5) },
      { ended_at: at(3), expires_at: at(6) },
      at(0),
    ],
    ['it had expired, and then ends', { expires_at: at(3) }, { ended_at: at(5), expires_at: at(3) }, at(0)],
    [
      'on_expiry is keep, and its expiry moves',
      { on_expiry: 'keep' as const, expires_at: at(5) },
      { on_expiry: 'keep' as const, expires_at: at(6) },
      at(0),
    ],
    [
      'on_expiry changes from keep to stop',
      { on_expiry: 'keep' as const, expires_at: at(5) },
      { expires_at: at(5) },
      NOW,
    ],
  ])('%s', (_what, before, after, expected) => expect(changed(before, after)).toEqual(expected));
});
