import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
// The build is imported, because only the processes that run tests can load the sources (module-hooks.mjs).
import { startEmbeddedPostgres } from '../../../dist/database/embedded/embedded-postgres.js';
import { migrate } from '../../../dist/database/migrations.js';
import { readPidFile } from '../../../dist/database/embedded/pid-file.js';
import { findChromium } from '../../../scripts/chromium.mjs';

/**
 * Starts one PostgreSQL for the run, with a migrated template database that tests clone. A server that a test has for itself begins
 * with a copy of its files (`copyMigratedCluster`), because creating and migrating a new one takes twenty times as long.
 */
export default async function setUp() {
  const directory = await mkdtemp(join(tmpdir(), 'mooring-test-'));
  const cluster = await createMigratedCluster(directory);
  const server = await startEmbeddedPostgres(directory, { durable: false });
  const admin = new pg.Client(server.url.replace(/mooring$/, 'postgres'));
  await admin.connect();
  await admin.query('alter database mooring rename to mooring_template');
  await admin.query('create database mooring');
  await admin.end();
  process.env.MOORING_TEST_POSTGRES = server.url;
  process.env.MOORING_TEST_CLUSTER = cluster;
  // All processes of the service and the command line compile the same modules, so they share a cache.
  process.env.MOORING_TEST_COMPILE_CACHE = join(directory, 'compiled');
  // Chromium is unpacked once before the tests. If several test files did it at the same time, one could find it incomplete.
  const browser = await findChromium().catch(({ message }) => ({ missing: message }));
  process.env.MOORING_TEST_CHROMIUM = JSON.stringify(browser);
  globalThis.postgresPid = readPidFile(join(directory, 'postgres')).pid;
  globalThis.tearDownPostgres = async () => {
    await server.stop();
    await rm(directory, { recursive: true, force: true });
  };
}

/** Creates the server's files, with a migrated database. @returns the folder of a copy of them */
async function createMigratedCluster(directory) {
  const server = await startEmbeddedPostgres(directory, { durable: false });
  await migrate(server.url);
  await recordRetentionRuns(server.url);
  await server.stop();
  const copy = join(directory, 'migrated');
  await cp(join(directory, 'postgres'), copy, { recursive: true });
  return copy;
}

/**
 * Records retention runs shortly before the times at which tests start services: by the clock of the system, by the default one of
 * the tests, and in 2096, which some tests use. A service that starts then runs no retention, which would take longer than the rest
 * of its start. A run after the time of a service does not count.
 */
async function recordRetentionRuns(url) {
  const client = new pg.Client(url);
  await client.connect();
  const times = [
    new Date('2026-11-20T12:59:00Z'),
    ...dueFrom(new Date()),
    ...dueFrom('2096-02-10T12:00:00Z'),
  ];
  for (const [index, at] of times.entries()) {
    // The id is lower than that of each later run, by which tests find the last one.
    const id = `00000000-0000-7000-8000-${String(index).padStart(12, '0')}`;
    await client.query(
      'insert into retention_run (id, as_of, started_at, finished_at) values ($1, $2, $2, $2)',
      [id, at],
    );
  }
  await client.end();
}

/** The times at which a run is due, from the last one before a time: five minutes after each hour, for a day. */
function dueFrom(time) {
  const last = new Date(time);
  if (last.getUTCMinutes() < 5) last.setUTCHours(last.getUTCHours() - 1);
  last.setUTCMinutes(5, 0, 0);
  return Array.from({ length: 24 }, (_, hours) => new Date(last.getTime() + hours * 3_600_000));
}
