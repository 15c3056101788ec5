import { createServer } from 'node:net';
import { describe, expect, jest, test } from '@jest/globals';
import { DataSource } from 'typeorm';
import { poolOf } from '../../src/database/data-source.js';
import { createDatabase, Service, withLimitsOfProduction } from '../support/harness.js';
import { loopTime } from '../support/loop-time.js';
import { TcpProxy } from '../support/databases/outage-harness.js';
import { changesDuring, scrape, scrapeUntil, withPrefixes } from '../support/http/scrape.js';
import { whileGone, whileLocked } from '../support/tables.js';
import { listen } from '../support/listen.js';

// The job queue reports an unavailable database with console.trace, besides the log.
jest.spyOn(console, 'trace').mockImplementation(() => undefined);

/**
 * A TCP proxy between the service and the database. DATABASE_READ_URL leads through it to the same database, which is not a
 * standby, so the service does not use it as a replica.
 */
const proxy = new TcpProxy();
const database = await createDatabase();
const url = new URL(database.url);
proxy.target = Number(url.port);
await proxy.open();
url.port = String(proxy.port);
const environment = { METRICS_PORT: '0', DATABASE_READ_URL: url.href };
const service = await Service.start({ databaseUrl: url.href, environment });

describe('the metrics of the database', () => {
  test('count the allowed, idle and used connections, and the waiting callers', async () => {
    const metric = (name: string) => `mooring_database_${name}{database="primary"}`;
    const idle = await scrapeUntil(service, (samples) => samples[metric('connections_in_use')] === 0);
    expect(idle).toMatchObject({
      [metric('connections_max')]: 12,
      [metric('callers_waiting')]: 0,
      'mooring_database_connections_max{database="replica"}': 12,
      mooring_replica_up: 0,
    });
    const pool = poolOf(service.app.get(DataSource));
    const clients = await Promise.all(Array.from({ length: 12 }, () => pool.connect()));
    let exhausted: Record<string, number> = {};
    // The callers time out after a second. On a busy machine that may be before the scrape; then the test tries again.
    await withLimitsOfProduction(service, async () => {
      while (exhausted[metric('callers_waiting')] !== 3) {
        const callers = [1, 2, 3].map(() => pool.connect());
        [exhausted] = await Promise.all([scrape(service), Promise.allSettled(callers)]);
      }
    });
    for (const client of clients) client.release();
    expect(exhausted).toMatchObject({
      [metric('connections_in_use')]: 12,
      [metric('connections_idle')]: 0,
      // The scrape gets no connection either.
      mooring_database_up: 0,
    });
  });

  test('count the jobs that wait, are late or fail, by task; an unknown task counts as `other`', async () => {
    const add = (task: string, key: string, delay: string) =>
      service.sql(`select graphile_worker.add_job($1, job_key := $2, run_at := now() + $3::interval)`, [
        task,
        key,
        delay,
      ]);
    const changes = await changesDuring(service, async () => {
      await add('erasure', 'a', '1 day');
      await add('erasure', 'b', '1 day');
      await add('unknown_task', 'c', '-1 hour');
      await add('another_unknown_task', 'd', '1 day');
      await add('erasure', 'replaced while it ran', '1 day');
      await service.sql(
        `update graphile_worker._private_jobs set attempts = max_attempts
         where key in ('b', 'd', 'replaced while it ran')`,
      );
      // The job queue removes the key of a job that is replaced while it runs. Such a job does not count.
      await service.sql(
        `update graphile_worker._private_jobs set key = null where key = 'replaced while it ran'`,
      );
    });
    expect(withPrefixes(changes, 'mooring_jobs')).toEqual({
      'mooring_jobs_waiting{task="erasure"}': 1,
      'mooring_jobs_waiting{task="other"}': 1,
      'mooring_jobs_late{task="other"}': 1,
      'mooring_jobs_failing{task="erasure"}': 1,
      'mooring_jobs_failing{task="other"}': 1,
    });
    await service.sql(`select graphile_worker.remove_job(key) from unnest('{a,b,c,d}'::text[]) key`);
    await service.sql('delete from graphile_worker._private_jobs where key is null');
  });

  test('show the age of the last retention run, and the number of tables at which it failed', async () => {
    const retentionMetrics = async () =>
      withPrefixes(await scrape(service), 'mooring_retention_age_seconds', 'mooring_retention_failed_tables');
    await service.sql('delete from retention_run');
    const now = service.clock.now();
    // Before the first run, the age of the database counts.
    await service.sql('update schema_migration set applied_at = $1', [new Date(now.getTime() - 90_000)]);
    expect(await retentionMetrics()).toEqual({
      mooring_retention_age_seconds: 90,
      mooring_retention_failed_tables: 0,
    });
    const run = 'insert into retention_run values (gen_random_uuid(), $1, $2, $3, default, default, $4)';
    const secondsAgo = (seconds: number) => new Date(now.getTime() - seconds * 1000);
    await service.sql(run, [
      secondsAgo(7_300),
      secondsAgo(7_300),
      secondsAgo(7_200),
      ['telemetry', 'session'],
    ]);
    // The age counts neither a run for another day nor a run that was interrupted.
    await service.sql(run, ['2020-01-01', secondsAgo(60), secondsAgo(50), []]);
    await service.sql(run, [secondsAgo(40), secondsAgo(40), null, []]);
    // The failed tables are read from the last finished run, which may be for another day.
    expect(await retentionMetrics()).toEqual({
      mooring_retention_age_seconds: 7_200,
      mooring_retention_failed_tables: 0,
    });
    await service.sql(`delete from retention_run where as_of < '2021-01-01'`);
    expect(await retentionMetrics()).toEqual({
      mooring_retention_age_seconds: 7_200,
      mooring_retention_failed_tables: 2,
    });
  });
});

describe('if the database', () => {
  const expectNothingFromDatabase = async (samples: Record<string, number>) => {
    expect(samples['mooring_database_up']).toBe(0);
    // The metrics of the process are served, and no metric that is read from the database.
    expect(Object.keys(samples)).toEqual(
      expect.arrayContaining([
        'mooring_warnings',
        'mooring_uptime_seconds',
        'mooring_refusals_total{code="unavailable"}',
        'mooring_heartbeats_total{database="primary"}',
        'mooring_database_callers_waiting{database="primary"}',
      ]),
    );
    expect(
      withPrefixes(samples, 'mooring_mails', 'mooring_jobs', 'mooring_retention', 'mooring_oldest'),
    ).toEqual({});
  };

  test('has a locked or missing table, the metrics of the process are served', async () => {
    await expectNothingFromDatabase(await whileLocked(service, 'telemetry_inbox', () => scrape(service)));
    await expectNothingFromDatabase(await whileGone(service, 'retention_run', () => scrape(service)));
    await scrapeUntil(service, (samples) => samples['mooring_database_up'] === 1);
  });

  test('refuses connections or does not respond, a scrape is answered within 2 seconds', async () => {
    const silent = createServer((socket) => socket.resume().on('error', () => undefined));
    const { target } = proxy;
    proxy.close();
    const expectQuickScrapes = async () => {
      const milliseconds: number[] = [];
      while (milliseconds.length < 3) {
        const began = loopTime();
        await expectNothingFromDatabase(await scrape(service));
        milliseconds.push(loopTime() - began);
      }
      // The shortest duration counts, in time of the event loop, so that a busy machine does not matter.
      expect(Math.min(...milliseconds)).toBeLessThan(2_000);
    };
    await withLimitsOfProduction(service, async () => {
      await expectQuickScrapes();
      proxy.target = await listen(silent);
      await proxy.open();
      await expectQuickScrapes();
    });
    proxy.close();
    proxy.target = target;
    await proxy.open();
    await scrapeUntil(service, (samples) => samples['mooring_database_up'] === 1);
  });
});
