import { expect, test } from '@jest/globals';
import { FragilePostgres } from '../support/databases/outage-harness.js';
import { query, StreamingReplica } from '../support/databases/replica-harness.js';
import { temporaryFolder } from '../support/folders.js';
import { Terminal } from '../support/processes/cli-harness.js';
import { freePort, ServerProcess } from '../support/processes/server-process.js';
import { until } from '../support/until.js';

/** The holder of the sample license. */
const EMAIL = 'ada@example.com';

const first = await FragilePostgres.start();
const second = await StreamingReplica.of(first);
const hosts = [first, second].map(({ url }) => new URL(url).host).join();
const settings = {
  DATA_DIR: temporaryFolder(),
  DATABASE_URL: first.url.replace(new URL(first.url).host, hosts),
};
const licensesOf = (url: string) =>
  query<{ id: string }>(url, 'select id from license where email = $1', [EMAIL]);

test('an erasure that an asynchronous failover has lost is repeated without a restart', async () => {
  const service = new ServerProcess({ ...settings, PORT: String(await freePort()) });
  await service.ready();
  await second.waitUntilCaughtUp();
  // The standby receives nothing from now on.
  await second.sql("alter system set primary_conninfo = ''");
  await second.sql('select pg_reload_conf()');
  await until(async () => (await second.sql('select 1 from pg_stat_wal_receiver')).length === 0);

  const terminal = new Terminal(settings);
  await terminal.json(['erasure', 'request', EMAIL, '--reason', 'asked by letter']);
  await terminal.json(['erasure', 'run']);
  expect(await licensesOf(first.url)).toEqual([]);
  expect(await licensesOf(second.url)).toHaveLength(1);

  await first.kill();
  await second.promote();
  await service.waitForOutput('stdout', /"database primary moved"/);
  await until(async () => (await licensesOf(second.url)).length === 0);
  expect(service.stdout).not.toContain('erasures not repeated');
});
