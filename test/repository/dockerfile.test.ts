import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import {
  startEmbeddedPostgres,
  type EmbeddedPostgres,
} from '../../src/database/embedded/embedded-postgres.js';
import { migrate } from '../../src/database/migrations.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const read = (file: string) => readFileSync(join(root, file), 'utf8');
const script = <T>(name: string) => import(join(root, 'scripts', name)) as Promise<T>;

interface Step {
  readonly instruction: string;
  readonly value: string;
}
const { parseDockerfile, parseCopy, buildContext } = await script<{
  parseDockerfile(text: string): [{ steps: Step[] }, { steps: Step[] }];
  parseCopy(value: string): { stage?: string; sources: string[]; target: string };
  buildContext(text: string): (path: string) => boolean;
}>('image/dockerfile.mjs');
const { packageFiles } = await script<{ packageFiles(): { path: string }[] }>('package-files.mjs');

const [build, final] = parseDockerfile(read('Dockerfile'));
const valuesOf = ({ steps }: { steps: Step[] }, instruction: string) =>
  steps.filter((step) => step.instruction === instruction).map(({ value }) => value);
const isInContext = buildContext(read('.dockerignore'));

test('the build context has all that the Dockerfile copies, and nothing secret', () => {
  const sources = valuesOf(build, 'COPY').flatMap((value) => parseCopy(value).sources);
  expect(sources.length).toBeGreaterThan(20);
  for (const source of sources.map((name) => name.replace(/\/$/, '')))
    expect([source, existsSync(join(root, source)), isInContext(source)]).toEqual([source, true, true]);
  for (const path of [
    '.env',
    'secrets/mooring/tokens',
    'data',
    'node_modules',
    'dist',
    'web/dist',
    '.git',
    'test',
  ])
    expect([path, isInContext(path)]).toEqual([path, false]);
});

test('the build copies every source of the archive, and every script that makes it', () => {
  const sources = valuesOf(build, 'COPY').flatMap((value) => parseCopy(value).sources);
  const isCopied = (path: string) =>
    sources.some((source) => path === source || path.startsWith(source)) && isInContext(path);
  const made = /^(dist|web\/dist|node_modules|bin)\//;
  const files = packageFiles().map(({ path }) => path);
  expect(files.filter((path) => !made.test(path) && !isCopied(path))).toEqual([]);
  const scripts = ['scripts/package.mjs', 'scripts/sbom.mjs'];
  for (const name of scripts) {
    const imports = [...read(name).matchAll(/from '\.\/(\S+)'/g)].map(([, file]) => `scripts/${file!}`);
    scripts.push(...imports.filter((file) => !scripts.includes(file)));
  }
  expect(scripts.length).toBeGreaterThan(4);
  expect(scripts.filter((file) => !isCopied(file))).toEqual([]);
});

test('the image is the archive: it installs nothing, and its user owns nothing but the folder of mails', () => {
  expect(valuesOf(final, 'COPY')).toEqual(['--from=build /build/app/ ./']);
  expect(valuesOf(final, 'RUN')).toEqual([
    'ln -s /app/dist/cli.js /usr/local/bin/mooring && install -d -m 700 -o node -g node data',
  ]);
  expect(valuesOf(final, 'WORKDIR')).toEqual(['/app']);
  expect(final.steps.findIndex(({ instruction }) => instruction === 'USER')).toBeGreaterThan(
    final.steps.findLastIndex(({ instruction }) => instruction === 'RUN'),
  );
});

describe('deploy/postgres.sql', () => {
  let directory: string;
  let server: EmbeddedPostgres;
  /** URLs of the server: of the superuser `postgres`, and of the service in compose. */
  let superuser: string;
  let service: string;

  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'mooring-role-'));
    server = await startEmbeddedPostgres(directory, { durable: false });
    const url = (user: string, password: string, database: string) => {
      const { host } = new URL(server.url);
      return `postgres://${user}:${password}@${host}/${database}`;
    };
    superuser = url('postgres', 'first', 'postgres');
    service = url('mooring', "it's", 'mooring');
    // As in the image of PostgreSQL, the superuser is `postgres`, and there is no role or database of the service.
    await execute(server.url, "create role postgres superuser login password 'first'");
    await execute(
      superuser,
      'alter database mooring rename to embedded',
      'alter role mooring rename to embedded',
    );
    await execute(superuser, ...statementsOf(read('deploy/postgres.sql'), { POSTGRES_PASSWORD: "it's" }));
  });
  afterAll(async () => {
    await server?.stop();
    rmSync(directory, { recursive: true, force: true });
  });

  test('creates a role without further rights, which can run the migrations', async () => {
    const rights = `select rolsuper, rolcreatedb, rolcreaterole, rolreplication, rolbypassrls
      from pg_roles where rolname = current_user`;
    expect(await execute(service, rights)).toEqual([
      {
        rolsuper: false,
        rolcreatedb: false,
        rolcreaterole: false,
        rolreplication: false,
        rolbypassrls: false,
      },
    ]);
    expect((await migrate(service)).length).toBeGreaterThan(0);
  });

  test('leaves the superuser without a password, so that it cannot connect over the network', async () => {
    await expect(execute(superuser, 'select 1')).rejects.toThrow(/password authentication failed/);
  });

  test('lets no other role connect to the database', async () => {
    await execute(service, 'select 1');
    const [row] = await execute(
      service,
      "select has_database_privilege('pg_monitor', 'mooring', 'connect') as may",
    );
    expect(row).toEqual({ may: false });
  });
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
  const client = new pg.Client(url);
  await client.connect();
  try {
    let rows: unknown[] = [];
    for (const statement of statements) ({ rows } = await client.query<pg.QueryResultRow>(statement));
    return rows;
  } finally {
    await client.end();
  }
}
