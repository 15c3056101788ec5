import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { DAY_MS } from '../../src/core/clock.js';
import { Terminal } from '../support/processes/cli-harness.js';
import { testWith } from '../support/processes/test-with.js';
import { createDatabase, connect, type TestDatabase } from '../support/harness.js';
import { schemaViolations } from '../support/http/openapi.js';
import { PRODUCTION_SETTINGS } from '../support/production.js';

const REASON = ['--reason', 'asked by letter'];

// No service uses this database, so only commands carry requests out.
let database: TestDatabase;
let client: pg.Client;
let terminal: Terminal;
let license_id: string;
beforeAll(async () => {
  database = await createDatabase();
  client = await connect(database.url);
  terminal = new Terminal({ DATABASE_URL: database.url });
  ({ license_id } = await recordPurchase());
});

const recordPurchase = () =>
  terminal.json([
    'purchase',
    'record',
    '--transaction',
    'txn_1',
    '--email',
    'ada@example.com',
    '--status',
    'paid',
  ]);
/** The erasure as in a response of the API, which names the id `id`. */
const asInApi = ({ erasure_id: id, ...rest }: { erasure_id: string }) => ({ id, ...rest });

const request = (email: string, ...more: string[]) =>
  terminal.json(['erasure', 'request', email, ...REASON, ...more]);
const rows = async (sql: string) => (await client.query(sql)).rows as Record<string, unknown>[];
/** The day of the first request, which these tests are about. */
let today = '';
const day = (daysLater: number) =>
  new Date(Date.parse(today) + daysLater * DAY_MS).toISOString().slice(0, 10);
const emailOfLicense = async () => (await rows('select email from license'))[0]!['email'];

test('a request of staff is due at once, and waits until a command carries it out', async () => {
  const erasure = await request(' Ada@Example.com ', '--as', 'grace');
  today = String((await rows('select received_on::text from erasure_request'))[0]!['received_on']);
  expect(Math.abs(Date.now() - Date.parse(today))).toBeLessThan(2 * DAY_MS);
  expect(erasure).toMatchObject({
    email: 'ada@example.com',
    asked_by: 'staff',
    reason: 'asked by letter',
    state: 'waiting',
    received_on: day(0),
    due_on: day(30),
    days_left: 30,
    erased: null,
  });
  expect(Date.parse(erasure.runs_at)).toBeLessThanOrEqual(Date.now());
  expect(schemaViolations('/components/schemas/Erasure', asInApi(erasure))).toEqual([]);
  expect(await request('ada@example.com')).toMatchObject({
    erasure_id: erasure.erasure_id,
    state: 'waiting',
  });
  expect(await emailOfLicense()).toBe('ada@example.com');
});

test('run carries out no request if the system clock is wrong', async () => {
  const preload = new URL('../support/processes/wrong-clock.mjs', import.meta.url).href;
  const env = { NODE_OPTIONS: `--import ${preload}`, TEST_CLOCK_OFFSET: String(-DAY_MS) };
  const { code, stdout, stderr } = await terminal.run(['erasure', 'run'], { env });
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toMatch(
    /^The clocks of this machine and of the database differ by more than an hour, .*\.\n$/,
  );
  expect(await emailOfLicense()).toBe('ada@example.com');
});

test('without --json, list shows a table of the requests with their due dates', async () => {
  const [erasure, ...more] = await terminal.json(['erasure', 'list']);
  expect(more).toEqual([]);
  const { code, stdout, stderr } = await terminal.run(['erasure', 'list']);
  expect([code, stderr]).toEqual([0, '']);
  const [head, row] = stdout.split('\n').map((line) => line.split(/ {2,}/));
  expect(head).toEqual(['Request', 'E-mail', 'State', 'Received', 'Due', 'Days left']);
  expect(row).toEqual([erasure.erasure_id, 'ada@example.com', 'waiting', day(0), day(30), '30']);
});

test('status warns of an overdue request from the day after it was due', async () => {
  await rows(`update erasure_request set received_on = '${day(-30)}'`);
  expect((await terminal.json(['status'])).warnings).toEqual([]);
  await rows(`update erasure_request set received_on = '${day(-31)}'`);
  const warning = `An erasure request was due on ${day(-1)} and is overdue.`;
  const [json, text] = await Promise.all([terminal.json(['status']), terminal.run(['status'])]);
  expect(json.warnings).toEqual([warning]);
  expect(text.stdout).toMatch(new RegExp(`^Warning +${warning}$`, 'm'));
  expect(text.stdout).not.toContain('ada@');
  expect((await terminal.json(['erasure', 'list']))[0].days_left).toBe(-1);
});

test('if TOMBSTONE_FILE cannot be read, run prints one sentence and erases nothing', async () => {
  const TOMBSTONE_FILE = terminal.file('folder');
  mkdirSync(TOMBSTONE_FILE);
  const { code, stdout, stderr } = await terminal.run(['erasure', 'run', '--json'], {
    env: { TOMBSTONE_FILE },
  });
  expect([code, stdout, stderr]).toEqual([
    2,
    '',
    `TOMBSTONE_FILE cannot be read: ${TOMBSTONE_FILE} (EISDIR).\n`,
  ]);
  expect(await emailOfLicense()).toBe('ada@example.com');
  rmdirSync(TOMBSTONE_FILE);
});

test('a request in a restored backup that was cancelled after the backup is not carried out', async () => {
  const TOMBSTONE_FILE = terminal.file('cancelled.txt');
  const [erasure] = await terminal.json(['erasure', 'list']);
  writeFileSync(TOMBSTONE_FILE, `taken_back ${erasure.erasure_id}\n`);
  await rows('create table saved_request as select * from erasure_request');
  expect(await terminal.json(['erasure', 'run'], { env: { TOMBSTONE_FILE } })).toEqual([]);
  expect(await terminal.json(['erasure', 'list'])).toMatchObject([
    { erasure_id: erasure.erasure_id, state: 'taken_back' },
  ]);
  expect((await terminal.run(['erasure', 'list'])).stdout).toMatch(/ {2}cancelled {2}/);
  expect(await emailOfLicense()).toBe('ada@example.com');
  // The next tests need the waiting request.
  await rows('delete from erasure_request');
  await rows('insert into erasure_request select * from saved_request');
  await rows('drop table saved_request');
});

test('run has carried out every due request when it ends', async () => {
  await rows(
    `insert into erasure_request (id, email, asked_by, received_on, runs_at)
     values (gen_random_uuid(), 'waits@example.com', 'holder', now(), now() + interval '3 days')`,
  );
  const done = await terminal.json(['erasure', 'run', '--as', 'grace']);
  expect(done).toMatchObject([
    { state: 'honoured', email: null, days_left: null, erased: { licenses: 1, purchases: 1 } },
  ]);
  expect(schemaViolations('/components/schemas/Erasure', asInApi(done[0]))).toEqual([]);
  expect(await rows('select id, email from license')).toEqual([{ id: license_id, email: null }]);
  expect((await terminal.json(['status'])).licenses).toMatchObject({ active: 0, erased: 1 });
  expect(await terminal.json(['erasure', 'list'])).toMatchObject([
    { state: 'waiting', email: 'waits@example.com', asked_by: 'holder' },
    { erasure_id: done[0].erasure_id, state: 'honoured' },
  ]);
  expect((await terminal.run(['erasure', 'list'])).stdout).toMatch(/ {2}carried out {2}/);
  const selectTrail =
    "select actor, action, reason from audit_event where action like 'erasure%' order by id";
  expect(await rows(selectTrail)).toEqual([
    { actor: 'grace', action: 'erasure.request', reason: 'asked by letter' },
    { actor: 'cli', action: 'erasure.request', reason: 'asked by letter' },
    { actor: 'grace', action: 'erasure.run', reason: null },
  ]);
});

test('a purchase of an erased buyer that a restored backup lacks is recorded without an address or a license', async () => {
  await rows('delete from license');
  await rows('delete from purchase');
  expect(await recordPurchase()).toEqual({
    transaction_id: 'txn_1',
    state: 'paid',
    license_id: null,
    license_ids: [],
  });
  expect(await rows('select state, email from purchase')).toEqual([{ state: 'paid', email: null }]);
  expect(await rows('select id from license')).toEqual([]);
});

test('an old license that was imported after an erasure keeps its address after retention has deleted the request', async () => {
  const { erasure_id } = await request('back@example.com');
  await terminal.json(['erasure', 'run']);
  writeFileSync(
    terminal.file('export.csv'),
    'key,email,bought\nBOUGHT-IN-2021,back@example.com,2021-05-24\n',
  );
  const map = ['key=previous_key', 'email=email', 'bought=purchased_at'].flatMap((m) => ['--map', m]);
  expect(await terminal.json(['license', 'import', 'export.csv', ...map, '--no-mail'])).toMatchObject({
    imported: 1,
  });
  await rows(`delete from erasure_request where id = '${erasure_id}'`);
  await terminal.json(['erasure', 'run']);
  expect(await rows('select email, address_lost_at from license')).toEqual([
    { email: 'back@example.com', address_lost_at: null },
  ]);
  await rows('delete from license');
});

test('run prints the requests that it carried out also if another one fails, and exits with 1', async () => {
  const failing = await request('locked@example.com');
  const due = await request('due@example.com');
  await client.query('begin');
  await client.query('select 1 from erasure_request where id = $1 for update', [failing.erasure_id]);
  const run = await terminal.run(['erasure', 'run', '--json']);
  const { code, stdout } = await terminal.run(['erasure', 'run']);
  await client.query('rollback');
  // The second run had only the request that failed.
  expect([code, stdout]).toEqual([1, '']);
  expect([run.code, JSON.parse(run.stdout)]).toEqual([
    1,
    [expect.objectContaining({ erasure_id: due.erasure_id })],
  ]);
  expect(run.stderr).not.toBe('');
  expect(await terminal.json(['erasure', 'run'])).toMatchObject([
    { erasure_id: failing.erasure_id, state: 'honoured' },
  ]);
});

test('run prints that nothing is due, and exits with 0', async () => {
  const [json, text] = await Promise.all([
    terminal.json(['erasure', 'run']),
    terminal.run(['erasure', 'run']),
  ]);
  expect([json, text.code, text.stdout]).toEqual([[], 0, 'Nothing is due.\n']);
});

test('without --json, request prints what will carry the request out', async () => {
  const { code, stdout } = await terminal.run(['erasure', 'request', 'grace@example.com', ...REASON]);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^Request +E-mail .*\n\S+ +grace@example\.com +waiting /);
  expect(stdout).toContain('carried out by a running service, or now by `mooring erasure run`');
});

test('request reads the address from standard input, so that neither the history of a shell nor the log of sudo has it', async () => {
  const run = await terminal.run(['erasure', 'request', '-', ...REASON, '--json'], {
    stdin: ' Hedy@Example.com\r\n',
  });
  expect([run.code, run.stderr]).toEqual([0, '']);
  expect(run.json).toMatchObject({ email: 'hedy@example.com', state: 'waiting' });
});

testWith('script')('at a terminal, request asks for the address', async () => {
  const { code, shown } = terminal.runInTerminal(['erasure', 'request', '--reason', 'letter'], {
    question: 'E-mail address: ',
    typed: 'lise@example.com\n',
  });
  expect([code, shown]).toEqual([0, expect.stringMatching(/^E-mail address: /)]);
  expect(await rows("select id from erasure_request where email = 'lise@example.com'")).toHaveLength(1);
});

test('request ends with exit code 2 and one sentence for an invalid address, a missing reason, or an address in the reason', async () => {
  const invalid = [
    ['ada', ...REASON],
    ['ada@example.com'],
    ['ada@example.com', '--reason', 'ada@example.com asked'],
  ];
  const runs = await Promise.all(
    invalid.map((args) => terminal.run(['erasure', 'request', ...args, '--json'])),
  );
  for (const { code, stdout, stderr } of runs) {
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(/^[^\n]+\n$/);
  }
});

test('in production the commands refuse to run without TOMBSTONE_FILE, with one sentence and exit code 2', async () => {
  const before = await rows('select id, email, honoured_at from erasure_request order by id');
  for (const args of [
    ['erasure', 'list'],
    ['erasure', 'run'],
    ['erasure', 'request', 'late@example.com', ...REASON],
  ]) {
    const { code, stdout, stderr } = await terminal.run(args, { env: PRODUCTION_SETTINGS });
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(/^In production, erasures need TOMBSTONE_FILE: [^\n]+\.\n$/);
  }
  expect(await rows('select id, email, honoured_at from erasure_request order by id')).toEqual(before);
  // The database was made with the license key secret of development, and accepts no other one.
  const LICENSE_KEY_SECRET = readFileSync(terminal.file('data/keys/license-key.secret'), 'utf8');
  const TOMBSTONE_FILE = terminal.file('production.txt');
  const withFile = { env: { ...PRODUCTION_SETTINGS, LICENSE_KEY_SECRET, TOMBSTONE_FILE } };
  expect(await terminal.json(['erasure', 'request', 'late@example.com', ...REASON], withFile)).toMatchObject({
    state: 'waiting',
  });
  expect((await terminal.run(['erasure', 'run'], withFile)).code).toBe(0);
});

test('status shows licenses that lost their address in a restore, and the number of requests that TOMBSTONE_FILE lacks', async () => {
  await rows(
    `insert into license (id, key_hash, key_hint, machines_allowed, on_expiry, created_at, address_lost_at)
     values ('01920000-0000-7000-8000-000000000001', sha256('one'), '11', 1, 'keep', now(), now())`,
  );
  const env = { TOMBSTONE_FILE: terminal.file('another.txt') };
  const [json, text] = await Promise.all([
    terminal.json(['status'], { env }),
    terminal.run(['status'], { env }),
  ]);
  expect(json.warnings).toEqual([
    expect.stringMatching(/^TOMBSTONE_FILE lacks erasure requests of the last 30 days: \d+\. /),
    expect.stringMatching(/^Licenses without an e-mail address since a restore: 1\. /),
  ]);
  expect(json.licenses.active).toBe(1);
  expect(text.stdout).toMatch(
    /^License +01920000-0000-7000-8000-000000000001 has no e-mail address since a restore$/m,
  );
});
