import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { DataSource } from 'typeorm';
import { poolOf } from '../../src/database/data-source.js';
import { createDatabase, Service, withLimitsOfProduction } from '../support/harness.js';
import { loopTime } from '../support/loop-time.js';
import { TcpProxy } from '../support/databases/outage-harness.js';
import { change, only, scrape, scrapeUntil } from '../support/http/scrape.js';
import { whileGone, whileLocked } from '../support/tables.js';

// The job queue's own line about an unavailable database, beside what is logged of it.
jest.spyOn(console, 'trace').mockImplementation(() => undefined);

/** A TCP proxy between the service and the database; the replica of the service is the primary, through the same proxy. */
const proxy = new TcpProxy();
let database: Awaited<ReturnType<typeof createDatabase>>;
let service: Service;
beforeAll(async () => {
  database = await createDatabase();
  const url = new URL(database.url);
  proxy.target = Number(url.port);
  await proxy.open();
  url.port = String(proxy.port);
  const environment = { METRICS_PORT: '0', DATABASE_READ_URL: url.href };
  service = await Service.start({ databaseUrl: url.href, environment });
});
afterAll(async () => {
  await service?.close();
  proxy.close();
  await database?.drop();
});

describe('the database', () => {
  test('has connections: the limit, idle ones, those in use, and waiting callers', async () => {
    const of = (name: string) => `mooring_database_${name}{database="primary"}`;
    const quiet = await scrapeUntil(service, (samples) => samples[of('connections_in_use')] === 0);
    expect(quiet).toMatchObject({
      [of('connections_max')]: 12,
      [of('callers_waiting')]: 0,
      'mooring_database_connections_max{database="replica"}': 12,
      mooring_replica_up: 0,
    });
    const pool = poolOf(service.app.get(DataSource));
    const held = await Promise.all(Array.from({ length: 12 }, () => pool.connect()));
    let exhausted: Record<string, number> = {};
    // The callers give up after a second, which on a busy machine may pass before the scrape has come.
    await withLimitsOfProduction(service, async () => {
      while (exhausted[of('callers_waiting')] !== 3) {
        const callers = [1, 2, 3].map(() => pool.connect());
        [exhausted] = await Promise.all([scrape(service), Promise.allSettled(callers)]);
      }
    });
    for (const client of held) client.release();
    expect(exhausted).toMatchObject({
      [of('connections_in_use')]: 12,
      [of('connections_idle')]: 0,
      // The scrape gets no connection either.
      mooring_database_up: 0,
    });
  });

  test('is asked for the jobs that wait, are late or fail, by task; an unknown one counts as another', async () => {
    const add = (task: string, key: string, at: string) =>
      service.sql(`select graphile_worker.add_job($1, job_key := $2, run_at := now() + $3::interval)`, [
        task,
        key,
        at,
      ]);
    const moved = await change(service, async () => {
      await add('erasure', 'a', '1 day');
      await add('erasure', 'b', '1 day');
      await add('kanari_task', 'c', '-1 hour');
      await add('kanari_elsewhere', 'd', '1 day');
      await service.sql(
        `update graphile_worker._private_jobs set attempts = max_attempts where key in ('b', 'd')`,
      );
    });
    expect(only(moved, 'mooring_jobs')).toEqual({
      'mooring_jobs_waiting{task="erasure"}': 1,
      'mooring_jobs_waiting{task="other"}': 1,
      'mooring_jobs_late{task="other"}': 1,
      'mooring_jobs_failing{task="erasure"}': 1,
      'mooring_jobs_failing{task="other"}': 1,
    });
    await service.sql(`select graphile_worker.remove_job(key) from unnest('{a,b,c,d}'::text[]) key`);
  });

  test('is asked when a retention run last ended, and where it failed', async () => {
    const day = async () =>
      only(await scrape(service), 'mooring_retention_age_seconds', 'mooring_retention_failed_tables');
    await service.sql('delete from retention_run');
    const now = service.clock.now();
    // Before the first run, the age of the database counts.
    await service.sql('update schema_migration set applied_at = $1', [new Date(now.getTime() - 90_000)]);
    expect(await day()).toEqual({ mooring_retention_age_seconds: 90, mooring_retention_failed_tables: 0 });
    const run = 'insert into retention_run values (gen_random_uuid(), $1, $2, $3, default, default, $4)';
    const before = (seconds: number) => new Date(now.getTime() - seconds * 1000);
    await service.sql(run, [before(7_300), before(7_300), before(7_200), ['telemetry', 'session']]);
    // One for another day, and one that was cut short.
    await service.sql(run, ['2020-01-01', before(60), before(50), []]);
    await service.sql(run, [before(40), before(40), null, []]);
    expect((await day())['mooring_retention_age_seconds']).toBe(7_200);
    await service.sql(`delete from retention_run where as_of < '2021-01-01'`);
    expect(await day()).toEqual({ mooring_retention_age_seconds: 7_200, mooring_retention_failed_tables: 2 });
  });
});

describe('while the database', () => {
  const expectNothingFromDatabase = async (samples: Record<string, number>) => {
    expect(samples['mooring_database_up']).toBe(0);
    // What the process knows, and nothing that it would have had to ask for.
    expect(Object.keys(samples)).toEqual(
      expect.arrayContaining([
        'mooring_warnings',
        'mooring_uptime_seconds',
        'mooring_refusals_total{code="unavailable"}',
        'mooring_heartbeats_total{database="primary"}',
        'mooring_database_callers_waiting{database="primary"}',
      ]),
    );
    expect(only(samples, 'mooring_mails', 'mooring_jobs', 'mooring_retention', 'mooring_oldest')).toEqual({});
  };

  test('holds a table locked, or has lost it, the process tells what it knows', async () => {
    await expectNothingFromDatabase(await whileLocked(service, 'telemetry_inbox', () => scrape(service)));
    await expectNothingFromDatabase(await whileGone(service, 'retention_run', () => scrape(service)));
    await scrapeUntil(service, (samples) => samples['mooring_database_up'] === 1);
  });

  test('refuses, or says nothing, a scrape is answered within 2 seconds', async () => {
    const silent = createServer((socket) => socket.resume().on('error', () => undefined)).listen(
      0,
      '127.0.0.1',
    );
    await once(silent, 'listening');
    const { target } = proxy;
    proxy.close();
    const milliseconds: number[] = [];
    await withLimitsOfProduction(service, async () => {
      await expectNothingFromDatabase(await scrape(service));
      proxy.target = (silent.address() as AddressInfo).port;
      await proxy.open();
      while (milliseconds.length < 3) {
        const began = loopTime();
        await expectNothingFromDatabase(await scrape(service));
        milliseconds.push(loopTime() - began);
      }
    });
    // The quickest, in the time of the event loop: a busy machine is not the service's.
    expect(Math.min(...milliseconds)).toBeLessThan(2_000);
    proxy.close();
    silent.close();
    proxy.target = target;
    await proxy.open();
    await scrapeUntil(service, (samples) => samples['mooring_database_up'] === 1);
  });
});
