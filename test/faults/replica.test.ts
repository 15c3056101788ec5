import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { ReleaseService } from '../../src/releases/release.service.js';
import { migrate } from '../../src/database/migrations.js';
import { REQUEST_TIMEOUTS_MS } from '../../src/database/request-timeouts.js';
import { HeartbeatService } from '../../src/heartbeat/heartbeat.service.js';
import { Replica } from '../../src/heartbeat/replica.js';
import { Service, withLimitsOfProduction, type Answer } from '../support/harness.js';
import { LIMITS_OF_PRODUCTION } from '../support/limits.js';
import { loopTime } from '../support/loop-time.js';
import { FragilePostgres, Load } from '../support/databases/outage-harness.js';
import { publish } from '../manifest/publish.js';
import { query, StreamingReplica } from '../support/databases/replica-harness.js';

const ACT = { actor: 'test', reason: 'a test' };
const WARNING =
  'The replica is unavailable or too far behind: the primary answers heartbeats, and the log says why.';
/** Every request is answered within this time during any fault. In event-loop time, because service and test share a process. */
const ANSWER_LIMIT_MS = 2_000;
/** An allowance of 20 turns of that loop between the service and the caller, of at most 10 ms each. */
const LOOP_ALLOWANCE_MS = 200;
/** The replica's timeout of production. All other timeouts are long here, so that a slow machine causes no 503. */
const { replica: REPLICA_MS } = LIMITS_OF_PRODUCTION;

/** What docs/operations/replicas.md lets the role of the replica read. */
const GRANTS = readFileSync('docs/operations/replicas.md', 'utf8')
  .match(/grant select .* to mooring_reader;/g)!
  .join('');

let primary: FragilePostgres;
let replica: StreamingReplica;
let service: Service;
let load: Load | undefined;
let machines = 0;

const { replica: generousMs } = REQUEST_TIMEOUTS_MS;
beforeAll(async () => {
  REQUEST_TIMEOUTS_MS.replica = REPLICA_MS;
  primary = await FragilePostgres.start();
  await query(primary.url, "create role mooring_reader login password 'a password'");
  await makeDatabase(primary.url);
  replica = await StreamingReplica.of(primary);
  service = await startService();
});
beforeEach(async () => {
  await replica.caughtUp();
  await waitForWarnings(service, []);
});
afterEach(async () => {
  primary.thaw();
  replica.thaw();
  await load?.stop().catch(() => undefined);
  await replica.resumeReplay();
});
afterAll(async () => {
  REQUEST_TIMEOUTS_MS.replica = generousMs;
  primary?.thaw();
  replica?.thaw();
  // Even if something fails here, every server is ended.
  await service?.close().finally(() => replica?.end().finally(() => primary?.end()));
});

async function makeDatabase(url: string): Promise<void> {
  await migrate(url);
  await query(url, GRANTS);
}

const startService = async (databaseUrl = primary.url, replicaUrl = replica.url) => {
  const url = new URL(replicaUrl);
  Object.assign(url, { username: 'mooring_reader', password: 'a password' });
  return Service.start({ databaseUrl, environment: { DATABASE_READ_URL: url.href } });
};

/** Creates a license with an activation. The replica may not have it before `caughtUp`. */
async function activated() {
  const license = await service.issue();
  const { json } = await service.activate(license, `machine ${(machines += 1)}`);
  return { license_id: license.license_id, id: json.activation.id as string, token: json.token as string };
}

async function released() {
  const binding = await activated();
  await service.app.get(ReleaseService).release(binding.id, ACT);
  return binding;
}

/** Repeats a heartbeat until it has this result. */
async function heartbeatUntil(status: number, { token }: { token: string }): Promise<Answer> {
  for (;;) {
    const answer = await service.heartbeat(token);
    if (answer.status === status) return answer;
    await pause(20);
  }
}

async function timedHeartbeat({ token }: { token: string }) {
  const began = loopTime();
  const answer = await service.heartbeat(token);
  return { ...answer, name: 'heartbeat', milliseconds: loopTime() - began };
}

async function waitForWarnings(of: Service, warnings: string[]): Promise<void> {
  const wanted = JSON.stringify(warnings);
  while (JSON.stringify((await of.call('GET', '/health/ready')).json.warnings) !== wanted) await pause(20);
}

describe.each([
  ['frozen', async () => primary.freeze(), async () => primary.thaw()],
  ['stopped', () => primary.stop(), () => primary.restart()],
])('while the primary is %s', (_what, fail, recover) => {
  test('the replica confirms heartbeats; instead of a refusal the client is asked to retry', async () => {
    const [yes, no] = [await activated(), await released()];
    await replica.caughtUp();
    await fail();
    const { answersBySource: answered } = service.app.get(HeartbeatService);
    const before = { ...answered };
    await withLimitsOfProduction(service, async () => {
      const { json } = await heartbeatUntil(200, yes);
      expect(answered).toEqual({ ...before, replica: before.replica + 1 });
      expect(json.license).toEqual({ status: 'active', expires_at: null });
      const answer = await service.heartbeat(no.token);
      expect([answer.status, answer.json.client_action]).toEqual([503, 'retry']);
    });
    await recover();
    expect((await heartbeatUntil(403, no)).json.code).toBe('binding_released');
  });
});

describe('a replica that is behind', () => {
  test('does not get the first heartbeat of an activation that it does not have yet, and the heartbeat succeeds', async () => {
    await replica.pauseReplay();
    const binding = await activated();
    expect(await replica.sql('select from activation where id = $1', [binding.id])).toEqual([]);
    expect((await service.heartbeat(binding.token)).status).toBe(200);
  });

  test('never refuses a license that the primary allows again', async () => {
    const binding = await activated();
    await service.setLicense(binding.license_id, { staff_status: 'suspended' });
    await replica.caughtUp();
    await replica.pauseReplay();
    await service.setLicense(binding.license_id, { staff_status: 'active' });
    const stale = 'select staff_status from license where id = $1';
    expect(await replica.sql(stale, [binding.license_id])).toEqual([{ staff_status: 'suspended' }]);
    for (let beat = 0; beat < 10; beat += 1)
      expect((await service.heartbeat(binding.token)).status).toBe(200);
  });

  test('is used for a minute, and then not until it has caught up', async () => {
    const binding = await activated();
    await replica.caughtUp();
    await replica.pauseReplay();
    await service.app.get(ReleaseService).release(binding.id, ACT);
    // The primary would have refused this heartbeat.
    await heartbeatUntil(200, binding);
    service.clock.advance(60_001);
    // The heartbeat is refused at once, without a new check: the last check of the replica is a minute old, as after a stall.
    expect((await service.heartbeat(binding.token)).status).toBe(403);
    await waitForWarnings(service, [WARNING]);
    for (let beat = 0; beat < 10; beat += 1)
      expect((await service.heartbeat(binding.token)).status).toBe(403);
    await replica.resumeReplay();
    await waitForWarnings(service, []);
  });

  test('with an older schema is not used', async () => {
    const name = 'another';
    await service.sql(`create database ${name}`);
    await replica.caughtUp();
    await replica.pauseReplay();
    const [url, readUrl] = [primary.url, replica.url].map((each) => each.replace(/mooring$/, name));
    await makeDatabase(url!);
    const other = await startService(url, readUrl);
    try {
      const { json } = await other.activate(await other.issue());
      expect((await other.heartbeat(json.token)).status).toBe(200);
      await waitForWarnings(other, [WARNING]);
      // The health check never succeeded either: it runs the statement of heartbeats.
      const well = () =>
        other.logged.some((line) => line.includes('replica available, heartbeats use the replica'));
      expect(well()).toBe(false);
      await replica.resumeReplay();
      await waitForWarnings(other, []);
      expect(well()).toBe(true);
      expect((await other.heartbeat(json.token)).status).toBe(200);
    } finally {
      await other.close();
    }
  });
});

describe.each([
  ['killed', () => replica.kill(), () => replica.start()],
  ['frozen', async () => replica.freeze(), async () => replica.thaw()],
])('a replica that is %s', (_what, fail, recover) => {
  test('makes no heartbeat fail, and is used again when it is available', async () => {
    const binding = await activated();
    await replica.caughtUp();
    const beat = () => timedHeartbeat(binding);
    load = new Load([beat, beat, beat, beat]);
    await load.more(50, () => true);
    await fail();
    await load.more(50, () => true);
    await waitForWarnings(service, [WARNING]);
    await load.more(50, () => true);
    await recover();
    await waitForWarnings(service, []);
    await load.more(50, () => true);
    const answers = await load.stop();
    expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
    expect(answers.filter(({ milliseconds }) => milliseconds > ANSWER_LIMIT_MS + LOOP_ALLOWANCE_MS)).toEqual(
      [],
    );
    primary.freeze();
    await withLimitsOfProduction(service, () => heartbeatUntil(200, binding));
  });
});

test('every kind of refusal occurs with a replica too, and ends when the primary allows the license', async () => {
  const past = new Date('2026-11-01T00:00:00Z');
  const far = new Date('2099-01-01T00:00:00Z');
  const [suspended, expired, lapsed] = [await activated(), await activated(), await activated()];
  await service.setLicense(suspended.license_id, { staff_status: 'suspended' });
  await service.setLicense(expired.license_id, { expires_at: past, on_expiry: 'stop' });
  await service.setLicense(lapsed.license_id, { expires_at: past });
  await publish(service, '3.2', '2027-01-01T00:00:00Z');
  // A version that was never published, so that only the state of the license refuses a heartbeat.
  const beat = (code: string, { token }: { token: string }) =>
    service.heartbeat(token, { app_version: code === 'version_not_covered' ? '3.2' : '3.1' });
  const refusals = { license_suspended: suspended, license_expired: expired, version_not_covered: lapsed };
  await replica.caughtUp();
  for (const [code, binding] of Object.entries(refusals)) {
    const { status, json } = await beat(code, binding);
    expect([status, json.code]).toEqual([403, code]);
  }
  await replica.pauseReplay();
  await service.setLicense(suspended.license_id, { staff_status: 'active' });
  for (const { license_id } of [expired, lapsed]) await service.setLicense(license_id, { expires_at: far });
  for (const [code, binding] of Object.entries(refusals)) {
    expect([code, (await beat(code, binding)).status]).toEqual([code, 200]);
  }
});

test('a heartbeat that waits for a failing replica is delayed by less than half a second', async () => {
  const binding = await activated();
  await replica.caughtUp();
  const waits: number[] = [];
  // The shortest of three delays, compared with a heartbeat from the primary. Without the replica's timeout each is over 800 ms.
  while (waits.length < 3) {
    await waitForWarnings(service, []);
    replica.freeze();
    const { status, milliseconds } = await timedHeartbeat(binding);
    const control = await timedHeartbeat(binding);
    replica.thaw();
    expect([status, control.status]).toEqual([200, 200]);
    waits.push(milliseconds - control.milliseconds);
  }
  expect(Math.min(...waits)).toBeLessThan(500);
});

test('the primary is used when too many requests wait for the replica', async () => {
  const { id } = await activated();
  await replica.caughtUp();
  const asked = Array.from({ length: 5_001 }, () => service.app.get(Replica).find(id));
  expect(asked.filter((answer) => answer === undefined)).toEqual([]);
  expect((await Promise.all(asked)).at(-1)).toBeUndefined();
});

test('while both hang the client is asked to retry, within 2 seconds', async () => {
  const binding = await activated();
  primary.freeze();
  replica.freeze();
  const answers = await withLimitsOfProduction(service, () =>
    Promise.all(Array.from({ length: 4 }, () => timedHeartbeat(binding))),
  );
  expect(answers.map(({ status }) => status)).toEqual([503, 503, 503, 503]);
  expect(answers.filter(({ milliseconds }) => milliseconds > ANSWER_LIMIT_MS + LOOP_ALLOWANCE_MS)).toEqual(
    [],
  );
});

test('a DATABASE_READ_URL that leads to the primary is not used as a replica', async () => {
  const alone = await startService(primary.url, primary.url);
  try {
    await waitForWarnings(alone, [WARNING]);
    const { json } = await alone.activate(await alone.issue());
    expect((await alone.heartbeat(json.token)).status).toBe(200);
  } finally {
    await alone.close();
  }
});

test('a service that closes ends its connections to the replica', async () => {
  await service.close();
  const open = "select count(*)::int as open from pg_stat_activity where application_name = 'mooring'";
  while ((await replica.sql<{ open: number }>(open))[0]!.open > 0) await pause(20);
  service = await startService();
});

// This test is the last one, because a promotion cannot be undone.
test('a replica that was promoted to a primary is no longer used', async () => {
  const binding = await activated();
  await replica.caughtUp();
  await replica.sql('select pg_promote()');
  await waitForWarnings(service, [WARNING]);
  await service.app.get(ReleaseService).release(binding.id, ACT);
  for (let beat = 0; beat < 10; beat += 1) expect((await service.heartbeat(binding.token)).status).toBe(403);
});
