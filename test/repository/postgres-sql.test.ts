import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import pg from 'pg';
import { startOwnPostgres } from '../support/databases/own-postgres.js';
import { migrate } from '../../src/database/migrations.js';
import { connect } from '../support/harness.js';

/* deploy/postgres.sql, which prepares the database of the service in compose. */

const SCRIPT = readFileSync(new URL('../../deploy/postgres.sql', import.meta.url), 'utf8');

const server = await startOwnPostgres();
const url = (user: string, password: string, database: string) => {
  const { host } = new URL(server.url);
  return `postgres://${user}:${password}@${host}/${database}`;
};
/** URLs of the server: of the superuser `postgres`, and of the service in compose. */
const superuserUrl = url('postgres', 'first', 'postgres');
const serviceUrl = url('mooring', "it's", 'mooring');
// As in the image of PostgreSQL, the superuser is `postgres`, and there is no role or database of the service.
await execute(server.url, "create role postgres superuser login password 'first'");
await execute(
  superuserUrl,
  'alter database mooring rename to embedded',
  'alter role mooring rename to embedded',
);
await execute(superuserUrl, ...statementsOf(SCRIPT, { POSTGRES_PASSWORD: "it's" }));

test('the script creates a role without further rights, which can run the migrations', async () => {
  const rights = `select rolsuper, rolcreatedb, rolcreaterole, rolreplication, rolbypassrls
    from pg_roles where rolname = current_user`;
  expect(await execute(serviceUrl, rights)).toEqual([
    {
      rolsuper: false,
      rolcreatedb: false,
      rolcreaterole: false,
      rolreplication: false,
      rolbypassrls: false,
    },
  ]);
  expect((await migrate(serviceUrl)).length).toBeGreaterThan(0);
});

test('the script leaves the superuser without a password, so that it cannot connect over the network', async () => {
  await expect(execute(superuserUrl, 'select 1')).rejects.toThrow(/password authentication failed/);
});

test('the script lets no other role connect to the database', async () => {
  await execute(serviceUrl, 'select 1');
  const [row] = await execute(
    serviceUrl,
    "select has_database_privilege('pg_monitor', 'mooring', 'connect') as may",
  );
  expect(row).toEqual({ may: false });
});

/** Splits a script into statements as psql does, as far as the script uses it: `\getenv`, and `:'name'` for a quoted value. */
function statementsOf(text: string, environment: Record<string, string>): string[] {
  const variables = new Map<string, string>();
  const lines = text.split('\n').filter((line) => !line.startsWith('--'));
  const sql = lines.filter((line) => {
    const [, name, source] = /^\\getenv (\w+) (\w+)$/.exec(line) ?? [];
    if (name) variables.set(name, environment[source!]!);
    return !name;
  });
  return sql
    .join('\n')
    .replaceAll(/:'(\w+)'/g, (_, name: string) => pg.escapeLiteral(variables.get(name)!))
    .split(/;\s*/)
    .filter((statement) => statement.trim());
}

/** Executes statements one after the other. @returns the rows of the last one */
async function execute(url: string, ...statements: string[]): Promise<unknown[]> {
  const client = await connect(url);
  try {
    let rows: unknown[] = [];
    for (const statement of statements) ({ rows } = await client.query<pg.QueryResultRow>(statement));
    return rows;
  } finally {
    await client.end();
  }
}
