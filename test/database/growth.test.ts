import { createHash, randomUUID } from 'node:crypto';
import { expect, jest, test } from '@jest/globals';
import type pg from 'pg';
import { FIND_BY_KEY } from '../../src/activation/attempt-reads.js';
import { DeadlineClient } from '../../src/database/deadline-client.js';
import { READ_ACTIVATIONS } from '../../src/heartbeat/activation-reads.js';
import { deriveLicenseKey } from '../../src/keys/license-key.js';
import { LicensesService } from '../../src/licenses/licenses.service.js';
import { AUDIT_CONTEXT, retryWhileUnavailable, Service, type Answer } from '../support/harness.js';
import { GROWING_TABLES, AUDIT_EVENTS, idOf, insertManyLicenses } from './many-licenses.js';
import { Browser } from '../license-portal/harness.js';
import { signInStaff } from '../support-api/harness.js';

/*
 * The cost of a request does not depend on the number of customers. The test records the statements that the service runs, and
 * explains them in a database with 400,000 licenses: none scans a whole growing table, or reads more than a few pages.
 * bench/growth/growth.mjs measures the times, up to ten million.
 */

/** The 8 KB pages that a statement may read for each returned row: about four for each index lookup, with up to 15 lookups. */
const MAX_PAGES_PER_ROW = 60;

interface Plan {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Actual Rows'?: number;
  readonly 'Shared Hit Blocks'?: number;
  readonly 'Shared Read Blocks'?: number;
  readonly Plans?: Plan[];
}
interface Statement {
  readonly text: string;
  readonly values?: unknown[];
}

const service = await Service.start();
const admin = await signInStaff(service, 'admin');
await insertManyLicenses(service.database);
const license = await service.issue({ machines_allowed: 1_000 });
const token: string = (await retryWhileUnavailable(() => service.activate(license))).json.token;
/** A license with a replaced key. `license_key` is the old key, with which a machine was activated before. */
const withOldKey = await service.issue();
await retryWhileUnavailable(() => service.activate(withOldKey));
await service.app.get(LicensesService).rekey(withOldKey.license_id, AUDIT_CONTEXT);
const holder = new Browser(service);
await retryWhileUnavailable(() => holder.call('POST', '/session', license));

/** Returns the statements that the service runs for a request. */
async function statementsOf(work: () => Promise<Answer>): Promise<Statement[]> {
  const query = jest.spyOn(DeadlineClient.prototype as pg.Client, 'query');
  try {
    expect((await retryWhileUnavailable(work)).status).toBeLessThan(300);
    const calls = query.mock.calls as unknown as [string | Statement, unknown[]?][];
    return calls
      .map(([first, values]) => (typeof first === 'string' ? { text: first, values } : first))
      .filter(({ text }) => /^\s*(select|insert|update|delete|with)\b/.test(text));
  } finally {
    query.mockRestore();
  }
}

/** Explains a statement as PostgreSQL plans it for any values, and as it runs with its own values. The run is rolled back. */
async function explain({ text, values }: Statement): Promise<{ fullScans: string[]; pagesPerRow: number }> {
  const client = await service.database.connect();
  const planOf = async (options: string, given?: unknown[]) => {
    const { rows } = await client.query(`explain (${options}, format json) ${text}`, given);
    return (rows[0] as { 'QUERY PLAN': [{ Plan: Plan }] })['QUERY PLAN'][0].Plan;
  };
  try {
    await client.query('begin');
    const general = await planOf('generic_plan');
    // The first run is not counted: in it a SQL function makes its own plans, for which PostgreSQL reads further pages.
    await planOf('analyze, buffers', withNewIds(text, values));
    const run = await planOf('analyze, buffers', withNewIds(text, values));
    const pages = (run['Shared Hit Blocks'] ?? 0) + (run['Shared Read Blocks'] ?? 0);
    return {
      fullScans: [...fullScansIn(general), ...fullScansIn(run)],
      pagesPerRow: pages / Math.max(1, run['Actual Rows'] ?? 1),
    };
  } finally {
    await client.query('rollback');
    client.release();
  }
}

/** Returns the values of a statement, with new ids for an insert, because its rows exist already. */
function withNewIds(text: string, values: unknown[] | undefined): unknown[] | undefined {
  if (!/^\s*insert into \w+ \(id,/.test(text)) return values;
  const [ids, ...others] = values as [string[], ...unknown[]];
  return [ids.map(() => randomUUID()), ...others];
}

/** The growing tables that a plan scans completely. */
function fullScansIn({ 'Node Type': type, 'Relation Name': relation, Plans = [] }: Plan): string[] {
  const here = type === 'Seq Scan' && GROWING_TABLES.includes(relation!) ? [relation!] : [];
  return [...here, ...Plans.flatMap(fullScansIn)];
}

/** The number of a license with a purchase and an activation. */
const SOLD_LICENSE = 77_777;
/** The number of a license that also has an audit event and an open release request. */
const LICENSE_WITH_REQUEST = 77;
const search = (by: object) => () => admin.post('licenses/search', by);
const testActorId = async () => {
  const { actors } = (await admin.get('audit/filters')).json;
  return actors.find(({ actor }: { actor: string }) => actor === 'test').id as string;
};
const activate = (machine: string) => service.activate(license, machine);
test.each<[string, () => Promise<Answer>, string]>([
  ['a heartbeat', () => service.heartbeat(token), '"active"'],
  ['a heartbeat with telemetry', () => service.heartbeat(token, { telemetry: { cpu_cores: 8 } }), 'stored'],
  ['an activation of a new machine', () => activate(randomUUID()), '"token"'],
  ['an activation of a machine that is active', () => activate('a machine'), '"token"'],
  ['an activation with a key that was replaced', () => service.activate(withOldKey), '"token"'],
  ["the list of a holder's licenses", () => holder.call('GET', '/session'), 'ada@example.com'],
  [
    'a search by e-mail',
    search({ email: `buyer-${SOLD_LICENSE}@example.com` }),
    idOf('license', SOLD_LICENSE),
  ],
  [
    'a search by transaction',
    search({ transaction_id: `tx_00${SOLD_LICENSE}` }),
    idOf('license', SOLD_LICENSE),
  ],
  [
    'a search by activation',
    search({ activation_id: idOf('activation', SOLD_LICENSE) }),
    idOf('license', SOLD_LICENSE),
  ],
  [
    'a search by a license key that no license has',
    search({ license_key: deriveLicenseKey(Buffer.alloc(32), 'MOOR', idOf('license', SOLD_LICENSE), 1) }),
    '"licenses":[]',
  ],
  [
    'a license with all that belongs to it',
    () => admin.get(`licenses/${idOf('license', LICENSE_WITH_REQUEST)}`),
    idOf('release_request', LICENSE_WITH_REQUEST),
  ],
  [
    'the licenses of a holder',
    () => admin.get(`licenses/${idOf('license', LICENSE_WITH_REQUEST)}/holder?sort=expiry&status=active`),
    idOf('license', LICENSE_WITH_REQUEST),
  ],
  ['the queue of release requests', () => admin.get('release-requests'), idOf('release_request', 100)],
  ['the queue of erasure requests', () => admin.get('erasures'), '"erasures":[]'],
  [
    'the audit trail of a license',
    () => admin.get(`audit?license_id=${idOf('license', LICENSE_WITH_REQUEST)}`),
    idOf('audit_event', LICENSE_WITH_REQUEST),
  ],
  ['the audit trail of all licenses', () => admin.get('audit'), idOf('audit_event', AUDIT_EVENTS)],
  [
    'the audit trail of an action before an entry',
    () => admin.get(`audit?action=license.set&cursor=${idOf('audit_event', 30_000)}`),
    idOf('audit_event', 29_999),
  ],
  [
    'the audit trail of an actor before an entry',
    async () => admin.get(`audit?actor_id=${await testActorId()}&cursor=${idOf('audit_event', 30_000)}`),
    idOf('audit_event', 29_999),
  ],
  // The audit event n is n minutes after 2026-01-01, so 28_800 is that of 2026-01-21T00:00:00Z.
  [
    'the audit trail of an action of an actor between two times',
    async () =>
      admin.get(
        `audit?actor_id=${await testActorId()}&action=license.set&from=2026-01-20&to=2026-01-21T00:01:00Z`,
      ),
    idOf('audit_event', 28_800),
  ],
  ['the filters of the audit trail', () => admin.get('audit/filters'), 'license.set'],
  [
    'an export of the audit trail',
    () => admin.get('audit/export?action=license.set&from=2026-01-20&to=2026-01-21'),
    idOf('audit_event', 28_799),
  ],
])('%s scans no growing table completely, and reads few pages', async (_what, work, found) => {
  const { text } = await retryWhileUnavailable(work);
  expect(text).toContain(found);
  const statements = await statementsOf(work);
  expect(statements.length).toBeGreaterThan(0);
  for (const statement of statements) {
    const { fullScans, pagesPerRow } = await explain(statement);
    expect({ sql: statement.text, fullScans }).toEqual({ sql: statement.text, fullScans: [] });
    expect(pagesPerRow).toBeLessThan(MAX_PAGES_PER_ROW);
  }
});

test('/health/ready checks each retention rule with an index, and reads few pages in total', async () => {
  const statements = await statementsOf(() => service.call('GET', '/health/ready'));
  expect(statements.filter(({ text }) => text.includes('overdue_days'))).toHaveLength(1);
  for (const statement of statements) {
    const { fullScans, pagesPerRow } = await explain(statement);
    expect({ sql: statement.text, fullScans }).toEqual({ sql: statement.text, fullScans: [] });
    // The statement makes some twenty index lookups, and returns one row.
    expect(pagesPerRow).toBeLessThan(3 * MAX_PAGES_PER_ROW);
  }
});

test('a batch of 500 heartbeats reads fewer than 15 pages for each row', async () => {
  // The rows are spread over all activations, so that they share few pages.
  const ids = Array.from({ length: 500 }, (_, index) => idOf('activation', 1 + index * 399));
  const { fullScans, pagesPerRow } = await explain({ text: READ_ACTIVATIONS, values: [ids] });
  expect(fullScans).toEqual([]);
  // Each row needs a lookup in three indexes and a row of three tables.
  expect(pagesPerRow).toBeLessThan(15);
});

test('a batch of activations of a license with many machines counts the machines once', async () => {
  const [machines, batch] = [5_000, 100];
  const { license_id, email } = await service.issue({ machines_allowed: machines });
  const machineIds = Array.from({ length: batch }, (_, index) =>
    createHash('sha256').update(`${index}`).digest(),
  );
  await service.sql(
    `insert into activation (id, license_id, machine_id, app_version, activated_at)
     select gen_random_uuid(), $1, sha256(n::text::bytea), '3.2.0', now() from generate_series(0, ${machines - 1}) n`,
    [license_id],
  );
  const [{ key_hash }] = (await service.sql('select key_hash from license where id = $1', [license_id])) as [
    { key_hash: Buffer },
  ];
  const values = [machineIds.map(() => key_hash), machineIds.map(() => email), machineIds];
  const { fullScans, pagesPerRow } = await explain({ text: FIND_BY_KEY.text, values });
  expect(fullScans).toEqual([]);
  // A row needs about ten pages. One count of the machines needs about eighty, which is less than one for each of 100 rows.
  expect(pagesPerRow).toBeLessThan(15);
});

test('a statement that scans a growing table completely is found', async () => {
  const { fullScans, pagesPerRow } = await explain({
    text: 'select 1 from license where key_hint = $1',
    values: ['X7'],
  });
  // Both plans have the scan: the plan for any value, and the plan for this value.
  expect(fullScans).toEqual(['license', 'license']);
  expect(pagesPerRow).toBeGreaterThan(100 * MAX_PAGES_PER_ROW);
});
