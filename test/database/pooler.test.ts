import { createServer } from 'node:net';
import { expect, test } from '@jest/globals';
import { ConfigError } from '../../src/core/config.js';
import { migrateWhenReachable } from '../../src/database/open-database.js';
import { createDatabase } from '../support/harness.js';
import { Pooler, type ReuseOrder } from './pooler.js';
import { query } from '../support/databases/replica-harness.js';
import { listen } from '../support/listen.js';

const migrate = (url: string) => migrateWhenReachable(url, () => undefined);

test.each<ReuseOrder>(['most recently', 'least recently'])(
  'a pooler that gives each statement the server process that was used %s is refused with one sentence, and no lock is left',
  async (order) => {
    const database = await createDatabase();
    const url = await new Pooler(database.url, order).open();
    await expect(migrate(url)).rejects.toThrow(ConfigError);
    await expect(migrate(url)).rejects.toThrow(
      /^DATABASE_URL leads to a pooler .*docs\/operations\/poolers\.md/,
    );
    const locks = await query(
      database.url,
      `select 1 from pg_locks where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())`,
    );
    expect(locks).toEqual([]);
    // Without the pooler the same database is accepted. Its schema is current, so no migration is applied.
    expect(await migrate(database.url)).toEqual([]);
  },
);

test('a pooler that refuses the session settings is refused at once, and not retried like an unavailable database', async () => {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => socket.end(refusal('unsupported startup parameter: options')));
  });
  const port = await listen(server);
  await expect(migrate(`postgres://mooring:none@127.0.0.1:${port}/mooring`)).rejects.toThrow(
    /^DATABASE_URL leads to a pooler/,
  );
});

/** An error message as PgBouncer sends it: severity, code and message. */
function refusal(message: string): Buffer {
  const fields = Buffer.from(`SFATAL\0C08P01\0M${message}\0\0`);
  const head = Buffer.alloc(5, 'E');
  head.writeUInt32BE(fields.length + 4, 1);
  return Buffer.concat([head, fields]);
}
