import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { expect, test } from '@jest/globals';
import type { RingEntry } from '../../src/keys/tokens/ring-file.js';
import { Terminal } from '../support/processes/cli-harness.js';
import { call, createDatabase } from '../support/harness.js';
import { Computer } from './rotation-drill-computer.js';
import { ClientSimulation, kidOf, sendHalfHeartbeat } from './rotation-drill.js';
import { freePort, ServerProcess } from '../support/processes/server-process.js';
import { temporaryFolder } from '../support/folders.js';
import { afterThisFile } from '../support/of-this-file.js';
import { query } from '../support/databases/replica-harness.js';

/** The number of clients, which send heartbeats all the time to two instances with one database and one key folder. */
const CLIENTS = 24;
/** The age from which a next key can become the active key: five seconds, and one more because times have whole seconds. */
const MIN_NEXT_KEY_AGE_MS = 6_000;
const folder = temporaryFolder();
const servers: ServerProcess[] = [];
const pids: number[] = [];
const urls: string[] = [];

const database = await createDatabase();
const terminal = new Terminal({ DATABASE_URL: database.url });
const { TOKEN_KEYS_DIR } = await terminal.init('secrets');
const settings = { DATABASE_URL: database.url, DATA_DIR: join(folder, 'data'), TOKEN_KEYS_DIR };
Object.assign(terminal.env, settings);
for (let i = 0; i < 2; i++) {
  const PORT = String(await freePort());
  servers.push(await new ServerProcess({ ...settings, PORT, LOG_LEVEL: 'warn' }).ready());
  urls.push(`http://127.0.0.1:${PORT}`);
}
pids.push(...servers.map(({ child }) => child.pid!));
const simulation = new ClientSimulation(urls);
const licenses = await importLicenses(CLIENTS + 2);
for (const license of licenses.slice(2)) await simulation.addClient(license);
/** Computers with the reference client. */
const computers: Computer[] = licenses
  .slice(0, 2)
  .map((license, i) => new Computer(license, urls, join(folder, `computer-${i}.json`)));
for (const computer of computers) await computer.activate();
/** Clients that always send a token that the first key signed. */
const firstKeyClients = simulation.clients.slice(0, 8);
/** Clients that always send a token that the second key signed, from the first rotation on. */
const secondKeyClients = simulation.clients.slice(8, 12);
for (const client of firstKeyClients) client.tokenUse = 'fixed';

afterThisFile(() => simulation.stop());

test('during two rotations no heartbeat is refused and no process is restarted', async () => {
  const confirmedBefore = simulation.confirmedHeartbeats;
  const [k1] = await listKeys();
  expect(new Set(simulation.clients.map(({ kid }) => kid))).toEqual(new Set([k1!.kid]));
  const oldTokens = simulation.clients.map(({ token }) => token);

  for (const expectedStates of [
    ['verifying', 'active', 'next'],
    ['verifying', 'verifying', 'active', 'next'],
  ]) {
    const before = await listKeys();
    await waitUntilRotationAllowed();
    // The first half of each of these heartbeats is sent before the rotation. Four tokens are signed with the active key, and four
    // with the first key.
    const tokens = [...simulation.clients.slice(-4).map(({ token }) => token), ...oldTokens.slice(0, 4)];
    const halves = await Promise.all(
      tokens.flatMap((token) => urls.map((url) => sendHalfHeartbeat(url, token))),
    );
    await rotate();
    // The heartbeats with the first two tokens continue at once, the others when the new key is in use.
    const duringRotation = await Promise.all(halves.splice(0, 4).map((half) => half.finish()));
    const active = await waitUntilActiveKeyUsed();
    expect(before.find(({ kid }) => kid === active)?.state).toBe('next');
    const afterRotation = await Promise.all(halves.map((half) => half.finish()));
    // If this test slows the service down too much, it answers `retry`, which is not a refusal.
    const isFinal = ({ client_action }: { client_action?: string }) => client_action !== 'retry';
    const answers = [...duringRotation, ...afterRotation].filter(isFinal);
    expect(answers.length).toBeGreaterThan(8);
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(new Set(afterRotation.filter(isFinal).map(({ token }) => kidOf(token!)))).toEqual(
      new Set([active]),
    );
    expect(simulation.refusals).toEqual([]);
    expect((await listKeys()).map(({ state }) => state)).toEqual(expectedStates);
    await waitUntilPublished();
    // In the first round `secondKeyClients` have a token of the second key now, which they keep.
    await simulation.waitForHeartbeats(2);
    for (const client of secondKeyClients) client.tokenUse = 'fixed';
  }

  const [, k2, k3] = await listKeys();
  expect(new Set(secondKeyClients.map(({ kid }) => kid))).toEqual(new Set([k2!.kid]));
  expect(new Set(firstKeyClients.map(({ kid }) => kid))).toEqual(new Set([k1!.kid]));
  expect(new Set(simulation.clients.slice(12).map(({ kid }) => kid))).toEqual(new Set([k3!.kid]));
  // Both instances accept tokens from before the first rotation.
  for (const token of oldTokens.slice(-4))
    for (const url of urls) expect((await sendHeartbeat(url, token)).status).toBe(200);

  expect(simulation.refusals).toEqual([]);
  expect(Math.min(...simulation.clients.map(({ heartbeatCount }) => heartbeatCount))).toBeGreaterThan(4);
  expect(simulation.confirmedHeartbeats - confirmedBefore).toBeGreaterThan(200);
  expectSameProcesses();
});

test('after the revocation of the active key its clients activate again in the background and keep their activations', async () => {
  const [k1, k2, k3, k4] = (await listKeys()) as [RingEntry, RingEntry, RingEntry, RingEntry];
  const renewing = simulation.clients.slice(12);
  const leaked = renewing.map(({ token }) => token);
  for (const computer of computers) computer.startHeartbeats();
  await simulation.waitUntil(() => computers.every(({ kid }) => kid === k3.kid));
  const ids = computers.map(({ activationId }) => activationId);
  // The heartbeats stop, because one during the revocation could get a token of the new key without a refusal.
  for (const computer of computers) await computer.stopHeartbeats();

  // Half of the clients keep their token until it is refused, however long the revocation takes.
  for (const client of renewing.slice(renewing.length / 2)) client.tokenUse = 'fixed';
  await revoke(k3.kid);
  expect(await waitUntilActiveKeyUsed()).toBe(k4.kid);
  for (const computer of computers) computer.startHeartbeats();
  await simulation.waitUntil(() => renewing.every(({ kid }) => kid === k4.kid));
  await simulation.waitUntil(() => computers.every(({ kid }) => kid === k4.kid));

  // Each client that was refused activated once for each refusal.
  const refusals = simulation.refusals;
  for (const client of renewing) expect(client.refusals).toHaveLength(client.reactivationCount);
  // A client whose heartbeat was in progress may have got a token of the new key without a refusal.
  expect(refusals.length).toBeGreaterThanOrEqual(renewing.length / 2);
  for (const refusal of refusals)
    expect(refusal).toMatchObject({
      kid: k3.kid,
      status: 403,
      code: 'token_invalid',
      client_action: 'reactivate',
    });
  // No client is refused again, and no client with a token of another key was refused.
  await simulation.waitForHeartbeats(4);
  expect(simulation.refusals).toHaveLength(refusals.length);
  expect([...firstKeyClients, ...secondKeyClients].flatMap((client) => client.refusals)).toEqual([]);
  expect(new Set(firstKeyClients.map(({ kid }) => kid))).toEqual(new Set([k1.kid]));
  expect(new Set(secondKeyClients.map(({ kid }) => kid))).toEqual(new Set([k2.kid]));

  // The reference clients have run all the time and keep their activations.
  for (const [i, computer] of computers.entries()) {
    await computer.stopHeartbeats();
    expect(computer.log).toContain('the service asked for a new activation');
    expect(new Set(computer.states.map(({ kind }) => kind))).toEqual(new Set(['not_activated', 'running']));
    expect(computer.states.slice(1).every(({ kind }) => kind === 'running')).toBe(true);
    expect(computer.activationId).toBe(ids[i]);
    expect(computer.activationResponses[0]).toMatchObject({ status: 201 });
    expect(computer.activationResponses.length).toBeGreaterThan(1);
    for (const { status, id, machines_in_use } of computer.activationResponses.slice(1))
      expect([status, id, machines_in_use]).toEqual([200, ids[i], 1]);
  }
  await expectOneActivationEach();
  await waitUntilPublished();
  for (const token of leaked) for (const url of urls) await expectRefused(url, token);
  expectSameProcesses();
});

test('after the revocation of a verifying key only the tokens of that key are refused', async () => {
  const [k1, k2, , k4] = (await listKeys()) as [RingEntry, RingEntry, RingEntry, RingEntry];
  const before = simulation.refusals.length;
  const leaked = secondKeyClients.map(({ token }) => token);
  await revoke(k2.kid);
  await simulation.waitUntil(() => secondKeyClients.every(({ kid }) => kid === k4.kid));
  await waitUntilPublished();
  await simulation.waitForHeartbeats(4);

  const refusals = secondKeyClients.flatMap((client) => client.refusals);
  expect(simulation.refusals).toHaveLength(before + refusals.length);
  for (const refusal of refusals) expect(refusal).toMatchObject({ kid: k2.kid, code: 'token_invalid' });
  expect(refusals.length).toBeGreaterThanOrEqual(secondKeyClients.length);
  for (const token of leaked) for (const url of urls) await expectRefused(url, token);
  expect(firstKeyClients.flatMap((client) => client.refusals)).toEqual([]);
  expect(new Set(firstKeyClients.map(({ kid }) => kid))).toEqual(new Set([k1.kid]));
  expect((await listKeys()).map(({ state }) => state)).toEqual([
    'verifying',
    'revoked',
    'revoked',
    'active',
    'next',
  ]);
  await expectOneActivationEach();
  expectSameProcesses();
  // A warning has the level 40, an error 50 or 60.
  for (const { stdout } of servers) expect(stdout).not.toMatch(/"level":[456]0/);
});

const listKeys = async (): Promise<Omit<RingEntry, 'file'>[]> => {
  const keys = await terminal.json(['keys', 'list']);
  return keys.map(({ key_id: kid, ...rest }: { key_id: string }) => ({ kid, ...rest }));
};

const sendHeartbeat = (url: string, token: string) =>
  call(url, 'POST', '/v1/heartbeat', { token, app_version: '3.2.0' });

/** Imports licenses for one machine each. */
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

/** Runs a `mooring keys` command, and repeats it after the time that its message asks for. */
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

/**
 * Waits until a rotation is allowed. The test waits before it sends half of a request, not between its halves, because the service
 * drops an incomplete request after 20 s.
 */
async function waitUntilRotationAllowed(): Promise<void> {
  const { since } = (await listKeys()).find(({ state }) => state === 'next')!;
  await pause(Math.max(0, Date.parse(since) + MIN_NEXT_KEY_AGE_MS - Date.now()));
}

const rotate = () => runKeysCommand('rotate');
const revoke = (kid: string) => runKeysCommand('revoke', '--', kid);

/** Waits until both instances sign with the active key. @returns its id */
async function waitUntilActiveKeyUsed(): Promise<string> {
  const { kid } = (await listKeys()).find(({ state }) => state === 'active')!;
  await simulation.waitUntil(() => simulation.lastSigningKids.every((signingKid) => signingKid === kid));
  return kid;
}

/** Waits until both instances publish exactly the keys of the ring that are not revoked. */
async function waitUntilPublished(): Promise<void> {
  const kids = (await listKeys()).filter(({ state }) => state !== 'revoked').map(({ kid }) => kid);
  for (const url of urls) {
    while (!isDeepStrictEqual(await readPublishedKids(url), kids.toSorted()))
      await simulation.waitForHeartbeats(1);
  }
}

async function readPublishedKids(url: string): Promise<string[]> {
  const { keys } = (await call(url, 'GET', '/v1/keys')).json as { keys: { kid: string; for: string }[] };
  return keys
    .filter((key) => key.for === 'license-token')
    .map(({ kid }) => kid)
    .toSorted();
}

async function expectRefused(url: string, token: string): Promise<void> {
  const { status, json } = await sendHeartbeat(url, token);
  expect([status, json.code, json.client_action]).toEqual([403, 'token_invalid', 'reactivate']);
}

/** Checks that each license has exactly one activation, and that it is active. */
async function expectOneActivationEach(): Promise<void> {
  const sql = `
    select count(*)::int as activations, count(*) filter (where ended_at is null)::int as active
    from activation group by license_id`;
  expect(await query(database.url, sql)).toEqual(
    Array.from({ length: CLIENTS + 2 }, () => ({ activations: 1, active: 1 })),
  );
}

function expectSameProcesses(): void {
  expect(servers.map(({ isRunning, child }) => isRunning && child.pid)).toEqual(pids);
  // Each start prints this line once.
  for (const { stderr } of servers) expect(stderr.match(/The command line: /g)).toHaveLength(1);
}
