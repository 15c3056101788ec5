import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, expect, test } from '@jest/globals';
import { activation, call, retryWhileUnavailable } from '../support/harness.js';
import { attemptCall, FragilePostgres, Load, type Timed } from '../support/databases/outage-harness.js';
import { query, StreamingReplica } from '../support/databases/replica-harness.js';
import { startWithSample } from '../support/databases/sample-license.js';
import { Terminal } from '../support/processes/cli-harness.js';
import { freePort, ServerProcess, startUntilReady } from '../support/processes/server-process.js';
import { temporaryFolder } from '../support/folders.js';

/** More machines than the test activates. */
const MACHINES_ALLOWED = 100_000;

const WARNING =
  'Hosts of DATABASE_URL that are neither primary nor standby: 1. mooring doctor says what they are.';

const directory = temporaryFolder();
const terminal = new Terminal({ DATA_DIR: directory });
let machines = 0;
let load: Load | undefined;

interface Instance {
  readonly url: string;
  readonly process: ServerProcess;
}
const instances: Instance[] = [];

/** Returns the URL of the database with these servers as its hosts. */
function urlOf(...servers: { url: string }[]): string {
  const hosts = servers.map(({ url }) => new URL(url).host).join();
  return first.url.replace(new URL(first.url).host, hosts);
}

async function start(databaseUrl: string): Promise<Instance> {
  const port = await freePort();
  const settings = { PORT: String(port), DATA_DIR: directory, DATABASE_URL: databaseUrl };
  const process = await startUntilReady(() => new ServerProcess(settings, { hasProductionLimits: true }));
  const instance = { url: `http://127.0.0.1:${port}`, process };
  instances.push(instance);
  return instance;
}

const activate = ({ url }: Instance) => {
  const machine = `machine ${(machines += 1)}`;
  return attemptCall('activate', url, 'POST', '/v1/activate', activation(license, machine));
};
const heartbeat = ({ url }: Instance) =>
  attemptCall('heartbeat', url, 'POST', '/v1/heartbeat', { token, app_version: '1.0.0' });
const startLoad = (instance: Instance) =>
  (load = new Load(
    [activate, activate, activate, heartbeat, heartbeat].map((request) => () => request(instance)),
  ));
const isActivated = ({ name, status }: Timed) => name === 'activate' && status === 201;

async function activateUntilAcknowledged(instance: Instance): Promise<string> {
  for (;;) {
    const answer = await activate(instance);
    if (isActivated(answer)) return answer.json.activation.id as string;
    expectNoWrongStop([answer]);
    await pause(50);
  }
}

/** Expects that a client was never refused: each answer is a success or asks it to retry. */
function expectNoWrongStop(answers: readonly Timed[]): void {
  const others = answers.filter(({ status }) => status !== 200 && status !== 201);
  const kinds = new Set(
    others.map(({ status, json }) => `${status} ${json.code as string} ${json.client_action as string}`),
  );
  expect([...kinds].filter((kind) => kind !== '503 unavailable retry')).toEqual([]);
}

async function activationIds(url: string): Promise<Set<string>> {
  const rows = await query<{ id: string }>(url, 'select id from activation');
  return new Set(rows.map(({ id }) => id));
}

/** Runs `mooring status`, and repeats it if a slow computer exceeds its time limit for the answer of a host. */
async function readStatus(DATABASE_URL: string): Promise<{ roles: string[]; warnings: string[] }> {
  for (;;) {
    const { code, json, stderr } = await terminal.run(['status', '--json'], { env: { DATABASE_URL } });
    if (code !== 0) expect(stderr).toContain('no answer in time');
    const roles: string[] = (json?.database_hosts ?? []).map(({ role }: { role: string }) => role);
    if (code === 0 && !roles.includes('unreachable')) return { roles, warnings: json.warnings };
  }
}

async function configure(url: string, setting: string): Promise<void> {
  await query(url, `alter system ${setting}`);
  await query(url, 'select pg_reload_conf()');
}

/** The server that is the primary first, and its standby. */
const first = await FragilePostgres.start();
const second = await StreamingReplica.of(first);
await configure(first.url, `set synchronous_standby_names = '*'`);
const license = await startWithSample(first.url, async () => {
  instances.length = 0;
  return (await start(urlOf(first, second))).process;
});
await query(first.url, 'update license set machines_allowed = $1', [MACHINES_ALLOWED]);
const token = (await retryWhileUnavailable(() => activate(instances[0]!))).json.token as string;
afterEach(async () => void (await load?.stop().catch(() => undefined)));

test('the primary is killed under load: its standby is used without a restart, and nothing acknowledged is lost', async () => {
  const [instance] = instances as [Instance];
  startLoad(instance);
  await load!.waitFor(40, isActivated);
  await first.kill();
  await second.promote();
  await load!.waitFor(40, isActivated);
  const answers = await load!.stop();
  expectNoWrongStop(answers);
  const ids = await activationIds(second.url);
  expect(answers.filter((each) => isActivated(each) && !ids.has(each.json.activation.id))).toEqual([]);
  await instance.process.waitForOutput('stdout', /"database primary moved"/);
});

test('the former primary returns as a primary: nothing is written to it, also by new instances', async () => {
  await first.restart();
  await configure(first.url, 'reset synchronous_standby_names');
  const before = await activationIds(first.url);
  const hosts = [urlOf(first, second), urlOf(second, first)];
  const [running, ...started] = [instances[0]!, await start(hosts[0]!), await start(hosts[1]!)];
  for (const instance of [running, ...started]) {
    const id = await activateUntilAcknowledged(instance);
    expect(await activationIds(second.url)).toContain(id);
  }
  const { roles, warnings } = await readStatus(hosts[0]!);
  expect(roles).toEqual(['outdated', 'primary']);
  expect(warnings).toContain(WARNING);
  while (!(await call(running.url, 'GET', '/health/ready')).json.warnings.includes(WARNING)) await pause(100);
  // The new connections that replace the broken ones do not use the former primary either.
  startLoad(running);
  await second.kill();
  await load!.waitFor(10, ({ status }) => status === 503);
  await second.start();
  await load!.waitFor(10, isActivated);
  expectNoWrongStop(await load!.stop());
  expect(await activationIds(first.url)).toEqual(before);
});

test('a primary that becomes read-only is not used until it accepts writes again', async () => {
  startLoad(instances[0]!);
  await load!.waitFor(5, isActivated);
  await configure(second.url, 'set default_transaction_read_only = on');
  await load!.waitFor(10, ({ name, status }) => name === 'activate' && status === 503);
  await configure(second.url, 'reset default_transaction_read_only');
  await load!.waitFor(5, isActivated);
  expectNoWrongStop(await load!.stop());
});
