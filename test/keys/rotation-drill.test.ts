import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import type { RingEntry } from '../../src/keys/tokens/ring-file.js';
import { Terminal } from '../support/processes/cli-harness.js';
import { call, createDatabase } from '../support/harness.js';
import { Computer } from './rotation-drill-computer.js';
import { Fleet, halfHeartbeat, kidOf, type FleetClient } from './rotation-drill.js';
import { freePort, ServerProcess } from '../support/processes/server-process.js';

/** Clients that send heartbeats all the time to two instances with one database and one key folder. */
const CLIENTS = 24;
/** A next key can sign from this age on. The age is computed from a time in whole seconds. */
const SETTLED_MS = 6_000;
const folder = mkdtempSync(join(tmpdir(), 'mooring-drill-'));
const servers: ServerProcess[] = [];
const pids: number[] = [];
const urls: string[] = [];
let database: Awaited<ReturnType<typeof createDatabase>>;
let terminal: Terminal;
let fleet: Fleet;
/** Clients that always send a token signed with the first key, or with the second. */
let first: FleetClient[];
let second: FleetClient[];
let computers: Computer[];

beforeAll(async () => {
  database = await createDatabase();
  terminal = new Terminal({ DATABASE_URL: database.url });
  const { TOKEN_KEYS_DIR } = await terminal.json(['init', 'secrets']);
  const settings = { DATABASE_URL: database.url, DATA_DIR: join(folder, 'data'), TOKEN_KEYS_DIR };
  Object.assign(terminal.env, settings);
  for (let i = 0; i < 2; i++) {
    const PORT = String(await freePort());
    servers.push(await new ServerProcess({ ...settings, PORT, LOG_LEVEL: 'warn' }).ready());
    urls.push(`http://127.0.0.1:${PORT}`);
  }
  pids.push(...servers.map(({ child }) => child.pid!));
  fleet = new Fleet(urls);
  const licenses = await importLicenses(CLIENTS + 2);
  for (const license of licenses.slice(2)) await fleet.join(license);
  computers = licenses
    .slice(0, 2)
    .map((license, i) => new Computer(license, urls, join(folder, `computer-${i}.json`)));
  for (const computer of computers) await computer.activate();
  first = fleet.clients.slice(0, 8);
  second = fleet.clients.slice(8, 12);
  for (const client of first) client.tokenUse = 'fixed';
});

afterAll(async () => {
  await Promise.all((computers ?? []).map((computer) => computer.close()));
  await fleet?.stop();
  await Promise.all(servers.map((server) => server.end('SIGKILL')));
  terminal.close();
  await database.drop();
  rmSync(folder, { recursive: true, force: true });
});

test('two rotations under load refuse no heartbeat and restart no process', async () => {
  const began = fleet.confirmed;
  const [k1] = await ring();
  expect(new Set(fleet.clients.map(({ kid }) => kid))).toEqual(new Set([k1!.kid]));
  const oldest = fleet.clients.map(({ token }) => token);

  for (const expectedStates of [
    ['verifying', 'active', 'next'],
    ['verifying', 'verifying', 'active', 'next'],
  ]) {
    const before = await ring();
    await untilRotationAllowed();
    // Half-sent heartbeats, with tokens of the active key and of the first key.
    const tokens = [...fleet.clients.slice(-4).map(({ token }) => token), ...oldest.slice(0, 4)];
    const halves = await Promise.all(tokens.flatMap((token) => urls.map((url) => halfHeartbeat(url, token))));
    await rotate();
    const early = await Promise.all(halves.splice(0, 4).map((half) => half.finish()));
    const active = await untilActiveKeyUsed();
    expect(before.find(({ kid }) => kid === active)?.state).toBe('next');
    const late = await Promise.all(halves.map((half) => half.finish()));
    // An overloaded machine may ask to retry, which is no refusal.
    const isFinal = ({ client_action }: { client_action?: string }) => client_action !== 'retry';
    const answers = [...early, ...late].filter(isFinal);
    expect(answers.length).toBeGreaterThan(8);
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(new Set(late.filter(isFinal).map(({ token }) => kidOf(token!)))).toEqual(new Set([active]));
    expect(fleet.refusals).toEqual([]);
    expect((await ring()).map(({ state }) => state)).toEqual(expectedStates);
    await expectPublished();
    // From here on these clients keep their token, which the second key signed in the first round.
    await fleet.untilMore(2);
    for (const client of second) client.tokenUse = 'fixed';
  }

  const [, k2, k3] = await ring();
  expect(new Set(second.map(({ kid }) => kid))).toEqual(new Set([k2!.kid]));
  expect(new Set(first.map(({ kid }) => kid))).toEqual(new Set([k1!.kid]));
  expect(new Set(fleet.clients.slice(12).map(({ kid }) => kid))).toEqual(new Set([k3!.kid]));
  // Tokens from before the first rotation, at both instances.
  for (const token of oldest.slice(-4))
    for (const url of urls) expect((await beat(url, token)).status).toBe(200);

  expect(fleet.refusals).toEqual([]);
  expect(Math.min(...fleet.clients.map(({ beats }) => beats))).toBeGreaterThan(4);
  expect(fleet.confirmed - began).toBeGreaterThan(200);
  expectSameProcesses();
});

test('after the revocation of the active key its clients activate again in the background and keep their activations', async () => {
  const [k1, k2, k3, k4] = (await ring()) as [RingEntry, RingEntry, RingEntry, RingEntry];
  const renewing = fleet.clients.slice(12);
  const leaked = renewing.map(({ token }) => token);
  for (const computer of computers) computer.begin();
  await fleet.until(() => computers.every(({ kid }) => kid === k3.kid));
  const ids = computers.map(({ activation }) => activation);
  // A heartbeat during the revocation could get a token of the new key without a refusal.
  for (const computer of computers) await computer.rest();

  await revoke(k3.kid);
  expect(await untilActiveKeyUsed()).toBe(k4.kid);
  for (const computer of computers) computer.begin();
  await fleet.until(() => renewing.every(({ kid }) => kid === k4.kid));
  await fleet.until(() => computers.every(({ kid }) => kid === k4.kid));

  // Each refusal was followed by one activation.
  const refusals = fleet.refusals;
  for (const { refusals: own, activations } of renewing)
    expect([own.length, activations]).toEqual([activations, activations]);
  // A client whose heartbeat was in progress may have got a token of the new key without a refusal.
  expect(refusals.length).toBeGreaterThanOrEqual(renewing.length / 2);
  for (const refusal of refusals)
    expect(refusal).toMatchObject({
      kid: k3.kid,
      status: 403,
      code: 'token_invalid',
      client_action: 'reactivate',
    });
  // No client is refused again, and none with a token of another key was refused.
  await fleet.untilMore(4);
  expect(fleet.refusals).toHaveLength(refusals.length);
  expect([...first, ...second].flatMap((client) => client.refusals)).toEqual([]);
  expect(new Set(first.map(({ kid }) => kid))).toEqual(new Set([k1.kid]));
  expect(new Set(second.map(({ kid }) => kid))).toEqual(new Set([k2.kid]));

  // The reference client is running all the time and keeps its activation.
  for (const [i, computer] of computers.entries()) {
    await computer.rest();
    expect(computer.log).toContain('the service asked for a new activation');
    expect(new Set(computer.states.map(({ kind }) => kind))).toEqual(new Set(['not_activated', 'running']));
    expect(computer.states.slice(1).every(({ kind }) => kind === 'running')).toBe(true);
    expect(computer.activation).toBe(ids[i]);
    expect(computer.activated[0]).toMatchObject({ status: 201 });
    expect(computer.activated.length).toBeGreaterThan(1);
    for (const { status, id, machines_in_use } of computer.activated.slice(1))
      expect([status, id, machines_in_use]).toEqual([200, ids[i], 1]);
  }
  await expectOneActivationEach();
  await expectPublished();
  for (const token of leaked) for (const url of urls) await expectRefused(url, token);
  expectSameProcesses();
});

test('after the revocation of a verifying key only its tokens are refused', async () => {
  const [k1, k2, , k4] = (await ring()) as [RingEntry, RingEntry, RingEntry, RingEntry];
  const before = fleet.refusals.length;
  const leaked = second.map(({ token }) => token);
  await revoke(k2.kid);
  await fleet.until(() => second.every(({ kid }) => kid === k4.kid));
  await expectPublished();
  await fleet.untilMore(4);

  const refusals = second.flatMap((client) => client.refusals);
  expect(fleet.refusals).toHaveLength(before + refusals.length);
  for (const refusal of refusals) expect(refusal).toMatchObject({ kid: k2.kid, code: 'token_invalid' });
  expect(refusals.length).toBeGreaterThanOrEqual(second.length);
  for (const token of leaked) for (const url of urls) await expectRefused(url, token);
  expect(first.flatMap((client) => client.refusals)).toEqual([]);
  expect(new Set(first.map(({ kid }) => kid))).toEqual(new Set([k1.kid]));
  expect((await ring()).map(({ state }) => state)).toEqual([
    'verifying',
    'revoked',
    'revoked',
    'active',
    'next',
  ]);
  await expectOneActivationEach();
  expectSameProcesses();
  for (const { stderr } of servers) expect(stderr).not.toMatch(/"level":"(warn|error)/);
});

const ring = () => terminal.json(['keys', 'list']) as Promise<Omit<RingEntry, 'file'>[]>;

const beat = (url: string, token: string) =>
  call(url, 'POST', '/v1/heartbeat', { token, app_version: '3.2.0' });

/** Imports this many licenses for one machine each. */
async function importLicenses(count: number): Promise<{ license_key: string; email: string }[]> {
  const licenses = Array.from({ length: count }, (_, i) => ({
    license_key: `ACME_AAAA-BBBB-CCCC-${String(i).padStart(4, '0')}`,
    email: `holder-${i}@example.com`,
  }));
  const lines = licenses.map(({ license_key, email }) => `${license_key},${email},1`);
  writeFileSync(terminal.file('customers.csv'), ['license_key,email,machines_allowed', ...lines].join('\n'));
  await terminal.json(['license', 'import', 'customers.csv']);
  return licenses;
}

/** Runs a command on the keys, and repeats it if its message asks for that. */
async function runKeysCommand(...args: string[]): Promise<void> {
  const runOnce = () => terminal.run(['keys', ...args]);
  let run = await runOnce();
  const wait = /try again in (\d) s\.\n$/.exec(run.stderr)?.[1];
  if (run.code === 1 && wait) {
    await pause(Number(wait) * 1_000);
    run = await runOnce();
  }
  expect([run.code, run.stderr]).toEqual([0, expect.stringMatching(/^(Every|Tokens) /)]);
}

/** Waits until a rotation is allowed, so that half-sent requests wait for the rotation only: the service drops them after 20 s. */
async function untilRotationAllowed(): Promise<void> {
  const { since } = (await ring()).find(({ state }) => state === 'next')!;
  await pause(Math.max(0, Date.parse(since) + SETTLED_MS - Date.now()));
}

const rotate = () => runKeysCommand('rotate');
const revoke = (kid: string) => runKeysCommand('revoke', '--', kid);

/** Waits until both instances sign with the active key. @returns its kid */
async function untilActiveKeyUsed(): Promise<string> {
  const { kid } = (await ring()).find(({ state }) => state === 'active')!;
  await fleet.until(() => fleet.signs.every((signing) => signing === kid));
  return kid;
}

/** Waits until both instances show all keys of the ring that are not revoked. */
async function expectPublished(): Promise<void> {
  const kids = (await ring()).filter(({ state }) => state !== 'revoked').map(({ kid }) => kid);
  for (const url of urls) {
    while (!isDeepStrictEqual(await shownKeys(url), kids.toSorted())) await fleet.untilMore(1);
  }
}

async function shownKeys(url: string): Promise<string[]> {
  const { keys } = (await call(url, 'GET', '/v1/keys')).json as { keys: { kid: string; for: string }[] };
  return keys
    .filter((key) => key.for === 'license-token')
    .map(({ kid }) => kid)
    .toSorted();
}

async function expectRefused(url: string, token: string): Promise<void> {
  const { status, json } = await beat(url, token);
  expect([status, json.code, json.client_action]).toEqual([403, 'token_invalid', 'reactivate']);
}

/** Checks that each license has exactly one activation, and that it is active. */
async function expectOneActivationEach(): Promise<void> {
  const client = new pg.Client(database.url);
  await client.connect();
  const sql = `
    select count(*)::int as activations, count(*) filter (where ended_at is null)::int as active
    from activation group by license_id`;
  const { rows } = await client.query(sql);
  await client.end();
  expect(rows).toEqual(Array.from({ length: CLIENTS + 2 }, () => ({ activations: 1, active: 1 })));
}

function expectSameProcesses(): void {
  expect(servers.map(({ running, child }) => running && child.pid)).toEqual(pids);
  for (const { stderr } of servers) expect(stderr.match(/The command line: /g)).toHaveLength(1);
}
