import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { afterAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { Config } from '../../src/core/config.js';
import { licenseKeySecret } from '../../src/keys/key-material.js';
import { LicenseKeys } from '../../src/keys/license-keys.js';
import { Random } from '../client/random.js';
import { runs } from '../fuzz/fuzz.js';
import { activation, call, createDatabase } from '../support/harness.js';
import { report, PURCHASE_SETTINGS } from '../support/http/webhook.js';
import { Terminal } from '../support/processes/cli-harness.js';
import { freePort, ServerProcess } from '../support/processes/server-process.js';
import { EventReceiver } from './receiver.js';
import { temporaryFolder } from '../support/folders.js';
import { until } from '../support/until.js';

/*
 * Clients change licenses through two instances that are killed at random moments, also while they start, and through a third
 * instance that sends no events and keeps running. The receiver fails half of the attempts. Afterwards it has acknowledged an
 * event for each change in the database. It may have acknowledged an event more than once; the first acknowledgements of the
 * events of each license are in the order of these events.
 * `npm run bench:events -- --kills 1000` kills far more often.
 */

const TEST_KILLS = 10;
const INSTANCES = 2;
const CLIENTS = 4;
const LICENSES = 40;
const MACHINES = 4;
const CHANGE_PAUSE_MS = 50;
const PROGRESS_INTERVAL_MS = 10_000;

const { numRuns, seed = Math.floor(Math.random() * 2 ** 31) } = runs(TEST_KILLS);
const maxKills = numRuns!;

const random = new Random(seed);

const directory = temporaryFolder();
const preload = pathToFileURL(join(import.meta.dirname, 'fast-events.mjs')).href;
/** The ports of the instances that are killed. */
const ports: number[] = [];
const running = new Set<ServerProcess>();
let kills = 0;
const killsEnded = new AbortController();

const database = await createDatabase();
const pool = new pg.Pool({ connectionString: database.url, max: 1 });
const receiver = await EventReceiver.start();
for (let count = 0; count < INSTANCES; count += 1) ports.push(await freePort());
// This instance turns on the recording of events, so that changes through the instance without EVENTS_URL are recorded too.
const firstInstance = start(ports[0]!, receiver.settings);
await firstInstance.ready();
const steadyPort = await freePort();
const steadyInstance = await start(steadyPort, {}).ready();
const config = new Config({ NODE_ENV: 'development', DATA_DIR: directory, DATABASE_URL: database.url });
const keys = new LicenseKeys(await licenseKeySecret(config), config.licenseKeyPrefix);
const terminal = new Terminal({ DATABASE_URL: database.url, DATA_DIR: directory });
await terminal.run(['staff', 'add', 'grace@example.com', '--role', 'admin']);
const token = (await terminal.run(['staff', 'token', 'grace@example.com', '--json'])).json.token as string;
await end(firstInstance);
afterAll(async () => {
  killsEnded.abort();
  await Promise.all([...running].map(async (instance) => end(instance)));
  await pool?.end();
});

function start(port: number, settings: Record<string, string>): ServerProcess {
  const environment = {
    PORT: String(port),
    DATA_DIR: directory,
    DATABASE_URL: database.url,
    DEFAULT_MACHINES_PER_LICENSE: '3',
    ...settings,
    ...PURCHASE_SETTINGS,
  };
  const instance = new ServerProcess(environment, { nodeArguments: ['--import', preload] });
  running.add(instance);
  return instance;
}

async function end(instance: ServerProcess, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
  await instance.end(signal);
  running.delete(instance);
}

/** Starts an instance again and again, and kills each at a random moment. */
async function killAgainAndAgain(port: number): Promise<void> {
  while (kills < maxKills) {
    kills += 1;
    const instance = start(port, receiver.settings);
    // One in five instances is killed while it starts. `ready` rejects if an instance ends by itself.
    if (!random.chance(0.2)) await instance.ready();
    await pause(random.unit() * 1_000);
    expect([instance.isRunning, instance.stderr]).toEqual([true, expect.any(String)]);
    await end(instance, 'SIGKILL');
  }
}

/**
 * Changes random licenses through random instances until no instance is killed any more. A request to a killed instance fails. The
 * pauses let the receiver catch up, so that kills also meet events that were just recorded.
 */
async function change(): Promise<void> {
  for (; !killsEnded.signal.aborted; await pause(CHANGE_PAUSE_MS)) {
    const port = random.chance(0.3) ? steadyPort : ports[random.below(ports.length)];
    await changeOnce(`http://127.0.0.1:${port}`).catch(() => undefined);
  }
}

async function changeOnce(url: string): Promise<void> {
  const transaction_id = `sale-${random.below(LICENSES)}`;
  const email = `${transaction_id}@example.com`;
  const { license_key } = keys.derive(keys.purchaseIds(transaction_id).license_id, 1);
  const activate = async () =>
    call(url, 'POST', '/v1/activate', activation({ license_key, email }, String(random.below(MACHINES))));
  if (random.chance(0.1))
    await report({ url }, { transaction_id, email, status: random.chance(0.01) ? 'refunded' : 'paid' });
  const { status, json } = await activate();
  if (status < 300 && random.chance(0.5)) {
    const path = `/support/api/activations/${String(json.activation.id)}/release`;
    await call(url, 'POST', path, { reason: 'a test' }, { authorization: `Bearer ${token}` });
  }
}

/** The events that the tables require, as `type id`. A refusal at the machine limit leaves no row except its event. */
const REQUIRED_EVENTS = `
  select 'license.issued ' || id as event from license
  union all select 'license.ended ' || id from license where ended_at is not null
  union all select 'activation.created ' || id from activation
  union all select 'activation.released ' || id from activation where ended_reason = 'released'
  union all select 'manifest.published ' || sequence from manifest`;
const typeAndId = ({ type, data }: EventReceiver['received'][number]) =>
  `${type} ${data['activation_id'] ?? data['license_id'] ?? data['sequence']}`;

/**
 * Waits until PostgreSQL has closed the connections of all instances. Before that it may still complete the transaction of a
 * killed one, and record an event.
 */
async function untilNothingChanges(): Promise<void> {
  const others = `select from pg_stat_activity where datname = current_database() and application_name like 'mooring%'`;
  await until(async () => (await pool.query(others)).rowCount === 0);
}

/** Starts an instance, and ends it when all waiting events are delivered. */
async function sendWaitingEvents(): Promise<void> {
  const instance = start(ports[0]!, receiver.settings);
  const waiting = 'select from outgoing_event where delivered_at is null limit 1';
  await until(async () => (await pool.query(waiting)).rowCount === 0);
  await end(instance);
}

test('no event is lost and the order of each license is kept, although instances are killed and the receiver fails half of the time', async () => {
  receiver.answering = () => (random.chance(0.5) ? 204 : 500);
  let reportedAt = performance.now();
  const progress = setInterval(() => {
    if (maxKills === TEST_KILLS || performance.now() - reportedAt < PROGRESS_INTERVAL_MS) return;
    reportedAt = performance.now();
    const line = `${kills} kills, ${receiver.received.length} attempts, ${receiver.accepted.length} events acknowledged`;
    process.stderr.write(`${new Date().toISOString()} ${line}\n`);
  }, 1_000);
  const clients = Array.from({ length: CLIENTS }, change);
  await Promise.all(ports.map(killAgainAndAgain)).finally(() => {
    killsEnded.abort();
    clearInterval(progress);
  });
  await Promise.all(clients);
  await end(steadyInstance);
  await untilNothingChanges();
  await sendWaitingEvents();
  await expectAllDelivered().catch((error: unknown) => {
    throw new Error(`MOORING_SEED=${seed}\n\n${(error as Error).message}`, { cause: error });
  });
});

async function expectAllDelivered(): Promise<void> {
  const { received, refused, accepted } = receiver;
  expect(refused).toEqual([]);
  const { rows: required } = await pool.query<{ event: string }>(REQUIRED_EVENTS);
  // Failed requests of the clients are ignored, so this shows that some succeeded.
  expect(required.length).toBeGreaterThan(0);
  const delivered = accepted.filter(({ type }) => type !== 'license.limit_reached').map(typeAndId);
  expect(delivered.toSorted()).toEqual(required.map(({ event }) => event).toSorted());
  const { rows: events } = await pool.query<{ license_id: string; ids: string[] }>(
    'select license_id, array_agg(id order by position) as ids from outgoing_event group by license_id',
  );
  const acceptedOf = Map.groupBy(accepted, ({ data }) => data['license_id'] ?? null);
  for (const { license_id, ids } of events)
    expect(acceptedOf.get(license_id)!.map(({ id }) => id)).toEqual(ids);
  expect(accepted).toHaveLength(events.flatMap(({ ids }) => ids).length);
  if (maxKills === TEST_KILLS) return;
  const repeated = received.filter(({ status }) => status === 204).length - accepted.length;
  const counts = {
    seed,
    kills,
    events: accepted.length,
    attempts: received.length,
    acknowledged_again: repeated,
    licenses: events.length,
  };
  process.stderr.write(`${JSON.stringify(counts)}\n`);
}
