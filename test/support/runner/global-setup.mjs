import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
// The build, not the sources: Jest transforms what tests import, and not what this file does.
import { startEmbeddedPostgres } from '../../../dist/database/embedded/embedded-postgres.js';
import { migrate } from '../../../dist/database/migrations.js';
import { readPidFile } from '../../../dist/database/embedded/postgres-process.js';
import { findChromium } from '../../../scripts/chromium.mjs';

/** One PostgreSQL for the run, with one migrated template that every test file clones. */
export default async function setUp() {
  const directory = await mkdtemp(join(tmpdir(), 'mooring-test-'));
  const server = await startEmbeddedPostgres(directory, { durable: false });
  const admin = new pg.Client(server.url);
  await admin.connect();
  await admin.query('create database mooring_template');
  await admin.end();
  const template = new URL(server.url);
  template.pathname = '/mooring_template';
  await migrate(template.href);
  process.env.MOORING_TEST_POSTGRES = server.url;
  // Each process of the service or the command line compiles the same modules.
  process.env.MOORING_TEST_COMPILE_CACHE = join(directory, 'compiled');
  // Here and not where it is used: of several files that unpack one, one would find it half there.
  const browser = await findChromium().catch(({ message }) => ({ missing: message }));
  process.env.MOORING_TEST_CHROMIUM = JSON.stringify(browser);
  globalThis.postgresPid = readPidFile(join(directory, 'postgres')).pid;
  globalThis.tearDownPostgres = async () => {
    await server.stop();
    await rm(directory, { recursive: true, force: true });
  };
}
