import { beforeEach, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import type { PurchaseState, StaffStatus } from '../../src/licenses/license.rules.js';
import { licenseStatus } from '../../src/licenses/license.rules.js';
import { LICENSE_STATUS } from '../../src/licenses/license-status.js';
import { NOW, Service } from '../support/harness.js';
import { unseenResponses } from '../support/http/openapi.js';
import { expectFailures } from '../support/tables.js';
import { signInStaff } from './harness.js';

const service = await Service.start();
const support = await signInStaff(service, 'support');
beforeEach(() => service.clock.set(NOW));

interface ListedLicense {
  readonly id: string;
  readonly created_at: string;
  readonly expires_at: string | null;
  readonly status: string;
}

const list = (id: string, query = '') => support.get(`licenses/${id}/holder${query}`);

/** Reads all pages of a list. @returns the number of licenses on each page, and all licenses in their order */
async function readAll(id: string, query: string): Promise<{ sizes: number[]; licenses: ListedLicense[] }> {
  const licenses: ListedLicense[] = [];
  const sizes: number[] = [];
  let cursor: string | null = null;
  do {
    const { status, json } = await list(id, `?${query}${cursor ? `&cursor=${cursor}` : ''}`);
    expect(status).toBe(200);
    licenses.push(...json.licenses);
    sizes.push(json.licenses.length);
    cursor = json.next_cursor;
  } while (cursor);
  return { sizes, licenses };
}

/** Inserts licenses with every status, with and without expiry, up to three of them in one microsecond. @returns the id of one */
async function insertHolderWithLicenses(email: string, count: number): Promise<string> {
  const { license_id } = await service.issue({ email });
  await service.sql(
    `insert into license (id, key_hash, key_hint, email, staff_status, machines_allowed, on_expiry, expires_at, created_at)
     select ('01980000-0000-7000-8000-' || left(md5(n || $1), 12))::uuid, sha256((n || $1)::bytea), 'X6', $1,
       (array['active', 'suspended', 'revoked'])[1 + n % 3], 1 + n, 'keep',
       case when n % 4 > 0 then timestamptz '2026-06-01 00:00:00.000001Z' + (n / 8) * interval '1 month' end,
       timestamptz '2026-01-01 00:00:00.000001Z' + (n / 3) * interval '1 microsecond'
     from generate_series(1, $2 - 1) n`,
    [email, count],
  );
  // Every fifth license was bought, and its purchase is refunded or disputed. `machines_allowed` numbers the licenses.
  await service.sql(
    `with bought as (insert into purchase (id, transaction_id, state, recorded_on)
       select id, 'tx_' || id, case when machines_allowed % 2 = 0 then 'refunded' else 'disputed' end, '2026-01-01'
       from license where email = $1 and machines_allowed % 5 = 0 returning id)
     update license set purchase_id = bought.id from bought where license.id = bought.id`,
    [email],
  );
  return license_id;
}

test("the licenses of a license's holder are listed with their properties, and no other license is", async () => {
  const email = 'two@example.com';
  const older = await service.issue({ email, machines_allowed: 3, expires_at: new Date('2027-05-01Z') });
  service.clock.advance(1_000);
  const newer = await service.issue({ email });
  await service.issue({ email: 'another@example.com' });
  await service.activate(older, 'a');
  await service.activate(older, 'b');
  await service.sql(
    "update activation set ended_at = now(), ended_reason = 'released' where machine_id in (select machine_id from activation where license_id = $1 limit 1)",
    [older.license_id],
  );
  const { status, json } = await list(older.license_id);
  expect(status).toBe(200);
  const commonProperties = {
    email,
    is_address_lost: false,
    status: 'active',
    on_expiry: 'keep',
    previous_key_hint: null,
  };
  expect(json).toEqual({
    email,
    counts: { active: 2, suspended: 0, revoked: 0, refunded: 0 },
    licenses: [
      {
        ...commonProperties,
        id: newer.license_id,
        key_hint: newer.license_key.slice(-2),
        expires_at: null,
        machines_allowed: 1,
        machines_in_use: 0,
        created_at: '2026-11-20T13:00:01Z',
      },
      {
        ...commonProperties,
        id: older.license_id,
        key_hint: older.license_key.slice(-2),
        expires_at: '2027-05-01T00:00:00Z',
        machines_allowed: 3,
        machines_in_use: 1,
        created_at: NOW,
      },
    ],
    next_cursor: null,
  });
  // Each license leads to the same list.
  expect((await list(newer.license_id)).json).toEqual(json);
});

test.each<[string, (license: ListedLicense) => number]>([
  ['issued', ({ created_at }) => -Date.parse(created_at)],
  ['status', ({ status }) => ['active', 'suspended', 'revoked', 'refunded'].indexOf(status)],
  ['expiry', ({ expires_at }) => (expires_at ? Date.parse(expires_at) : Infinity)],
])('the pages of 120 licenses, sorted by %s, have each license once, in this order', async (sort, keyOf) => {
  const id = await insertHolderWithLicenses(`${sort}@example.com`, 120);
  const { sizes, licenses } = await readAll(id, `sort=${sort}`);
  expect(sizes).toEqual([50, 50, 20]);
  expect(new Set(licenses.map((license) => license.id)).size).toBe(120);
  const keys = licenses.map(keyOf);
  expect(keys).toEqual(keys.toSorted((a, b) => (a === b ? 0 : a - b)));
});

test('a list that is limited to a status has only the licenses with it, and the counts of all licenses', async () => {
  const id = await insertHolderWithLicenses('limited@example.com', 120);
  const { licenses } = await readAll(id, 'sort=issued');
  const { counts } = (await list(id)).json;
  for (const status of ['active', 'suspended', 'revoked', 'refunded']) {
    const limited = await readAll(id, `sort=issued&status=${status}`);
    const expected = licenses.filter((license) => license.status === status);
    expect(expected.length).toBeGreaterThan(0);
    expect(limited.licenses).toEqual(expected);
    expect((await list(id, `?status=${status}`)).json.counts).toEqual(counts);
    expect(counts[status]).toBe(expected.length);
  }
});

test('a list without a license of the status is empty, and still has the address and the counts', async () => {
  const { license_id } = await service.issue({ email: 'none@example.com' });
  expect((await list(license_id, '?status=refunded')).json).toEqual({
    email: 'none@example.com',
    counts: { active: 1, suspended: 0, revoked: 0, refunded: 0 },
    licenses: [],
    next_cursor: null,
  });
});

test('a license that is issued or erased between two pages neither repeats nor hides another one', async () => {
  const email = 'moving@example.com';
  const id = await insertHolderWithLicenses(email, 120);
  const { licenses } = await readAll(id, 'sort=issued');
  const first = (await list(id)).json;
  await service.issue({ email });
  const last = first.licenses.at(-1).id as string;
  await service.sql('update license set email = null where id = $1', [last]);
  const second = (await list(id, `?cursor=${first.next_cursor}`)).json;
  expect(second.licenses).toEqual(licenses.slice(50, 100));
});

test('if the license that names the holder gets another address, the next page is refused, and that of another license of the holder is not', async () => {
  const id = await insertHolderWithLicenses('former@example.com', 120);
  const { licenses, next_cursor } = (await list(id)).json;
  const other: string = licenses.find((license: ListedLicense) => license.id !== id).id;
  // A cursor is tested for the address of the issue, which has no `email_since`, and for one of a change, which has a time.
  for (const email of ['present@example.com', 'next@example.com']) {
    const before = (await list(id)).json.next_cursor;
    service.clock.advance(1);
    await service.setLicense(id, { email });
    const { status, json } = await list(id, `?cursor=${before}`);
    expect([status, json.code, json.errors]).toEqual([
      422,
      'invalid_request',
      [{ pointer: '/cursor', detail: 'must be the next_cursor of a page of this holder' }],
    ]);
    await insertHolderWithLicenses(email, 60);
  }
  expect((await list(other, `?cursor=${next_cursor}`)).json.licenses).toHaveLength(50);
  expect((await readAll(id, 'sort=issued')).sizes).toEqual([50, 11]);
});

test('SQL and licenseStatus() agree on the status, for each status set by staff and each state of the purchase', async () => {
  const staff: StaffStatus[] = ['active', 'suspended', 'revoked'];
  const purchase: (PurchaseState | null)[] = [null, 'paid', 'disputed', 'dispute_won', 'refunded'];
  for (const staff_status of staff)
    for (const purchase_state of purchase) {
      const [row] = await service.sql(
        `select ${LICENSE_STATUS} as status from (select $1::text as staff_status, $2::text as purchase_state) l`,
        [staff_status, purchase_state],
      );
      const status = licenseStatus({ staff_status, purchase_state });
      expect({ staff_status, purchase_state, ...row }).toEqual({ staff_status, purchase_state, status });
    }
});

test('the list of a license that is unknown, or has no address, is answered with 404', async () => {
  const { license_id } = await service.issue({ email: 'erased@example.com' });
  await service.sql('update license set email = null where id = $1', [license_id]);
  for (const id of [license_id, randomUUID(), 'x', 'erased@example.com']) {
    const { status, json } = await list(id);
    expect([status, json.code]).toEqual([404, 'not_found']);
  }
});

test.each([
  ['status=ended', '/status'],
  ['status=', '/status'],
  ['sort=email', '/sort'],
  ['sort=issued&sort=status', '/sort'],
  ['cursor=', '/cursor'],
  ['cursor=1', '/cursor'],
  [`cursor=1e9_${randomUUID()}`, '/cursor'],
  [`cursor=NaN_${randomUUID()}`, '/cursor'],
  [`cursor=1_${'0'.repeat(36)}`, '/cursor'],
  [`cursor=1_${randomUUID()}%00`, '/cursor'],
])('a list with %s is answered with 422', async (query, pointer) => {
  const { license_id } = await service.issue();
  const { status, json } = await list(license_id, `?${query}`);
  expect([status, json.code]).toEqual([422, 'invalid_request']);
  expect(json.errors.map((error: { pointer: string }) => error.pointer)).toEqual([pointer]);
});

test('a search by e-mail returns at most the 50 newest licenses', async () => {
  const id = await insertHolderWithLicenses('searched@example.com', 120);
  const { licenses } = (await support.post('licenses/search', { email: 'searched@example.com' })).json;
  const ids = (items: readonly { id: string }[]) => items.map((item) => item.id);
  expect(ids(licenses)).toEqual(ids((await list(id)).json.licenses));
  expect(licenses).toHaveLength(50);
});

test('a list is answered with 401 without a session, 500 if a table is missing, and 503 if it is locked', async () => {
  const { license_id } = await service.issue();
  const send = () => list(license_id);
  expect((await service.call('GET', `/support/api/licenses/${license_id}/holder`)).json.code).toBe(
    'sign_in_required',
  );
  await expectFailures(service, 'license', send);
  // The tests of this file have received every documented response.
  expect(unseenResponses(/\/holder /)).toEqual([]);
});
