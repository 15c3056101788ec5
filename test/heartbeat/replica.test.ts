import { afterAll, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import pg from 'pg';
import { DataSource } from 'typeorm';
import { ReleaseService } from '../../src/releases/release.service.js';
import { Config } from '../../src/core/config.js';
import { poolOf } from '../../src/database/data-source.js';
import { HeartbeatService } from '../../src/heartbeat/heartbeat.service.js';
import { Replica } from '../../src/heartbeat/replica.js';
import type { AppLogger } from '../../src/core/logger.js';
import { AUDIT_CONTEXT, createDatabase, NOW, Service, type TestDatabase } from '../support/harness.js';
import { withLimits } from '../support/limits.js';
import { ONLY_INTERVALS } from '../support/only-intervals.js';
import { publish } from '../manifest/publish.js';

// These tests check which database answers a heartbeat. A schema with copied tables takes the place of the replica, because
// it is faster than a real one, which test/faults/replica.test.ts uses.

const CHECK_INTERVAL_MS = 2_000;
/** The highest WAL position, as an SQL expression: the replica has replayed everything. */
const ALL_REPLAYED = "'FFFFFFFF/FFFFFFFF'";
/** The messages that the service logs when it stops using the replica, and when it uses it again. */
const BEHIND = 'replica unavailable or behind, heartbeats use the primary';
const AVAILABLE = 'replica available, heartbeats use the replica';

let database: TestDatabase;
let service: Service;
let replica: Replica;
let copy: pg.Pool;
/** The queries of the replica, as lists of activation ids. A check has an empty list. */
let queried: string[][] = [];
/** Executes a statement for the replica. A test may replace it. */
let queryReplica: (statement: pg.QueryConfig<[string[], string]>) => Promise<unknown>;

beforeAll(async () => {
  // The interval of the checks is controlled by the tests.
  jest.useFakeTimers(ONLY_INTERVALS);
  database = await createDatabase();
  service = await Service.start({
    databaseUrl: database.url,
    environment: { DATABASE_READ_URL: database.url },
  });
  replica = service.app.get(Replica);
  copy = new pg.Pool({ connectionString: database.url, options: '-c search_path=copy,public,pg_catalog' });
  Object.assign(replica.pool!, {
    query: (statement: pg.QueryConfig<[string[], string]>) => {
      queried.push(statement.values![0]);
      return queryReplica(statement);
    },
  });
});
beforeEach(async () => {
  service.clock.set(NOW);
  queryReplica = (statement) => copy.query(statement);
  await copyToReplica();
  await check();
  queried = [];
});
afterAll(() => copy?.end());

const check = () => replica['check']();

/**
 * Copies the tables of the primary to the replica, which has then replayed the WAL to this position.
 * @param position an SQL expression; by default everything is replayed
 */
async function copyToReplica(position?: string): Promise<void> {
  await service.sql(
    `drop schema if exists copy cascade; create schema copy;
     create table copy.activation as table activation; create table copy.license as table license;
     create table copy.purchase as table purchase`,
  );
  await setReplayPosition(position);
}

const setReplayPosition = (position = ALL_REPLAYED) =>
  service.sql(
    `create or replace function copy.pg_last_wal_replay_lsn() returns pg_lsn language sql
     as $$ select ${position}::pg_lsn $$`,
  );

/** Sends a heartbeat. @returns its status or code, and the database that answered it */
async function sendHeartbeat(
  { token }: { token: string },
  app_version = '3.2.0',
): Promise<[unknown, string]> {
  const { answersBySource } = service.app.get(HeartbeatService);
  const before = { ...answersBySource };
  const { status, json } = await service.heartbeat(token, { app_version });
  const sources = Object.entries(answersBySource).filter(
    ([name, count]) => count > before[name as keyof typeof before],
  );
  return [json.code ?? status, sources.map(([name]) => name).join(' and ')];
}

const countLogged = (message: string) => service.logged.filter((line) => line.includes(message)).length;

test('a confirmation by the replica is used, also if the license has changed in the primary', async () => {
  const expires_at = new Date('2027-05-01T00:00:00Z');
  const license = await service.issueActivated({ expires_at });
  await copyToReplica();
  expect(replica.isDegraded).toBe(false);
  await service.setLicense(license.license_id, { staff_status: 'suspended', expires_at: null });
  expect(await sendHeartbeat(license)).toEqual([200, 'replica']);
  expect((await service.heartbeat(license.token)).json.license).toEqual({
    status: 'active',
    expires_at: '2027-05-01T00:00:00Z',
  });
  expect(queried).toEqual([[license.activation_id], [license.activation_id]]);
});

test('concurrent reads share one query, and each gets the row of its activation', async () => {
  const licenses = [
    await service.issueActivated(),
    await service.issueActivated(),
    await service.issueActivated(),
  ];
  await copyToReplica();
  const ids = licenses.map(({ activation_id }) => activation_id);
  const found = await Promise.all(
    [...ids, '0198f3c2-7b1a-7c3d-9e4f-a1b2c3d4e5f6'].map((id) => replica.find(id)),
  );
  expect(found.map((row) => row?.activation_id)).toEqual([...ids, undefined]);
  expect(queried).toHaveLength(1);
});

describe('if the replica would refuse a heartbeat, the primary answers it:', () => {
  const past = new Date('2026-11-01T00:00:00Z');
  beforeAll(() => publish(service, '4.0', '2027-01-01T00:00:00Z'));

  test.each<[string, Parameters<Service['setLicense']>[1], Parameters<Service['setLicense']>[1]]>([
    ['a suspension', { staff_status: 'suspended' }, { staff_status: 'active' }],
    ['an expiry', { expires_at: past, on_expiry: 'stop' }, { expires_at: null }],
    ['a version that is not covered', { expires_at: past }, { expires_at: null }],
  ])('%s', async (_what, causeRefusal, removeCause) => {
    const license = await service.issueActivated();
    await service.setLicense(license.license_id, causeRefusal);
    await copyToReplica();
    expect((await sendHeartbeat(license, '4.0'))[1]).toBe('primary');
    await service.setLicense(license.license_id, removeCause);
    expect(await sendHeartbeat(license, '4.0')).toEqual([200, 'primary']);
    expect(queried).toEqual([[license.activation_id], [license.activation_id]]);
  });

  test('a release', async () => {
    const license = await service.issueActivated();
    await service.app.get(ReleaseService).release(license.activation_id, AUDIT_CONTEXT);
    await copyToReplica();
    expect(await sendHeartbeat(license)).toEqual(['binding_released', 'primary']);
  });

  test('an activation that the replica does not have yet', async () => {
    expect(await sendHeartbeat(await service.issueActivated())).toEqual([200, 'primary']);
    expect(replica.isDegraded).toBe(false);
  });
});

test.each([
  ['a replica that is behind', "'0/0'"],
  ['a server that is no replica', 'null'],
])(
  '%s is queried by one heartbeat, and by no other until a check finds an available replica',
  async (_what, position) => {
    const license = await service.issueActivated();
    await copyToReplica(position);
    const before = [countLogged(BEHIND), countLogged(AVAILABLE)] as const;
    expect(await sendHeartbeat(license)).toEqual([200, 'primary']);
    expect([replica.isDegraded, countLogged(BEHIND)]).toEqual([true, before[0] + 1]);
    queried = [];
    expect(await sendHeartbeat(license)).toEqual([200, 'primary']);
    expect(queried).toEqual([]);
    await check();
    expect([replica.isDegraded, countLogged(BEHIND), queried]).toEqual([true, before[0] + 1, [[]]]);
    await setReplayPosition();
    expect(await sendHeartbeat(license)).toEqual([200, 'primary']);
    const primary = jest.spyOn(poolOf(service.app.get(DataSource)), 'query');
    jest.advanceTimersByTime(CHECK_INTERVAL_MS);
    expect(JSON.stringify(primary.mock.calls)).toContain('pg_current_wal_flush_lsn');
    primary.mockRestore();
    while (replica.isDegraded) await new Promise((resolve) => setImmediate(resolve));
    expect([countLogged(BEHIND), countLogged(AVAILABLE)]).toEqual([before[0] + 1, before[1] + 1]);
    expect(await sendHeartbeat(license)).toEqual([200, 'replica']);
  },
);

test('if the replica fails or does not answer in time, the primary answers', async () => {
  const license = await service.issueActivated();
  await copyToReplica();
  queryReplica = () => Promise.reject(new Error('the replica is unavailable'));
  expect(await sendHeartbeat(license)).toEqual([200, 'primary']);
  expect(replica.isDegraded).toBe(true);
  queryReplica = (statement) => copy.query(statement);
  await check();
  expect(replica.isDegraded).toBe(false);
  queryReplica = () => new Promise(() => undefined);
  expect(await withLimits({ replica: 50 }, () => sendHeartbeat(license))).toEqual([200, 'primary']);
  expect(replica.isDegraded).toBe(true);
});

test('the replica is not used if the last check was more than 10 seconds ago, or more than 10 seconds in the future', async () => {
  const license = await service.issueActivated();
  await copyToReplica();
  const sourceAfter = async (milliseconds: number) => {
    service.clock.set(new Date(Date.parse(NOW) + milliseconds));
    return (await sendHeartbeat(license))[1];
  };
  expect([await sourceAfter(10_000), await sourceAfter(10_001), await sourceAfter(-10_001)]).toEqual([
    'replica',
    'primary',
    'primary',
  ]);
  expect(replica.isDegraded).toBe(false);
  service.clock.set(new Date(Date.parse(NOW) + 10_001));
  await check();
  expect(await sourceAfter(20_001)).toBe('replica');
});

test('the replica is used if it is at most a minute behind the primary', async () => {
  const license = await service.issueActivated();
  await copyToReplica('pg_current_wal_flush_lsn()');
  service.clock.set('2026-11-20T14:00:00Z');
  await check();
  expect(await sendHeartbeat(license)).toEqual([200, 'replica']);
  const [{ position }] = (await service.sql('select pg_current_wal_flush_lsn()::text as position')) as [
    { position: string },
  ];
  await setReplayPosition(`'${position}'`);
  await service.issueActivated();
  service.clock.advance(60_000);
  await check();
  expect(await sendHeartbeat(license)).toEqual([200, 'replica']);
  service.clock.advance(1);
  expect(await sendHeartbeat(license)).toEqual([200, 'primary']);
});

test('two checks never run concurrently', async () => {
  const reply = Promise.withResolvers<void>();
  queryReplica = async (statement) => (await reply.promise, copy.query(statement));
  const first = check();
  while (queried.length === 0) await new Promise((resolve) => setImmediate(resolve));
  await check();
  reply.resolve();
  await first;
  expect(queried).toEqual([[]]);
  await check();
  expect(queried).toEqual([[], []]);
});

test('if the primary was unavailable for more than a day, the replica is not queried', async () => {
  const primary = poolOf(service.app.get(DataSource));
  const unavailable = jest.spyOn(primary, 'query').mockImplementation(() => {
    throw new Error('the primary is unavailable');
  });
  try {
    service.clock.advance(86_400_000);
    await check();
    expect([replica.isDegraded, queried]).toEqual([false, [[]]]);
    service.clock.advance(1);
    await check();
    expect([replica.isDegraded, queried]).toEqual([true, [[]]]);
  } finally {
    unavailable.mockRestore();
  }
});

test('without DATABASE_READ_URL there is no replica to query, check or close', async () => {
  const config = new Config({});
  const unconfigured = new Replica({} as DataSource, config, service.clock, {} as AppLogger);
  await unconfigured.onApplicationBootstrap();
  expect([unconfigured.pool, unconfigured.isDegraded, unconfigured.find('x')]).toEqual([
    undefined,
    false,
    undefined,
  ]);
  await expect(unconfigured.onApplicationShutdown()).resolves.toBeUndefined();
});
