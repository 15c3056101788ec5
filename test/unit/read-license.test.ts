import { describe, expect, test } from '@jest/globals';
import { columnName } from '../../src/license-import/source-row.js';
import { readLicense, type ReadOptions } from '../../src/license-import/read-license.js';
import { exportFormat, type SystemName } from '../../src/license-import/systems.js';

const NOW = new Date('2026-11-20T13:00:00Z');
const UNLIMITED = 100_000;

/** Reads a row with these cells. */
function read(
  system: SystemName,
  cells: Record<string, string>,
  more: Partial<ReadOptions> = {},
  maps: Parameters<typeof exportFormat>[1] = {},
) {
  const byName = new Map(Object.entries(cells).map(([name, text]) => [columnName(name), text]));
  const row = { place: 'line 2', cell: (column: string) => byName.get(column) };
  const options = {
    now: NOW,
    defaultMachines: 3,
    unlimitedMachines: UNLIMITED,
    onExpiry: 'keep',
    ...more,
  } as const;
  return readLicense(row, { format: exportFormat(system, maps), ...options });
}

const LEMON = { key: '80e15db5-c796-436b-850c-8f9c98a48abe', user_email: 'Ada@Example.com', order_id: '17' };
const GUMROAD = {
  'License Key': '85DB562A-C11D4B06-A2335A6B-8C079166',
  'Purchase Email': 'ada@example.com',
  'Purchase ID': 'x==',
};
const PADDLE = {
  'License Code': 'ABCDEFGH-12345678',
  'Customer Email': 'ada@example.com',
  'Order ID': '1-2',
};
const KEYGEN = { key: 'C1B6DE-39A6E3-DE1529-8559A0-4AF593-V3', 'owner.email': 'ada@example.com' };
const statusOf = (result: ReturnType<typeof readLicense>) =>
  'license' in result ? [result.license.staff_status, result.license.purchase_state] : result;

test('the refund of a row without an order status is unknown, unless --map names a column for the status', () => {
  const refundUnknown = (maps: Parameters<typeof exportFormat>[1]) => {
    const result = read('paddle', { ...PADDLE, State: 'completed' }, {}, maps);
    return 'license' in result && result.license.read.isRefundUnknown;
  };
  expect([refundUnknown({}), refundUnknown({ status: 'State' })]).toEqual([true, false]);
});

test('a row of Lemon Squeezy has the key, the address in canonical form, the order, the limit and the dates', () => {
  const dates = { expires_at: '2027-01-04T00:00:00.000000Z', created_at: '2024-05-24T14:15:07.000000Z' };
  expect(
    read('lemonsqueezy', { ...LEMON, ...dates, status: 'active', activation_limit: '5', disabled: 'false' }),
  ).toEqual({
    license: {
      previous_key: '80E15DB5C796436B850C8F9C98A48ABE',
      email: 'ada@example.com',
      transaction_id: '17',
      staff_status: 'active',
      purchase_state: 'paid',
      expires_at: new Date('2027-01-04T00:00:00Z'),
      purchased_at: new Date('2024-05-24T14:15:07Z'),
      machines_allowed: 5,
      on_expiry: 'keep',
      read: {
        words: ['active'],
        dateFormats: ['YYYY-MM-DD hh:mm with its zone', 'YYYY-MM-DD hh:mm with its zone'],
        isUnlimited: false,
        isRefundUnknown: true,
      },
    },
  });
});

test.each<[SystemName, Record<string, string>, unknown]>([
  ['lemonsqueezy', { ...LEMON, status: 'inactive' }, ['active', 'paid']],
  ['lemonsqueezy', { ...LEMON, status: 'disabled', disabled: '1' }, ['suspended', 'paid']],
  ['lemonsqueezy', { ...LEMON, status: 'expired', expires_at: '2026-01-01' }, ['active', 'paid']],
  ['lemonsqueezy', { ...LEMON, status: 'active', 'order.status': 'refunded' }, ['active', 'refunded']],
  ['lemonsqueezy', { ...LEMON, status: 'active', 'order.status': 'partial_refund' }, ['active', 'paid']],
  ['gumroad', { ...GUMROAD, 'Fully Refunded?': '1', 'Refunded?': '1' }, ['active', 'refunded']],
  ['gumroad', { ...GUMROAD, 'Fully Refunded?': '0', 'Refunded?': '1' }, ['active', 'paid']],
  ['gumroad', { ...GUMROAD, 'Disputed?': '1', 'Dispute Won?': '0' }, ['active', 'disputed']],
  ['gumroad', { ...GUMROAD, 'Disputed?': '1', 'Dispute Won?': '1' }, ['active', 'dispute_won']],
  ['gumroad', { ...GUMROAD, 'License Key Enabled?': '0' }, ['suspended', 'paid']],
  ['gumroad', { ...GUMROAD, 'License Key Enabled?': '' }, ['active', 'paid']],
  ['gumroad', { ...GUMROAD, 'Access Revoked?': '1' }, ['revoked', 'paid']],
  ['paddle', { ...PADDLE, 'Order Status': 'Partially Refunded' }, ['active', 'paid']],
  ['paddle', { ...PADDLE, 'Order Status': 'disputed' }, ['active', 'disputed']],
  ['keygen', { ...KEYGEN, status: 'EXPIRING' }, ['active', 'paid']],
  ['keygen', { ...KEYGEN, status: 'SUSPENDED', suspended: 'true' }, ['suspended', 'paid']],
  ['keygen', { ...KEYGEN, status: 'BANNED' }, ['revoked', 'paid']],
])('%s: the status of %j is %j', (system, cells, expected) =>
  expect(statusOf(read(system, cells))).toEqual(expected),
);

test.each<[SystemName, Record<string, string>, boolean]>([
  ['lemonsqueezy', LEMON, true],
  // Without a transaction there is no order that could have been refunded.
  ['lemonsqueezy', { ...LEMON, order_id: '' }, false],
  ['lemonsqueezy', { ...LEMON, 'order.refunded': 'false' }, false],
  ['paddle', PADDLE, true],
  ['paddle', { ...PADDLE, 'Order Status': 'completed' }, false],
  ['gumroad', GUMROAD, false],
])('%s: whether the refund state of %j is unknown: %j', (system, cells, expected) => {
  const result = read(system, cells);
  expect('license' in result && result.license.read.isRefundUnknown).toBe(expected);
});

describe('the machines', () => {
  const machines = (system: SystemName, cells: Record<string, string>, more?: Partial<ReadOptions>) => {
    const result = read(system, cells, more);
    return 'license' in result ? [result.license.machines_allowed, result.license.read.isUnlimited] : result;
  };
  test('are the limit of the file, or unlimited if that is empty', () => {
    expect(machines('lemonsqueezy', { ...LEMON, activation_limit: '7' })).toEqual([7, false]);
    expect(machines('lemonsqueezy', { ...LEMON, activation_limit: '' })).toEqual([UNLIMITED, true]);
    expect(machines('keygen', { ...KEYGEN, maxMachines: '' }, { unlimitedMachines: 9 })).toEqual([9, true]);
  });
  test('are the default multiplied by the quantity, if the file has no limits', () => {
    expect(machines('gumroad', GUMROAD)).toEqual([3, false]);
    expect(machines('gumroad', { ...GUMROAD, Quantity: '4' })).toEqual([12, false]);
    expect(machines('paddle', PADDLE, { defaultMachines: 1 })).toEqual([1, false]);
  });
});

test('the license of a gift belongs to the person who received it', () => {
  const gift = read('gumroad', { ...GUMROAD, 'Giftee Email': 'bob@example.com' });
  expect('license' in gift && gift.license.email).toBe('bob@example.com');
});

test.each<[string, SystemName, Record<string, string>, object]>([
  [
    'a sale without a key',
    'gumroad',
    { ...GUMROAD, 'License Key': '' },
    { skip: 'no license key: a sale of something else' },
  ],
  [
    'a later payment',
    'gumroad',
    { ...GUMROAD, 'Recurring Charge?': '1' },
    { skip: 'a later payment for a license of the file' },
  ],
  ['no key', 'keygen', { ...KEYGEN, key: '' }, { refusal: 'previous_key is missing' }],
  ['no address', 'keygen', { ...KEYGEN, 'owner.email': '' }, { refusal: 'email is missing' }],
  [
    'a wrong address',
    'paddle',
    { ...PADDLE, 'Customer Email': 'ada' },
    { refusal: 'email must be an e-mail address of at most 254 characters' },
  ],
  [
    'an unknown status',
    'lemonsqueezy',
    { ...LEMON, status: 'on hold' },
    { refusal: expect.stringMatching(/^status is unknown; known are active, /) },
  ],
  [
    'an unpaid order',
    'lemonsqueezy',
    { ...LEMON, 'order.status': 'pending' },
    { refusal: 'status says that nothing was paid, so there is no license to import' },
  ],
  [
    'an expiry that the status contradicts',
    'lemonsqueezy',
    { ...LEMON, status: 'expired' },
    { refusal: 'status says that the license has expired, but expires_at is not in the past' },
  ],
  [
    'a refund in the language of a spreadsheet',
    'lemonsqueezy',
    { ...LEMON, 'order.refunded': 'WAHR' },
    { refusal: 'order.refunded must be yes or no, true or false, or 1 or 0' },
  ],
  [
    'flags that a program has turned into decimal numbers',
    'gumroad',
    { ...GUMROAD, 'Fully Refunded?': '1.0', 'Recurring Charge?': '0.0' },
    {
      refusal:
        'Recurring Charge? must be yes or no, true or false, or 1 or 0; Fully Refunded? must be yes or no, true or false, or 1 or 0',
    },
  ],
  [
    'a sale without a key, whose flags do not matter',
    'gumroad',
    { ...GUMROAD, 'License Key': '', 'Recurring Charge?': '0.0' },
    { skip: 'no license key: a sale of something else' },
  ],
  [
    'a purchase in the future',
    'keygen',
    { ...KEYGEN, created: '2027-01-01' },
    { refusal: 'purchased_at is in the future' },
  ],
  [
    'several faults',
    'lemonsqueezy',
    { key: 'short', user_email: '', activation_limit: '0' },
    {
      refusal: expect.stringMatching(
        /^previous_key must have .*; email is missing; machines_allowed must be /,
      ),
    },
  ],
])('%s: the row is skipped or refused, with the reason', (_name, system, cells, expected) =>
  expect(read(system, cells)).toEqual(expected),
);

test.each(['NULL', 'none', 'NaN', 'N/A', '\\N', '0', '-', ''])('the transaction %j is none', (text) => {
  const result = read('lemonsqueezy', { ...LEMON, order_id: text });
  expect('license' in result && result.license.transaction_id).toBeNull();
});

test('a key or a transaction that a spreadsheet has rounded is refused', () => {
  const rounded = 'is a number that a spreadsheet has rounded: import the file as it was exported';
  expect(read('lemonsqueezy', { ...LEMON, key: '1.23457E+15', order_id: '2,00001E+11' })).toEqual({
    refusal: `previous_key ${rounded}; transaction_id ${rounded}`,
  });
});

test('a key with a character that the database cannot store is refused', () => {
  expect(read('lemonsqueezy', { ...LEMON, key: 'ABCDEFGH-1234\0' })).toEqual({
    refusal: 'previous_key must not hold a NUL or half a surrogate pair',
  });
});
