import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { DataSource } from 'typeorm';
import { deriveLicenseKey } from '../src/keys/license-key.js';
import { Service, type Answer } from './harness.js';
import { signedIn, type Browser } from './support-harness.js';

/*
 * A support desk looks one customer up among all of them. The statements are those that the service itself runs, taken
 * down as it runs them, and explained among a million licenses, and a hundred thousand machines and purchases.
 */

jest.setTimeout(180_000);

const MILLION = 1_000_000;
const ACTIVE = 200_000;
const SOLD = 100_000;
const FEW = 50_000;
const BIG = ['license', 'activation', 'purchase', 'audit_event', 'release_request'];

interface Plan {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly Plans?: Plan[];
}
type Statement = readonly [sql: string, values: unknown[] | undefined];

let service: Service;
let admin: Browser;
beforeAll(async () => {
  service = await Service.start();
  admin = await signedIn(service, 'admin');
  await fill();
});
afterAll(() => service.close());

/** Indexes are made after the rows, as for a restored backup: it takes half the time. */
async function fill(): Promise<void> {
  const client = await service.database.connect();
  await client.query(
    'begin; set local synchronous_commit = off; set local session_replication_role = replica',
  );
  const indexes = await client.query<{ drop: string; make: string }>(
    `select format('drop index %s', indexrelid::regclass) as drop, pg_get_indexdef(indexrelid) as make
     from pg_index i where indrelid = any($1::regclass[])
       and not exists (select 1 from pg_constraint where conindid = i.indexrelid)`,
    [BIG],
  );
  for (const { drop } of indexes.rows) await client.query(drop);
  await client.query(FILL);
  for (const { make } of indexes.rows) await client.query(make);
  await client.query('commit');
  await client.query(`analyze ${BIG.join(', ')}`);
  client.release();
}

// Ids and digests in the order of their number: they fill the indexes that stay from one end to the other.
const id = (of: string) => `('01980000-000${of}-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid`;
const digest = "decode(lpad(to_hex(n), 64, '0'), 'hex')";
const numbers = (count: number) => `from generate_series(1, ${count}) n`;
const FILL = `
  insert into purchase (id, transaction_id, state, recorded_on, paid)
  select ${id('1')}, 'tx_' || lpad(n::text, 7, '0'), 'paid', '2026-01-01', true ${numbers(SOLD)};
  insert into license (id, key_hash, key_hint, email, machines_allowed, on_expiry, purchase_id, created_at)
  select ${id('2')}, ${digest}, 'X6', 'buyer-' || n || '@example.com', 1, 'keep',
    case when n <= ${SOLD} then ${id('1')} end, '2026-01-01' ${numbers(MILLION)};
  insert into activation (id, license_id, machine_id, app_version, activated_at)
  select ${id('3')}, ${id('2')}, ${digest}, '3.2.0', '2026-01-01' ${numbers(ACTIVE)};
  insert into audit_event (id, actor, action, license_id, change, at)
  select ${id('4')}, 'test', 'license.set', ${id('2')}, '{}', timestamptz '2026-01-01' + n * interval '1 minute'
  ${numbers(FEW)};
  insert into release_request (id, activation_id, asked_at, decided_at, decision)
  select ${id('5')}, ${id('3')}, '2026-01-01', case when n > 100 then timestamptz '2026-01-02' end,
    case when n > 100 then 'release' end ${numbers(FEW)}`;

/** After a million rows the disk is busy for a while: a browser tries again then, and so does this. */
async function answered(work: () => Promise<Answer>): Promise<Answer> {
  const answer = await work();
  return answer.status === 503 ? answered(work) : answer;
}

/** The statements that the service runs for a request. */
async function statementsOf(work: () => Promise<Answer>): Promise<Statement[]> {
  const query = jest.spyOn(service.app.get(DataSource), 'query');
  try {
    expect((await answered(work)).status).toBe(200);
    return query.mock.calls.map(([sql, values]) => [sql, values as unknown[] | undefined]);
  } finally {
    query.mockRestore();
  }
}

/** The big tables that a statement reads from one end to the other. */
async function readWhole([sql, values]: Statement): Promise<string[]> {
  const [row] = await service.sql<{ 'QUERY PLAN': [{ Plan: Plan }] }>(`explain (format json) ${sql}`, values);
  return walk(row!['QUERY PLAN'][0].Plan);
}

function walk({ 'Node Type': type, 'Relation Name': relation, Plans = [] }: Plan): string[] {
  const here = type === 'Seq Scan' && BIG.includes(relation!) ? [relation!] : [];
  return [...here, ...Plans.flatMap(walk)];
}

const NUMBER = 77_777;
const uuid = (of: number, n = NUMBER) => `01980000-000${of}-7000-8000-${n.toString(16).padStart(12, '0')}`;
const search = (by: object) => () => admin.post('licenses/search', by);

test.each<[string, () => Promise<Answer>, string]>([
  ['a search by e-mail', search({ email: `buyer-${NUMBER}@example.com` }), uuid(2)],
  ['a search by transaction', search({ transaction_id: `tx_00${NUMBER}` }), uuid(2)],
  ['a search by activation', search({ activation_id: uuid(3) }), uuid(2)],
  [
    'a search by license key',
    search({ license_key: deriveLicenseKey(Buffer.alloc(32), 'MOOR', uuid(2), 1) }),
    '"licenses":[]',
  ],
  ['a license with all that belongs to it', () => admin.get(`licenses/${uuid(2, 77)}`), uuid(5, 77)],
  ['the queue of release requests', () => admin.get('release-requests'), uuid(5, 100)],
  ['the queue of deletion requests', () => admin.get('erasures'), '"erasures":[]'],
  ['the audit trail of a license', () => admin.get(`audit?license_id=${uuid(2, 77)}`), uuid(4, 77)],
  ['the audit trail of all', () => admin.get('audit'), uuid(4, FEW)],
])('%s reads no big table from one end to the other', async (_what, work, found) => {
  const { text } = await answered(work);
  expect(text).toContain(found);
  const statements = await statementsOf(work);
  expect(statements.length).toBeGreaterThan(1);
  for (const statement of statements) {
    expect({ sql: statement[0], whole: await readWhole(statement) }).toEqual({
      sql: statement[0],
      whole: [],
    });
  }
});

test('a statement that reads a table whole would be seen', async () => {
  expect(await readWhole(['select 1 from license where key_hint = $1', ['X7']])).toEqual(['license']);
});
