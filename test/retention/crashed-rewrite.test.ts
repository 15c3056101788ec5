import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from '@jest/globals';
import pg from 'pg';
import { startOwnPostgres } from '../support/databases/own-postgres.js';
import { temporaryFolder } from '../support/folders.js';
import { connect } from '../support/harness.js';
import { until } from '../support/until.js';

const QUERY = /select pg_relation_filepath[^;]*/.exec(
  readFileSync('docs/operations/retention.md', 'utf8'),
)![0];

const directory = temporaryFolder();
const server = await startOwnPostgres(directory);

/** Opens a connection that a crash of the server ends. */
async function connectUntilCrash(): Promise<pg.Client> {
  const client = new pg.Client(server.url);
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

test('the query in docs/operations/retention.md finds the copy that a crash leaves during a rewrite', async () => {
  const [rewriter, observer] = [await connectUntilCrash(), await connectUntilCrash()];
  // The rewrite builds this index after it has copied the rows.
  await observer.query(`
    create function planted(email text) returns text language sql immutable as
      $$ select case when current_setting('planted.waits', true) = 'yes' then pg_sleep(3600)::text end $$;
    create index planted on staff (planted(email));
    insert into staff values (gen_random_uuid(), 'canary@leak.example', 'support', now())`);
  await observer.query('checkpoint');
  expect((await observer.query(QUERY)).rows).toEqual([]);
  const { rows } = await rewriter.query<{ pid: number }>('select pg_backend_pid() as pid');
  await rewriter.query("set planted.waits = 'yes'");
  const rewrite = rewriter.query('vacuum (full) staff').catch((error: unknown) => error);
  const isWaiting = "select from pg_stat_activity where pid = $1 and wait_event = 'PgSleep'";
  await until(async () => (await observer.query(isWaiting, [rows[0]!.pid])).rowCount === 1);
  const crashed = new Promise((resolve) => observer.once('end', resolve));
  process.kill(rows[0]!.pid, 'SIGKILL');
  expect(await rewrite).toBeInstanceOf(Error);
  // Until the server has ended the other connection too, it may accept a new one, and refuse the next one in its recovery.
  await crashed;

  await until(async () =>
    connectUntilCrash().then(
      async (client) => client.end().then(() => true),
      () => false,
    ),
  );
  const client = await connect(server.url);
  for (const sql of ['delete from staff', 'vacuum (full) staff', 'checkpoint']) await client.query(sql);
  const leftBehind = (await client.query<{ example: string; left_behind: string }>(QUERY)).rows;
  const folder = join(directory, 'postgres', dirname(leftBehind[0]!.example));
  const leaks = readdirSync(folder).filter((name) =>
    readFileSync(join(folder, name)).includes('canary@leak'),
  );
  expect(leaks).not.toEqual([]);
  expect(leftBehind.map(({ left_behind }) => left_behind)).toEqual(expect.arrayContaining(leaks));
});
