import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import type { EntityManager } from 'typeorm';
import { Clock } from '../../src/core/clock.js';
import { Config } from '../../src/core/config.js';
import { LicenseKeys } from '../../src/keys/license-keys.js';
import { identifyDatabase } from '../../src/erasure/database-identity.js';
import { clearErasedAddress, findErasedAddresses } from '../../src/erasure/erased-addresses.js';
import { findKnownErasures } from '../../src/erasure/restored-data.js';
import { ErasureRecords } from '../../src/erasure/erasure-records.js';
import {
  appendErased,
  readTombstones,
  type TombstoneOrigin,
  type ErasedIds,
} from '../../src/erasure/erased-ids.js';
import { temporaryFolder } from '../support/folders.js';

const directory = temporaryFolder();

const NOON = new Date('2026-11-20T12:00:00Z');
const beforeNoon = (ms: number) => new Date(NOON.getTime() - ms);
const keys = new LicenseKeys(Buffer.alloc(32, 7), 'MOOR');
const hash = (email: string) => keys.hashErasedAddress(email);

interface Identity {
  readonly id: string;
  readonly incarnation: string;
  readonly since: Date;
}

/**
 * A fake database for the queries of `identifyDatabase` and `ErasureRecords`.
 * @param rows of the table `database_identity`
 * @param incarnation by which PostgreSQL distinguishes this copy of the database from others
 * @param cancelled ids of the erasure requests that were cancelled in it
 * @returns `statements` has the first two words of each query
 */
function fakeDatabase(rows: Identity[], incarnation: string, cancelled: readonly string[] = []) {
  const statements: string[] = [];
  const query = async (sql: string, values: unknown[] = []) => {
    statements.push(sql.trim().split(/\s+/, 2).join(' '));
    if (sql.includes('pg_control_system')) return [{ incarnation }];
    if (sql.includes('insert into database_identity')) {
      const [id, inserted, since] = values as [string, string, Date];
      return void rows.push({ id, incarnation: inserted, since });
    }
    if (sql.includes('from database_identity'))
      return rows.map((row) => ({ ...row, is_current: row.incarnation === values[0] }));
    if (!sql.includes('cancelled_at is not null')) return [];
    return cancelled.filter((id) => (values[0] as string[]).includes(id)).map((id) => ({ id }));
  };
  return { query: query as EntityManager['query'], statements };
}

describe('a database', () => {
  test('that has an identity keeps its id, and nothing is written', async () => {
    const [first, own] = [randomUUID(), randomUUID()];
    const rows = [
      { id: first, incarnation: 'a', since: beforeNoon(2_000) },
      { id: own, incarnation: 'b', since: beforeNoon(1_000) },
    ];
    const database = fakeDatabase(rows, 'b');
    const identity = { id: own, lineage: new Set([first, own]), since: beforeNoon(1_000) };
    expect(await identifyDatabase(database, NOON)).toEqual(identity);
    expect(database.statements).toEqual(["select concat_ws('", 'select id,']);
  });

  test('that is a copy gets an id of its own, and its lineage has the id of the original too', async () => {
    const first = randomUUID();
    const rows = [{ id: first, incarnation: 'a', since: beforeNoon(2_000) }];
    const { id, lineage, since } = await identifyDatabase(fakeDatabase(rows, 'b'), NOON);
    expect(rows[1]).toEqual({ id, incarnation: 'b', since: NOON });
    expect([lineage, since]).toEqual([new Set([first, id]), NOON]);
  });
});

describe('reading TOMBSTONE_FILE:', () => {
  const recordsOf = (file: string) => {
    return new ErasureRecords(new Clock(), new Config({ TOMBSTONE_FILE: file }), keys);
  };
  const block = (origin: Partial<ErasedIds> = {}): ErasedIds => ({
    license: [],
    purchase: [randomUUID()],
    erasure_request: [randomUUID()],
    ...origin,
  });

  test('a block of another database does not count, unless it is older than the id of this database', async () => {
    const file = join(directory, randomUUID());
    const [ownDatabase, otherDatabase] = [randomUUID(), randomUUID()];
    const blocks = {
      own: block({ database: ownDatabase, at: NOON }),
      withoutDatabase: block({ at: NOON }),
      earlier: block({ database: otherDatabase, at: beforeNoon(1) }),
      whenCopied: block({ database: otherDatabase, at: NOON }),
      // A negative number gives a time after noon.
      later: block({ database: otherDatabase, at: beforeNoon(-1) }),
      undated: block({ database: otherDatabase }),
    };
    for (const each of Object.values(blocks)) await appendErased(file, each);
    const database = fakeDatabase([{ id: ownDatabase, incarnation: 'a', since: NOON }], 'a');
    expect(await recordsOf(file).read(database)).toEqual({
      erased: [blocks.own, blocks.withoutDatabase, blocks.earlier],
      cancelled: [],
    });
  });

  test('an erasure whose request was cancelled in this database does not count', async () => {
    const file = join(directory, randomUUID());
    const [kept, cancelled] = [block(), block()];
    for (const each of [kept, cancelled]) await appendErased(file, each);
    const database = fakeDatabase([], 'a', [...cancelled.erasure_request, randomUUID()]);
    expect((await recordsOf(file).read(database)).erased).toEqual([kept]);
  });

  test('the block of an erasure and that of a cancellation have their time and their database', async () => {
    const file = join(directory, randomUUID());
    const records = recordsOf(file);
    const own = { id: randomUUID(), incarnation: 'a', since: NOON };
    const [id, license, purchase] = [randomUUID(), [randomUUID()], [randomUUID()]];
    await records.recordErased(
      fakeDatabase([own], 'a'),
      { id, email: 'ada@example.com', at: NOON },
      { license, purchase },
    );
    const written = { license, purchase, erasure_request: [id], at: NOON, database: own.id };
    expect(await readTombstones(file)).toEqual({
      erased: [{ ...written, address: hash('ada@example.com') }],
      cancelled: [],
    });
    await records.recordCancelled(fakeDatabase([own], 'a'), id);
    expect(await readTombstones(file)).toEqual({ erased: [], cancelled: [id] });
    const origins: TombstoneOrigin[] = [];
    // The callback excludes no block: `push` returns a number above 0.
    await readTombstones(file, (origin) => origins.push(origin) > 0);
    expect(origins.at(-1)).toEqual({ at: expect.any(Date), database: own.id });
  });
});

describe('addresses that a restore brought back', () => {
  const blockOf = (email: string, at: Date, id: string = randomUUID()): ErasedIds => {
    const ids = { license: [], purchase: [], erasure_request: [id] };
    return { ...ids, at, address: hash(email) };
  };

  /** A fake manager of a database that has these addresses and has carried out these erasure requests. */
  function fakeManager(addresses: Record<string, string[]>, carriedOut: string[] = []) {
    const tables: string[] = [];
    const repeated: unknown[] = [];
    const query = async (sql: string, values: unknown[]) => {
      if (sql.includes('insert into repeated_erasure')) return void repeated.push(...values);
      const table = /distinct email from (\w+)/.exec(sql)?.[1];
      if (!table) {
        const isAboutRequests = sql.includes('from erasure_request') && sql.includes('from repeated_erasure');
        const found = carriedOut.filter((id) => isAboutRequests && (values[0] as string[]).includes(id));
        return found.map((id) => ({ id }));
      }
      tables.push(table);
      const limit = Number(/limit (\d+)/.exec(sql)![1]);
      const after = (addresses[table] ?? []).toSorted().filter((email) => email > (values[0] as string));
      return after.slice(0, limit).map((email) => ({ email }));
    };
    return { manager: { query } as unknown as EntityManager, tables, repeated };
  }

  const find = async (manager: EntityManager, blocks: readonly ErasedIds[]) =>
    findErasedAddresses(manager, blocks, hash, await findKnownErasures(manager, blocks), NOON);

  test('are found in every table that has addresses, with the time of their latest erasure', async () => {
    const tables = ['license', 'purchase', 'session', 'one_time_code', 'mail_recipient', 'erasure_request'];
    const at = (i: number) => beforeNoon(1_000 * i);
    const { manager, ...recorded } = fakeManager(
      Object.fromEntries(tables.map((table) => [table, [`${table}@example.com`, 'other@example.com']])),
    );
    const blocks = tables.flatMap((table, i) => [
      blockOf(`${table}@example.com`, at(i + 1)),
      blockOf(`${table}@example.com`, at(i)),
      blockOf(`${table}@example.com`, at(i + 2)),
    ]);
    expect(await find(manager, blocks)).toEqual(
      tables.map((table, i) => ({ email: `${table}@example.com`, at: at(i) })),
    );
    expect(recorded.tables).toEqual(tables);
    expect(recorded.repeated).toEqual([blocks.flatMap(({ erasure_request }) => erasure_request), NOON]);
  });

  test('are searched only for blocks with a time, an address and a request that the database has not carried out', async () => {
    const [knownRequest, newRequest] = [randomUUID(), randomUUID()];
    const addresses = { license: ['ada@example.com', 'bob@example.com'] };
    const idsWithoutOrigin = { license: [], purchase: [], erasure_request: [randomUUID()] };
    const blocks = [
      blockOf('ada@example.com', NOON, knownRequest),
      { ...idsWithoutOrigin, at: NOON },
      { ...idsWithoutOrigin, address: hash('ada@example.com') },
    ];
    const withoutNew = fakeManager(addresses, [knownRequest]);
    expect(await find(withoutNew.manager, blocks)).toEqual([]);
    expect([withoutNew.tables, withoutNew.repeated]).toEqual([[], []]);
    const withNew = fakeManager(addresses, [knownRequest]);
    const allBlocks = [...blocks, blockOf('bob@example.com', NOON, newRequest)];
    expect(await find(withNew.manager, allBlocks)).toEqual([{ email: 'bob@example.com', at: NOON }]);
    expect(withNew.repeated).toEqual([[newRequest], NOON]);
  });

  test('are removed from licenses and purchases, and their codes, sessions and mail recipients are deleted', async () => {
    const [ids, statements] = [[randomUUID(), randomUUID()], new Map<string, unknown[]>()];
    const query = async (sql: string, values: unknown[]) => {
      statements.set(sql.trim().split(/\s+/, 3).join(' '), values);
      return sql.startsWith('select id from license') ? ids.map((id) => ({ id })) : [];
    };
    const [email, at] = ['ada@example.com', beforeNoon(1_000)];
    const manager = { query } as unknown as EntityManager;
    await clearErasedAddress(manager, { email, at }, NOON);
    expect(statements.get('select id from')).toEqual([email, at, NOON]);
    expect(statements.get('update license set')).toEqual([ids, NOON]);
    expect(statements.get('update purchase set')).toEqual([email, at, NOON]);
    for (const table of ['one_time_code', 'session', 'mail_recipient'])
      expect([table, statements.get(`delete from ${table}`)]).toEqual([table, [[email], at, NOON]]);
  });

  test('are all read, in batches of 10,000', async () => {
    const license = Array.from({ length: 20_000 }, (_, i) => `${String(i).padStart(5, '0')}@example.com`);
    const [first, last] = [license[0]!, license.at(-1)!];
    const { manager, tables } = fakeManager({ license });
    const blocks = [blockOf(last, NOON), blockOf(first, NOON)];
    expect(await find(manager, blocks)).toEqual([
      { email: first, at: NOON },
      { email: last, at: NOON },
    ]);
    // Two full batches, and an empty one that shows that no address is left.
    expect(tables.filter((table) => table === 'license')).toHaveLength(3);
  });
});
