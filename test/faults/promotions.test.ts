import { expect, test } from '@jest/globals';
import { maintenanceDataSource } from '../../src/database/data-source.js';
import { DatabaseHosts } from '../../src/database/database-hosts.js';
import { queryOne } from '../../src/database/sql.js';
import { afterThisFile } from '../support/of-this-file.js';
import { FragilePostgres } from '../support/databases/outage-harness.js';
import { query, StreamingReplica } from '../support/databases/replica-harness.js';

const first = await FragilePostgres.start();
const second = await StreamingReplica.of(first, 'second');
const third = await StreamingReplica.of(first, 'third');
const addressOf = ({ url }: { url: string }) => new URL(url).host;

/** A process that has these servers in DATABASE_URL, and uses the first one. */
async function connectTo(...servers: { url: string }[]) {
  const url = first.url.replace(addressOf(first), servers.map(addressOf).join());
  const dataSource = maintenanceDataSource(url);
  await dataSource.initialize();
  afterThisFile(() => dataSource.destroy());
  const read = () => queryOne(dataSource, 'select 1 as one');
  await read();
  return { hosts: DatabaseHosts.of(url)!, read };
}

const processOfTwo = await connectTo(first, second);
const processOfThree = await connectTo(first, second, third);

test('a former primary is not used over a connection that a process has, also if the new primary accepts no writes', async () => {
  await second.promote();
  await second.sql('alter database mooring set default_transaction_read_only = on');
  const { hosts, read } = processOfTwo;
  const states = `${addressOf(first)} outdated, ${addressOf(second)} read_only`;
  await expect(hosts.search()).rejects.toThrow(`No host is the primary: ${states}`);
  await expect(read()).rejects.toThrow(/^(Connection terminated|No host is the primary)/);
});

test('of two servers that were promoted from one timeline a running process chooses neither', async () => {
  await query(
    second.url,
    'begin read write; alter database mooring reset default_transaction_read_only; commit',
  );
  await third.promote();
  const states = `${addressOf(first)} outdated, ${addressOf(second)} primary, ${addressOf(third)} primary`;
  await expect(processOfThree.hosts.search()).rejects.toThrow(`No host is the primary: ${states}`);
});
