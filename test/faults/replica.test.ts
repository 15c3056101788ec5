import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { checkReplica } from '../../src/cli/doctor/database-checks.js';
import { Report } from '../../src/cli/doctor/report.js';
import { Config } from '../../src/core/config.js';
import { ReleaseService } from '../../src/releases/release.service.js';
import { migrate } from '../../src/database/migrations.js';
import { REQUEST_TIMEOUTS_MS } from '../../src/database/request-timeouts.js';
import { HeartbeatService } from '../../src/heartbeat/heartbeat.service.js';
import { Replica } from '../../src/heartbeat/replica.js';
import { type Answer, AUDIT_CONTEXT, Service, withLimitsOfProduction } from '../support/harness.js';
import { LIMITS_OF_PRODUCTION } from '../support/limits.js';
import { loopTime } from '../support/loop-time.js';
import { FragilePostgres, Load } from '../support/databases/outage-harness.js';
import { publish } from '../manifest/publish.js';
import { query, StreamingReplica } from '../support/databases/replica-harness.js';

const WARNING =
  'The replica is unavailable or too far behind: the primary answers heartbeats, and the log says why.';
/**
 * Every request is answered within this time during any fault. It is measured by `loopTime`, which does not count time in which the
 * process did not run: service and test share a process.
 */
const ANSWER_LIMIT_MS = 2_000;
/** An allowance of 20 turns of the event loop between the service and the caller, of at most 10 ms each. */
const LOOP_ALLOWANCE_MS = 200;
/** The timeout of the replica in production. All other timeouts are long here, so that a slow computer causes no 503. */
const { replica: PRODUCTION_REPLICA_TIMEOUT_MS } = LIMITS_OF_PRODUCTION;

/** The grants of docs/operations/replicas.md for the role with which the service reads the replica. */
const GRANTS = readFileSync('docs/operations/replicas.md', 'utf8')
  .match(/grant .* to mooring_reader;/g)!
  .join('');

let primary: FragilePostgres;
let replica: StreamingReplica;
let service: Service;
let load: Load | undefined;
let machines = 0;

const { replica: testReplicaTimeoutMs } = REQUEST_TIMEOUTS_MS;
beforeAll(async () => {
  REQUEST_TIMEOUTS_MS.replica = PRODUCTION_REPLICA_TIMEOUT_MS;
  primary = await FragilePostgres.start();
  await query(primary.url, "create role mooring_reader login password 'a password'");
  await prepareDatabase(primary.url);
  replica = await StreamingReplica.of(primary);
  service = await startService();
});
beforeEach(async () => {
  await replica.waitUntilCaughtUp();
  await waitForWarnings(service, []);
});
afterEach(async () => {
  primary.thaw();
  replica.thaw();
  await load?.stop().catch(() => undefined);
  await replica.resumeReplay();
});
afterAll(() => {
  REQUEST_TIMEOUTS_MS.replica = testReplicaTimeoutMs;
  primary?.thaw();
  replica?.thaw();
});

/** Prepares the database as docs/operations/install.md and docs/operations/replicas.md say. */
async function prepareDatabase(url: string): Promise<void> {
  await migrate(url);
  const name = new URL(url).pathname.slice(1);
  await query(url, `revoke all on database "${name}" from public`);
  await query(url, GRANTS.replace('database mooring', `database "${name}"`));
}

/** Returns the URL of a server with the role of the reader. */
const readerUrl = (url: string) =>
  Object.assign(new URL(url), { username: 'mooring_reader', password: 'a password' }).href;

const startService = (databaseUrl = primary.url, replicaUrl = replica.url) =>
  Service.start({ databaseUrl, environment: { DATABASE_READ_URL: readerUrl(replicaUrl) } });

/** Creates a license with an activation. The replica may not have them before `waitUntilCaughtUp`. */
async function createActivation() {
  const license = await service.issue();
  const { json } = await service.activate(license, `machine ${(machines += 1)}`);
  return { license_id: license.license_id, id: json.activation.id as string, token: json.token as string };
}

async function createReleasedActivation() {
  const activation = await createActivation();
  await service.app.get(ReleaseService).release(activation.id, AUDIT_CONTEXT);
  return activation;
}

/** Repeats a heartbeat until it has this status. */
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

async function waitForWarnings(instance: Service, warnings: string[]): Promise<void> {
  const wanted = JSON.stringify(warnings);
  while (JSON.stringify((await instance.call('GET', '/health/ready')).json.warnings) !== wanted)
    await pause(20);
}

describe.each([
  ['frozen', async () => primary.freeze(), async () => primary.thaw()],
  ['stopped', () => primary.stop(), () => primary.restart()],
])('while the primary is %s', (_what, fail, recover) => {
  test('the replica confirms heartbeats, and a client that would be refused is asked to retry', async () => {
    const [active, released] = [await createActivation(), await createReleasedActivation()];
    await replica.waitUntilCaughtUp();
    await fail();
    const { answersBySource } = service.app.get(HeartbeatService);
    const before = { ...answersBySource };
    await withLimitsOfProduction(service, async () => {
      const { json } = await heartbeatUntil(200, active);
      expect(answersBySource).toEqual({ ...before, replica: before.replica + 1 });
      expect(json.license).toEqual({ status: 'active', expires_at: null });
      const answer = await service.heartbeat(released.token);
      expect([answer.status, answer.json.client_action]).toEqual([503, 'retry']);
    });
    await recover();
    expect((await heartbeatUntil(403, released)).json.code).toBe('binding_released');
  });
});

describe('a replica that is behind', () => {
  test('causes no failure of a heartbeat whose activation the replica does not have yet', async () => {
    await replica.pauseReplay();
    const activation = await createActivation();
    expect(await replica.sql('select from activation where id = $1', [activation.id])).toEqual([]);
    expect((await service.heartbeat(activation.token)).status).toBe(200);
  });

  test('causes no refusal of a license that the primary allows again', async () => {
    const activation = await createActivation();
    await service.setLicense(activation.license_id, { staff_status: 'suspended' });
    await replica.waitUntilCaughtUp();
    await replica.pauseReplay();
    await service.setLicense(activation.license_id, { staff_status: 'active' });
    const selectStatus = 'select staff_status from license where id = $1';
    expect(await replica.sql(selectStatus, [activation.license_id])).toEqual([{ staff_status: 'suspended' }]);
    for (let beat = 0; beat < 10; beat += 1)
      expect((await service.heartbeat(activation.token)).status).toBe(200);
  });

  test('is used for at most a minute, and then not until it has caught up', async () => {
    const activation = await createActivation();
    await replica.waitUntilCaughtUp();
    await replica.pauseReplay();
    await service.app.get(ReleaseService).release(activation.id, AUDIT_CONTEXT);
    // The primary would have refused this heartbeat.
    await heartbeatUntil(200, activation);
    service.clock.advance(60_001);
    // The last check of the replica is now older than ten seconds, so it is not used: the primary refuses the next heartbeat.
    expect((await service.heartbeat(activation.token)).status).toBe(403);
    await waitForWarnings(service, [WARNING]);
    for (let beat = 0; beat < 10; beat += 1)
      expect((await service.heartbeat(activation.token)).status).toBe(403);
    await replica.resumeReplay();
    await waitForWarnings(service, []);
  });

  test('is not used while its schema is older', async () => {
    const name = 'another';
    await service.sql(`create database ${name}`);
    await replica.waitUntilCaughtUp();
    await replica.pauseReplay();
    const [url, readUrl] = [primary.url, replica.url].map((each) => each.replace(/mooring$/, name));
    await prepareDatabase(url!);
    const other = await startService(url, readUrl);
    try {
      const { json } = await other.activate(await other.issue());
      expect((await other.heartbeat(json.token)).status).toBe(200);
      await waitForWarnings(other, [WARNING]);
      // The check of the replica fails, because it executes the statement of heartbeats, which needs the newer schema.
      const wasReplicaUsed = () =>
        other.logged.some((line) => line.includes('replica available, heartbeats use the replica'));
      expect(wasReplicaUsed()).toBe(false);
      await replica.resumeReplay();
      await waitForWarnings(other, []);
      expect(wasReplicaUsed()).toBe(true);
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
  test('makes no heartbeat fail, and is used again when it is available again', async () => {
    const activation = await createActivation();
    await replica.waitUntilCaughtUp();
    const sendHeartbeat = () => timedHeartbeat(activation);
    load = new Load([sendHeartbeat, sendHeartbeat, sendHeartbeat, sendHeartbeat]);
    // The service notices a fault of the replica, and its end, after seconds.
    load.pauseMs = 50;
    await load.waitFor(50, () => true);
    await fail();
    await load.waitFor(50, () => true);
    await waitForWarnings(service, [WARNING]);
    await load.waitFor(50, () => true);
    await recover();
    await waitForWarnings(service, []);
    await load.waitFor(50, () => true);
    const answers = await load.stop();
    expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
    expect(answers.filter(({ milliseconds }) => milliseconds > ANSWER_LIMIT_MS + LOOP_ALLOWANCE_MS)).toEqual(
      [],
    );
    primary.freeze();
    await withLimitsOfProduction(service, () => heartbeatUntil(200, activation));
  });
});

test('a replica changes no refusal (suspended, expired, version not covered), and a later permission of the primary counts', async () => {
  const past = new Date('2026-11-01T00:00:00Z');
  const far = new Date('2099-01-01T00:00:00Z');
  const [suspended, expired, lapsed] = [
    await createActivation(),
    await createActivation(),
    await createActivation(),
  ];
  await service.setLicense(suspended.license_id, { staff_status: 'suspended' });
  await service.setLicense(expired.license_id, { expires_at: past, on_expiry: 'stop' });
  await service.setLicense(lapsed.license_id, { expires_at: past });
  await publish(service, '3.2', '2027-01-01T00:00:00Z');
  // Version 3.1 was never published, so with it only the state of the license can cause a refusal.
  const sendHeartbeat = (code: string, { token }: { token: string }) =>
    service.heartbeat(token, { app_version: code === 'version_not_covered' ? '3.2' : '3.1' });
  const refusals = { license_suspended: suspended, license_expired: expired, version_not_covered: lapsed };
  await replica.waitUntilCaughtUp();
  for (const [code, activation] of Object.entries(refusals)) {
    const { status, json } = await sendHeartbeat(code, activation);
    expect([status, json.code]).toEqual([403, code]);
  }
  await replica.pauseReplay();
  await service.setLicense(suspended.license_id, { staff_status: 'active' });
  for (const { license_id } of [expired, lapsed]) await service.setLicense(license_id, { expires_at: far });
  for (const [code, activation] of Object.entries(refusals)) {
    expect([code, (await sendHeartbeat(code, activation)).status]).toEqual([code, 200]);
  }
});

test('a heartbeat that waits for a failing replica is delayed by less than half a second', async () => {
  const activation = await createActivation();
  await replica.waitUntilCaughtUp();
  const delays: number[] = [];
  // The shortest of three delays counts. A delay is the difference from a heartbeat that uses the primary at once. If the
  // timeout of the replica (100 ms) did not end the wait, `silence` would in production after 900 ms. The limit is between them.
  while (delays.length < 3) {
    await waitForWarnings(service, []);
    replica.freeze();
    const { status, milliseconds } = await timedHeartbeat(activation);
    const control = await timedHeartbeat(activation);
    replica.thaw();
    expect([status, control.status]).toEqual([200, 200]);
    delays.push(milliseconds - control.milliseconds);
  }
  expect(Math.min(...delays)).toBeLessThan(500);
});

test('a read of the replica returns no row when too many requests wait, so that the primary is used', async () => {
  const { id } = await createActivation();
  await replica.waitUntilCaughtUp();
  // At most 5,000 requests wait for the replica (`Batch`). The next one gets no row.
  const lookups = Array.from({ length: 5_001 }, () => service.app.get(Replica).find(id));
  expect(lookups.filter((lookup) => lookup === undefined)).toEqual([]);
  expect((await Promise.all(lookups)).at(-1)).toBeUndefined();
});

test('while the primary and the replica hang, the client is asked to retry within 2 seconds', async () => {
  const activation = await createActivation();
  primary.freeze();
  replica.freeze();
  const answers = await withLimitsOfProduction(service, () =>
    Promise.all(Array.from({ length: 4 }, () => timedHeartbeat(activation))),
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

test('mooring doctor reports that the role of the reader lacks a right', async () => {
  const check = async () => {
    await replica.waitUntilCaughtUp();
    const [DATABASE_URL, DATABASE_READ_URL] = [primary.url, readerUrl(replica.url)];
    const report = new Report();
    await checkReplica(new Config({ NODE_ENV: 'development', DATABASE_URL, DATABASE_READ_URL }), report);
    return report.findings;
  };
  expect(await check()).toEqual([expect.objectContaining({ status: 'ok', check: 'replica' })]);
  await query(primary.url, 'revoke select (id, state) on purchase from mooring_reader');
  expect(await check()).toEqual([
    {
      status: 'fail',
      check: 'replica',
      text: expect.stringMatching(
        /^The role mooring_reader lacks a right in the database \w+ at .*: grant it on the primary, or correct DATABASE_READ_URL \(docs\/operations\/replicas\.md#setup\)\.$/,
      ),
    },
  ]);
  await query(primary.url, 'grant select (id, state) on purchase to mooring_reader');
});

test('a service that closes ends its connections to the replica', async () => {
  await service.close();
  const open = "select count(*)::int as open from pg_stat_activity where application_name = 'mooring'";
  while ((await replica.sql<{ open: number }>(open))[0]!.open > 0) await pause(20);
  service = await startService();
});

// This test must be the last one, because a promotion cannot be undone.
test('a replica that was promoted to a primary is no longer used', async () => {
  const activation = await createActivation();
  await replica.waitUntilCaughtUp();
  await replica.sql('select pg_promote()');
  await waitForWarnings(service, [WARNING]);
  await service.app.get(ReleaseService).release(activation.id, AUDIT_CONTEXT);
  for (let beat = 0; beat < 10; beat += 1)
    expect((await service.heartbeat(activation.token)).status).toBe(403);
});
