import { beforeEach, expect, test } from '@jest/globals';
import { DataSource, type EntityManager } from 'typeorm';
import { Clock } from '../../src/core/clock.js';
import { Config } from '../../src/core/config.js';
import { licenseKeyHash } from '../../src/keys/license-key.js';
import { importLicenses, ImportError, type ImportColumn } from '../../src/licenses/license-import.js';
import { LicensesService } from '../../src/licenses/licenses.service.js';
import { Service } from '../support/harness.js';
import { OpenTransaction } from '../support/open-transaction.js';
import { waitingLocks } from '../support/tables.js';

const AUDIT_CONTEXT = { actor: 'test', reason: 'moved here' };
const NOW = '2026-11-20T13:00:00.000Z';
/** The fault of a row whose key a license has or had. */
const KNOWN_KEY = 'a license has this key already, or had it until it was replaced';
const COLUMNS: ImportColumn[] = ['license_key', 'email', 'machines_allowed', 'expires_at', 'on_expiry'];

const service = await Service.start();
const dataSource = service.app.get(DataSource);
beforeEach(() => service.clock.set(NOW));

let keyCount = 0;
const newKey = () => `ACME_AAAA-BBBB-${String((keyCount += 1)).padStart(4, '0')}-CCCC`;
/** The cells of a row: the key, and by default an e-mail address. */
const row = (key: string, ...more: string[]) => [key, ...(more.length > 0 ? more : ['ada@example.com'])];
const withEmptyCells = (cells: string[]) => COLUMNS.map((_name, i) => cells[i] ?? '');

function importRows(rows: string[][], source: Pick<DataSource, 'transaction'> = dataSource): Promise<number> {
  // The header is line 1.
  async function* lines() {
    for (const [i, cells] of rows.entries()) yield { line: i + 2, cells: withEmptyCells(cells) };
  }
  const parts = { config: service.app.get(Config), clock: service.app.get(Clock) };
  return importLicenses({ ...parts, dataSource: source as DataSource }, COLUMNS, lines(), AUDIT_CONTEXT);
}

/** Wraps the database so that the number of rows of each insert of licenses is added to `insertSizes`. */
function recordInserts(insertSizes: number[]): Pick<DataSource, 'transaction'> {
  const transaction = (work: (manager: EntityManager) => Promise<number>) =>
    dataSource.transaction((manager) => {
      const query = manager.query.bind(manager) as EntityManager['query'];
      manager.query = (sql: string, values?: unknown[]) => {
        if (sql.includes('insert into license')) insertSizes.push((values![0] as unknown[]).length);
        return query(sql, values);
      };
      return work(manager);
    });
  return { transaction } as Pick<DataSource, 'transaction'>;
}

const storedLicenses = (keys: string[]) =>
  service.sql(
    `select id, key_hash, key_hint, email, machines_allowed, expires_at, on_expiry, created_at, end_changed_at,
       staff_status, purchase_id from license where key_hash = any($1) order by email`,
    [keys.map(licenseKeyHash)],
  );
const licensesAndAudit = async () => [
  await service.sql('select * from license order by id'),
  await service.sql('select * from audit_event order by id'),
];

/** Runs an import, which must be refused and must change nothing. @returns its faults */
async function importFaults(rows: string[][], source = dataSource as Pick<DataSource, 'transaction'>) {
  const before = await licensesAndAudit();
  const refusal = await importRows(rows, source).catch((error: unknown) => error);
  expect(refusal).toBeInstanceOf(ImportError);
  expect(await licensesAndAudit()).toEqual(before);
  expect((refusal as ImportError).message).toBe('Nothing was imported.');
  return (refusal as ImportError).faults;
}

test('each license has the values of its row or the defaults, and one audit event has the number of licenses', async () => {
  const [a, b] = [newKey(), newKey()];
  const rows = [row(a, 'a@example.com', '7', '2027-01-04', 'stop'), row(b.toLowerCase(), 'B@example.com')];
  expect(await importRows(rows)).toBe(2);
  const at = new Date(NOW);
  const defaults = { id: expect.any(String), key_hint: 'CC', staff_status: 'active', purchase_id: null };
  const common = { ...defaults, created_at: at, end_changed_at: at };
  expect(await storedLicenses([a, b])).toEqual([
    {
      ...common,
      key_hash: licenseKeyHash(a),
      email: 'a@example.com',
      machines_allowed: 7,
      expires_at: new Date('2027-01-04'),
      on_expiry: 'stop',
    },
    {
      ...common,
      key_hash: licenseKeyHash(b),
      email: 'b@example.com',
      machines_allowed: 1,
      expires_at: null,
      on_expiry: 'keep',
    },
  ]);
  expect(await service.sql('select actor, action, license_id, reason, change, at from audit_event')).toEqual([
    { ...AUDIT_CONTEXT, action: 'license.import', license_id: null, change: { licenses: 2 }, at },
  ]);
});

test('rows are inserted 2,000 at a time', async () => {
  const insertSizes: number[] = [];
  const keys = Array.from({ length: 2_003 }, newKey);
  const rows = keys.map((key) => row(key));
  expect(await importRows(rows, recordInserts(insertSizes))).toBe(2_003);
  expect(insertSizes).toEqual([2_000, 3]);
  expect(await storedLicenses(keys)).toHaveLength(2_003);
});

test('faults are reported by line, in their order, and nothing is written', async () => {
  const [existing, replaced, repeated] = [newKey(), newKey(), newKey()];
  await importRows([row(existing), row(replaced)]);
  const [{ id }] = (await storedLicenses([replaced])) as [{ id: string }];
  await service.app.get(LicensesService).rekey(id, AUDIT_CONTEXT);

  // The insert detects keys that a license has. After a fault in a row nothing is inserted, so the keys are looked up instead.
  expect(await importFaults([row(newKey()), row(existing), row(replaced)])).toEqual([
    `line 3: ${KNOWN_KEY}`,
    `line 4: ${KNOWN_KEY}`,
  ]);
  expect(
    await importFaults([
      row(existing),
      row(repeated),
      row(newKey(), 'no address', '0'),
      row(replaced),
      row(repeated),
      row('no key'),
      row(existing),
    ]),
  ).toEqual([
    `line 2: ${KNOWN_KEY}`,
    'line 4: email must be an e-mail address of at most 254 characters',
    'line 4: machines_allowed must be a whole number from 1 to 100000',
    `line 5: ${KNOWN_KEY}`,
    'line 6: this key is already in line 3 (O counts as 0, I and L as 1)',
    'line 7: license_key must have the shape PREFIX_XXXX-XXXX-XXXX-XXXX',
    'line 8: this key is already in line 2 (O counts as 0, I and L as 1)',
  ]);
});

test('after a fault in an earlier batch, keys are looked up and no row is inserted', async () => {
  const first = newKey();
  await importRows([row(first)]);
  const rows = [row('no key'), ...Array.from({ length: 2_000 }, () => row(newKey())), row(first)];
  const insertSizes: number[] = [];
  const shape = 'license_key must have the shape PREFIX_XXXX-XXXX-XXXX-XXXX';
  expect(await importFaults(rows, recordInserts(insertSizes))).toEqual([
    `line 2: ${shape}`,
    `line 2003: ${KNOWN_KEY}`,
  ]);
  expect(await importFaults([...rows, row(newKey(), '')], recordInserts(insertSizes))).toEqual([
    `line 2: ${shape}`,
    `line 2003: ${KNOWN_KEY}`,
    'line 2004: email is missing',
  ]);
  expect(insertSizes).toEqual([]);
});

test.each([
  [20, []],
  [21, ['… and 1 more']],
  [2_100, ['… and 2080 more']],
])('of %i faults the first 20 are listed, and the others are counted', async (count, more) => {
  const faults = await importFaults(Array.from({ length: count }, () => row(newKey(), 'no address')));
  expect(faults.map((fault) => fault.replace(/: .*/, ''))).toEqual([
    ...Array.from({ length: 20 }, (_, i) => `line ${i + 2}`),
    ...more,
  ]);
});

test('a file without a row is refused', async () => {
  const before = await licensesAndAudit();
  const refusal = await importRows([]).catch((error: unknown) => error);
  expect(refusal).toMatchObject({ message: 'The file holds no licenses.', faults: [] });
  expect(refusal).toBeInstanceOf(ImportError);
  expect(await licensesAndAudit()).toEqual(before);
});

test('an import waits for another import, and requests do not wait for imports', async () => {
  const other = await service.database.connect();
  const state = { isFinished: false };
  try {
    // An import holds this lock.
    await other.query('begin; lock table license in share update exclusive mode');
    const running = importRows([row(newKey())]).finally(() => (state.isFinished = true));
    while (!state.isFinished && (await service.sql(waitingLocks('license'))).length === 0);
    expect(state.isFinished).toBe(false);
    expect((await service.activate(await service.issue())).status).toBe(201);
    await other.query('commit');
    expect(await running).toBe(1);
  } finally {
    other.release();
  }
});

test('a key that is replaced while an import waits for it is refused', async () => {
  const key = newKey();
  await importRows([row(key)]);
  const rekey = await OpenTransaction.begin(
    service,
    `with replaced as (select id, key_hash from license where key_hash = $1),
       stored as (insert into replaced_key select id, key_hash, now() from replaced)
     update license set key_hash = sha256($1) where key_hash = $1`,
    [licenseKeyHash(key)],
  );
  const refusal = importRows([row(newKey()), row(key)]).catch((error: unknown) => error);
  await rekey.untilWaiting(refusal);
  await rekey.commit();
  expect(await refusal).toMatchObject({ faults: [`line 3: ${KNOWN_KEY}`] });
});
