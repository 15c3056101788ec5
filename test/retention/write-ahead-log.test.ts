import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { endPostmaster, launch, serverSettings } from '../../src/database/embedded/postgres-process.js';
import { startOwnPostgres } from '../support/databases/own-postgres.js';
import { temporaryFolder } from '../support/folders.js';
import { connect } from '../support/harness.js';
import { formsOfText, LeakSearch } from '../support/leak-search.js';
import { afterThisFile } from '../support/of-this-file.js';

const EMAIL = 'canary.wal@leak.example';
const search = new LeakSearch(formsOfText(EMAIL));

/** Returns the settings that docker-compose.yml gives PostgreSQL. */
function composeSettings(): Record<string, string> {
  const file = readFileSync(new URL('../../docker-compose.yml', import.meta.url), 'utf8');
  const { services } = parse(file, { merge: true }) as { services: { postgres: { command: string[] } } };
  const { command } = services.postgres;
  const options = command.filter((_part, index) => command[index - 1] === '-c');
  return Object.fromEntries(options.map((option) => option.split('=') as [string, string]));
}

/** Starts PostgreSQL with the settings of docker-compose.yml. @returns a connection */
async function connectWithComposeSettings(directory: string) {
  const { url, stop } = await startOwnPostgres(directory);
  await stop();
  const cluster = join(directory, 'postgres');
  const settings = { ...serverSettings(false), ...composeSettings() };
  const { pid, port } = await launch(cluster, join(directory, 'postgres.log'), settings);
  afterThisFile(() => endPostmaster(pid, cluster, 'SIGQUIT', 'SIGKILL'));
  return connect(Object.assign(new URL(url), { port }).href);
}

test('in compose, no file of the write-ahead log contains an erased address once PostgreSQL needs the file no more', async () => {
  const directory = temporaryFolder();
  const database = await connectWithComposeSettings(directory);
  const logFiles = join(directory, 'postgres/pg_wal');
  await database.query('create table person (email text)');
  await database.query('insert into person values ($1)', [EMAIL]);
  await database.query('truncate person');
  expect(search.inFiles(logFiles)).not.toEqual([]);
  // Fills the current file and the next one. `pg_switch_wal` is not used, because it fills the rest of a file with zeros.
  const files = new Set<string>();
  while (files.size < 3) {
    await database.query('insert into person select repeat(n::text, 100) from generate_series(1, 5000) n');
    const current = await database.query<{ name: string }>(
      'select pg_walfile_name(pg_current_wal_lsn()) as name',
    );
    files.add(current.rows[0]!.name);
  }
  for (let checkpoints = 0; checkpoints < 2; checkpoints += 1) await database.query('checkpoint');
  expect(search.inFiles(logFiles)).toEqual([]);
});
