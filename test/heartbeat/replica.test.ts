import { afterAll, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import pg from 'pg';
import { DataSource } from 'typeorm';
import { ReleaseService } from '../../src/releases/release.service.js';
import { Config } from '../../src/core/config.js';
import { poolOf } from '../../src/database/data-source.js';
import { HeartbeatService } from '../../src/heartbeat/heartbeat.service.js';
import { Replica } from '../../src/heartbeat/replica.js';
import type { AppLogger } from '../../src/core/logger.js';
import { createDatabase, Service } from '../support/harness.js';
import { withLimits } from '../support/limits.js';
import { publish } from '../manifest/publish.js';

// Which server answers a heartbeat, with the statement that replicas are asked. A schema of copied tables takes the place
// of the replica: replica.test.ts has a real one, which takes minutes.

const ACT = { actor: 'test', reason: 'a test' };
const NOW = '2026-11-20T13:00:00Z';
const LOOK_MS = 2_000;
const ALL_REPLAYED = "'FFFFFFFF/FFFFFFFF'";
const BEHIND = 'replica unavailable or behind, heartbeats use the primary';
const WELL = 'replica available, heartbeats use the replica';

// prettier-ignore
const ALL_BUT_INTERVALS = [
  'Date', 'hrtime', 'nextTick', 'performance', 'queueMicrotask', 'setImmediate', 'clearImmediate', 'setTimeout',
  'clearTimeout',
] as const;

let database: Awaited<ReturnType<typeof createDatabase>>;
let service: Service;
let replica: Replica;
let copy: pg.Pool;
/** What the replica was asked, by activation ids; a look asks for none. */
let asked: string[][] = [];
let answer: (statement: pg.QueryConfig<[string[], string]>) => Promise<unknown>;
let machines = 0;

beforeAll(async () => {
  // Looks happen when a test says so.
  jest.useFakeTimers({ doNotFake: [...ALL_BUT_INTERVALS] });
  database = await createDatabase();
  service = await Service.start({
    databaseUrl: database.url,
    environment: { DATABASE_READ_URL: database.url },
  });
  replica = service.app.get(Replica);
  copy = new pg.Pool({ connectionString: database.url, options: '-c search_path=copy,public,pg_catalog' });
  Object.assign(replica.pool!, {
    query: (statement: pg.QueryConfig<[string[], string]>) => {
      asked.push(statement.values![0]);
      return answer(statement);
    },
  });
});
beforeEach(async () => {
  service.clock.set(NOW);
  answer = (statement) => copy.query(statement);
  await copied();
  await look();
  asked = [];
});
afterAll(async () => {
  await copy?.end();
  await service?.close();
  await database?.drop();
});

const look = () => replica['check']();

/** The replica has what the primary has now, and has replayed this position. */
async function copied(position?: string): Promise<void> {
  await service.sql(
    `drop schema if exists copy cascade; create schema copy;
     create table copy.activation as table activation; create table copy.license as table license;
     create table copy.purchase as table purchase`,
  );
  await replayed(position);
}

const replayed = (position = ALL_REPLAYED) =>
  service.sql(
    `create or replace function copy.pg_last_wal_replay_lsn() returns pg_lsn language sql
     as $$ select ${position}::pg_lsn $$`,
  );

async function activated(wanted: Parameters<Service['issue']>[0] = {}) {
  const license = await service.issue(wanted);
  const { json } = await service.activate(license, `machine ${(machines += 1)}`);
  return { ...license, id: json.activation.id as string, token: json.token as string };
}

/** Status or code of a heartbeat, and which server answered it. */
async function beat({ token }: { token: string }, app_version = '3.2.0'): Promise<[unknown, string]> {
  const { answersBySource: answered } = service.app.get(HeartbeatService);
  const before = { ...answered };
  const { status, json } = await service.heartbeat(token, { app_version });
  const by = Object.entries(answered).filter(([name, count]) => count > before[name as keyof typeof before]);
  return [json.code ?? status, by.map(([name]) => name).join(' and ')];
}

const countLogged = (message: string) => service.logged.filter((line) => line.includes(message)).length;

test('a yes of the replica is believed, though the primary knows better by now', async () => {
  const expires_at = new Date('2027-05-01T00:00:00Z');
  const binding = await activated({ expires_at });
  await copied();
  expect(replica.isDegraded).toBe(false);
  await service.setLicense(binding.license_id, { staff_status: 'suspended', expires_at: null });
  expect(await beat(binding)).toEqual([200, 'replica']);
  expect((await service.heartbeat(binding.token)).json.license).toEqual({
    status: 'active',
    expires_at: '2027-05-01T00:00:00Z',
  });
  expect(asked).toEqual([[binding.id], [binding.id]]);
});

test('what came together is asked together, and each gets the answer of its own binding', async () => {
  const bindings = [await activated(), await activated(), await activated()];
  await copied();
  const ids = bindings.map(({ id }) => id);
  const found = await Promise.all(
    [...ids, '0198f3c2-7b1a-7c3d-9e4f-a1b2c3d4e5f6'].map((id) => replica.find(id)),
  );
  expect(found.map((row) => row?.activation_id)).toEqual([...ids, undefined]);
  expect(asked).toHaveLength(1);
});

describe('a no of the replica is asked of the primary:', () => {
  const past = new Date('2026-11-01T00:00:00Z');
  beforeAll(() => publish(service, '4.0', '2027-01-01T00:00:00Z'));

  test.each<[string, Parameters<Service['setLicense']>[1], Parameters<Service['setLicense']>[1]]>([
    ['a suspension', { staff_status: 'suspended' }, { staff_status: 'active' }],
    ['an end', { expires_at: past, on_expiry: 'stop' }, { expires_at: null }],
    ['a version', { expires_at: past }, { expires_at: null }],
  ])('%s', async (_what, refuse, lift) => {
    const binding = await activated();
    await service.setLicense(binding.license_id, refuse);
    await copied();
    expect((await beat(binding, '4.0'))[1]).toBe('primary');
    await service.setLicense(binding.license_id, lift);
    expect(await beat(binding, '4.0')).toEqual([200, 'primary']);
    expect(asked).toEqual([[binding.id], [binding.id]]);
  });

  test('a release', async () => {
    const binding = await activated();
    await service.app.get(ReleaseService).release(binding.id, ACT);
    await copied();
    expect(await beat(binding)).toEqual(['binding_released', 'primary']);
  });

  test('a binding that it does not have yet', async () => {
    expect(await beat(await activated())).toEqual([200, 'primary']);
    expect(replica.isDegraded).toBe(false);
  });
});

test.each([
  ['behind', "'0/0'"],
  ['no replica at all', 'null'],
])('one that is %s is asked no more until a look finds it well', async (_what, position) => {
  const binding = await activated();
  await copied(position);
  const before = [countLogged(BEHIND), countLogged(WELL)] as const;
  expect(await beat(binding)).toEqual([200, 'primary']);
  expect([replica.isDegraded, countLogged(BEHIND)]).toEqual([true, before[0] + 1]);
  asked = [];
  expect(await beat(binding)).toEqual([200, 'primary']);
  expect(asked).toEqual([]);
  await look();
  expect([replica.isDegraded, countLogged(BEHIND), asked]).toEqual([true, before[0] + 1, [[]]]);
  await replayed();
  expect(await beat(binding)).toEqual([200, 'primary']);
  const primary = jest.spyOn(poolOf(service.app.get(DataSource)), 'query');
  jest.advanceTimersByTime(LOOK_MS);
  expect(String(primary.mock.calls)).toContain('pg_current_wal_flush_lsn');
  primary.mockRestore();
  while (replica.isDegraded) await new Promise((resolve) => setImmediate(resolve));
  expect([countLogged(BEHIND), countLogged(WELL)]).toEqual([before[0] + 1, before[1] + 1]);
  expect(await beat(binding)).toEqual([200, 'replica']);
});

test('one that fails, or does not answer in time, costs no heartbeat its yes', async () => {
  const binding = await activated();
  await copied();
  answer = () => Promise.reject(new Error('the replica is unavailable'));
  expect(await beat(binding)).toEqual([200, 'primary']);
  expect(replica.isDegraded).toBe(true);
  answer = (statement) => copy.query(statement);
  await look();
  expect(replica.isDegraded).toBe(false);
  answer = () => new Promise(() => undefined);
  expect(await withLimits({ replica: 50 }, () => beat(binding))).toEqual([200, 'primary']);
  expect(replica.isDegraded).toBe(true);
});

test('what was seen more than 10 seconds ago, before or after a jump of the clock, is not believed', async () => {
  const binding = await activated();
  await copied();
  const by = async (milliseconds: number) => {
    service.clock.set(new Date(Date.parse(NOW) + milliseconds));
    return (await beat(binding))[1];
  };
  expect([await by(10_000), await by(10_001), await by(-10_001)]).toEqual(['replica', 'primary', 'primary']);
  expect(replica.isDegraded).toBe(false);
  service.clock.set(new Date(Date.parse(NOW) + 10_001));
  await look();
  expect(await by(20_001)).toBe('replica');
});

test('it is believed where it has what the primary had a minute ago', async () => {
  const binding = await activated();
  await copied('pg_current_wal_flush_lsn()');
  service.clock.set('2026-11-20T14:00:00Z');
  await look();
  expect(await beat(binding)).toEqual([200, 'replica']);
  const [{ position }] = (await service.sql('select pg_current_wal_flush_lsn()::text as position')) as [
    { position: string },
  ];
  await replayed(`'${position}'`);
  await activated();
  service.clock.advance(60_000);
  await look();
  expect(await beat(binding)).toEqual([200, 'replica']);
  service.clock.advance(1);
  expect(await beat(binding)).toEqual([200, 'primary']);
});

test('two looks are never under way at once', async () => {
  const reply = Promise.withResolvers<void>();
  answer = async (statement) => (await reply.promise, copy.query(statement));
  const first = look();
  while (asked.length === 0) await new Promise((resolve) => setImmediate(resolve));
  await look();
  reply.resolve();
  await first;
  expect(asked).toEqual([[]]);
  await look();
  expect(asked).toEqual([[], []]);
});

test('where nothing was seen of the primary for a day, the replica is not even asked', async () => {
  const primary = poolOf(service.app.get(DataSource));
  const unavailable = jest.spyOn(primary, 'query').mockImplementation(() => {
    throw new Error('the primary is unavailable');
  });
  try {
    service.clock.advance(86_400_000);
    await look();
    expect([replica.isDegraded, asked]).toEqual([false, [[]]]);
    service.clock.advance(1);
    await look();
    expect([replica.isDegraded, asked]).toEqual([true, [[]]]);
  } finally {
    unavailable.mockRestore();
  }
});

test('without a replica none is asked, looked for or closed', async () => {
  const config = new Config({ DATABASE_URL: database.url });
  const none = new Replica({} as DataSource, config, service.clock, {} as AppLogger);
  await none.onApplicationBootstrap();
  expect([none.pool, none.isDegraded, none.find('x')]).toEqual([undefined, false, undefined]);
  await expect(none.onApplicationShutdown()).resolves.toBeUndefined();
});
