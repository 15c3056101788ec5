import { hash, randomBytes, randomUUID } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { until } from '../support/until.js';
import { call, createDatabase, connect } from '../support/harness.js';
import { report, PURCHASE_SETTINGS } from '../support/http/webhook.js';
import { freePort, ServerProcess } from '../support/processes/server-process.js';
import { temporaryFolder } from '../support/folders.js';

const TOKEN = `mst_${randomBytes(32).toString('base64url')}`;
const ADA = 'ada@example.com';

const directory = temporaryFolder();

const port = await freePort();
const url = `http://127.0.0.1:${port}`;
const database = await createDatabase();
const client = await connect(database.url);

function startServer(more: Record<string, string> = {}): ServerProcess {
  const settings = { PORT: String(port), DATA_DIR: directory, DATABASE_URL: database.url };
  return new ServerProcess({ ...settings, ...PURCHASE_SETTINGS, ...more });
}

async function addStaff(): Promise<void> {
  const id = randomUUID();
  await client.query("insert into staff values ($1, 'grace@example.com', 'admin', now())", [id]);
  await client.query("insert into staff_token values ($1, $1, $2, now(), now() + interval '1 day')", [
    id,
    hash('sha256', TOKEN, 'buffer'),
  ]);
}

/** Reports Ada's purchase. @returns the status of the response */
const reportPaid = async () =>
  (await report({ url }, { transaction_id: 'txn_1', email: ADA, status: 'paid' })).status;

const rows = async (sql: string) => (await client.query(sql)).rows as Record<string, unknown>[];
const purchaseWithLicense = () =>
  rows(`select p.transaction_id, p.state, p.email as buyer, l.email, l.ended_at is not null as ended
        from purchase p join license l on l.purchase_id = p.id`);
const purchase = { transaction_id: 'txn_1', state: 'paid' };
const erasedPurchase = { ...purchase, buyer: null, email: null, ended: true };

test('if an instance is killed between its response and the erasure, the next instance carries the erasure out', async () => {
  const first = await startServer().ready();
  expect(await reportPaid()).toBe(204);
  await addStaff();
  // Another connection holds a lock that the job needs, until the instance is killed.
  const lockHolder = await connect(database.url);
  await lockHolder.query('begin; lock table activation in access exclusive mode');
  const headers = { authorization: `Bearer ${TOKEN}` };
  const response = await call(
    url,
    'POST',
    '/support/api/erasures',
    { email: ADA, reason: 'Asked.' },
    headers,
  );
  await first.end('SIGKILL');
  await lockHolder.query('rollback');
  await lockHolder.end();
  expect(response.status).toBe(202);
  expect(await purchaseWithLicense()).toEqual([{ ...purchase, buyer: ADA, email: ADA, ended: false }]);

  await startServer().ready();
  await until(
    async () => (await rows('select 1 from erasure_request where honoured_at is null')).length === 0,
  );
  expect(await purchaseWithLicense()).toEqual([erasedPurchase]);
  await until(async () => (await rows('select 1 from mail_recipient')).length === 0);
});

test('a repeated report of the purchase restores no data and issues no second license', async () => {
  expect(await reportPaid()).toBe(204);
  expect(await purchaseWithLicense()).toEqual([erasedPurchase]);
  expect(await rows('select 1 from license where email is not null and purchase_id is not null')).toEqual([]);
});

test('if TOMBSTONE_FILE cannot be read, the service does not start and prints one sentence', async () => {
  const file = join(directory, 'a folder');
  mkdirSync(file);
  const refused = startServer({ PORT: String(await freePort()), TOMBSTONE_FILE: file });
  expect(await refused.exited).toMatchObject({ code: 2 });
  expect(refused.stderr).toBe(`TOMBSTONE_FILE cannot be read: ${file} (EISDIR).\n`);
});
