import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import type pg from 'pg';
import { DeadlineClient } from '../../src/database/deadline-client.js';
import { READ_ACTIVATIONS } from '../../src/heartbeat/activation-reads.js';
import { deriveLicenseKey } from '../../src/keys/license-key.js';
import { LicensesService } from '../../src/licenses/licenses.service.js';
import { answered, Service, type Answer } from '../support/harness.js';
import { BIG, FEW, makeMillion, uuid } from '../support/databases/million-licenses.js';
import { Browser } from '../license-portal/harness.js';
import { signedIn, type Browser as StaffBrowser } from '../support-api/harness.js';

/*
 * The cost of a request does not depend on the number of customers. The test records the statements that the service runs, and
 * explains them in a database with a million licenses: none scans a growing table, or reads more than a few pages. bench/growth/growth.mjs measures the times, up to ten million.
 */

/** The 8 KB pages that a statement may read for each returned row: about four for each index lookup. */
const FEW_PAGES = 60;

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

let service: Service;
let admin: StaffBrowser;
let holder: Browser;
let license: { license_key: string; email: string };
let token: string;
/** The key and the address that a machine activated with before the license was rekeyed. */
let rekeyed: { license_key: string; email: string };
beforeAll(async () => {
  service = await Service.start();
  admin = await signedIn(service, 'admin');
  await makeMillion(service.database);
  license = await service.issue({ machines_allowed: 1_000 });
  token = (await answered(() => service.activate(license))).json.token;
  const replaced = await service.issue();
  await answered(() => service.activate(replaced));
  await service.app.get(LicensesService).rekey(replaced.license_id, { actor: 'test', reason: 'a test' });
  rekeyed = replaced;
  holder = new Browser(service);
  await answered(() => holder.call('POST', '/session', license));
});
afterAll(() => service.close());

/** Records the statements that the service runs for a request. */
async function statementsOf(work: () => Promise<Answer>): Promise<Statement[]> {
  const query = jest.spyOn(DeadlineClient.prototype as pg.Client, 'query');
  try {
    expect((await answered(work)).status).toBeLessThan(300);
    const asked = query.mock.calls as unknown as [string | Statement, unknown[]?][];
    return asked
      .map(([first, values]) => (typeof first === 'string' ? { text: first, values } : first))
      .filter(({ text }) => /^\s*(select|insert|update|delete|with)\b/.test(text));
  } finally {
    query.mockRestore();
  }
}

/** The plan of a statement: for any values, as for a prepared statement, and run with these values and rolled back. */
async function look({ text, values }: Statement): Promise<{ whole: string[]; pagesARow: number }> {
  const client = await service.database.connect();
  const explained = async (how: string, given?: unknown[]) => {
    const { rows } = await client.query(`explain (${how}, format json) ${text}`, given);
    return (rows[0] as { 'QUERY PLAN': [{ Plan: Plan }] })['QUERY PLAN'][0].Plan;
  };
  try {
    await client.query('begin');
    const general = await explained('generic_plan');
    // The row that it inserts exists by now.
    const again = /^\s*insert/.test(text) ? 'buffers' : 'analyze, buffers';
    // On its first call a SQL function makes its own plans. The pages that it reads for that are no cost of a request.
    await explained(again, values);
    const run = await explained(again, values);
    const pages = (run['Shared Hit Blocks'] ?? 0) + (run['Shared Read Blocks'] ?? 0);
    return {
      whole: [...readWhole(general), ...readWhole(run)],
      pagesARow: pages / Math.max(1, run['Actual Rows'] ?? 1),
    };
  } finally {
    await client.query('rollback');
    client.release();
  }
}

/** The large tables that a plan scans completely. */
function readWhole({ 'Node Type': type, 'Relation Name': relation, Plans = [] }: Plan): string[] {
  const here = type === 'Seq Scan' && BIG.includes(relation!) ? [relation!] : [];
  return [...here, ...Plans.flatMap(readWhole)];
}

const NUMBER = 77_777;
const search = (by: object) => () => admin.post('licenses/search', by);
const activate = (machine: string) => service.activate(license, machine);

test.each<[string, () => Promise<Answer>, string]>([
  ['a heartbeat', () => service.heartbeat(token), '"active"'],
  ['a heartbeat with telemetry', () => service.heartbeat(token, { telemetry: { cpu_cores: 8 } }), 'stored'],
  ['an activation of a new machine', () => activate(randomUUID()), '"token"'],
  ['an activation of a machine that has its seat', () => activate('a machine'), '"token"'],
  ['an activation with a key that was replaced', () => service.activate(rekeyed), '"token"'],
  ["the list of a holder's licenses", () => holder.call('GET', '/licenses'), 'ada@example.com'],
  ['a search by e-mail', search({ email: `buyer-${NUMBER}@example.com` }), uuid(2, NUMBER)],
  ['a search by transaction', search({ transaction_id: `tx_00${NUMBER}` }), uuid(2, NUMBER)],
  ['a search by activation', search({ activation_id: uuid(3, NUMBER) }), uuid(2, NUMBER)],
  [
    'a search by license key',
    search({ license_key: deriveLicenseKey(Buffer.alloc(32), 'MOOR', uuid(2, NUMBER), 1) }),
    '"licenses":[]',
  ],
  ['a license with all that belongs to it', () => admin.get(`licenses/${uuid(2, 77)}`), uuid(5, 77)],
  ['the queue of release requests', () => admin.get('release-requests'), uuid(5, 100)],
  ['the queue of deletion requests', () => admin.get('erasures'), '"erasures":[]'],
  ['the audit trail of a license', () => admin.get(`audit?license_id=${uuid(2, 77)}`), uuid(4, 77)],
  ['the audit trail of all', () => admin.get('audit'), uuid(4, FEW)],
])('%s reads no big table from one end to the other, and few pages', async (_what, work, found) => {
  const { text } = await answered(work);
  expect(text).toContain(found);
  const statements = await statementsOf(work);
  expect(statements.length).toBeGreaterThan(0);
  for (const statement of statements) {
    const { whole, pagesARow } = await look(statement);
    expect({ sql: statement.text, whole }).toEqual({ sql: statement.text, whole: [] });
    expect(pagesARow).toBeLessThan(FEW_PAGES);
  }
});

test('/health/ready checks each retention rule with an index, and reads few pages in total', async () => {
  const statements = await statementsOf(() => service.call('GET', '/health/ready'));
  expect(statements.filter(({ text }) => text.includes('overdue_days'))).toHaveLength(1);
  for (const statement of statements) {
    const { whole, pagesARow } = await look(statement);
    expect({ sql: statement.text, whole }).toEqual({ sql: statement.text, whole: [] });
    // Twenty-odd look-ups, and one row for all of them.
    expect(pagesARow).toBeLessThan(3 * FEW_PAGES);
  }
});

test('five hundred heartbeats together read as much as each by itself', async () => {
  const ids = Array.from({ length: 500 }, (_, place) => uuid(3, 1 + place * 399));
  const { whole, pagesARow } = await look({ text: READ_ACTIVATIONS, values: [ids] });
  expect(whole).toEqual([]);
  // A descent in three indexes, and a row of three tables.
  expect(pagesARow).toBeLessThan(15);
});

test('a statement that reads a table whole would be seen', async () => {
  const { whole, pagesARow } = await look({
    text: 'select 1 from license where key_hint = $1',
    values: ['X7'],
  });
  expect(whole).toEqual(['license', 'license']); // planned for any value, and for this one
  expect(pagesARow).toBeGreaterThan(100 * FEW_PAGES);
});
