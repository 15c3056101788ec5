import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { readPidFile } from '../../src/database/embedded/pid-file.js';
import { LOCKS } from '../../src/database/locks.js';
import { isPostmaster } from '../../src/database/embedded/postgres-process.js';
import type { Finding } from '../../src/cli/doctor/report.js';
import { createKeyRing } from '../../src/keys/tokens/key-ring.js';
import { call, connect as connectToDatabase, createDatabase, type TestDatabase } from '../support/harness.js';
import { Terminal } from '../support/processes/cli-harness.js';
import { everyProcess } from '../support/processes/processes.js';
import { freePort, ServerProcess, type ProcessOptions } from '../support/processes/server-process.js';
import { PRODUCTION_SETTINGS } from '../support/production.js';
import { temporaryFolder } from '../support/folders.js';
import { until } from '../support/until.js';
import { query } from '../support/databases/replica-harness.js';
import { WAITING_ADVISORY_LOCKS, waitingLocks } from '../support/tables.js';

/** A module with which a process resolves no name of `.internal`, as while no name server can be reached. */
const RESOLVES_NO_NAME = `
  import dns from 'node:dns';
  const { lookup } = dns;
  dns.lookup = (name, ...rest) =>
    name.endsWith('.internal')
      ? process.nextTick(rest.at(-1), Object.assign(new Error('try again'), { code: 'EAI_AGAIN' }))
      : lookup(name, ...rest);`;

const folder = temporaryFolder();
const processes: ServerProcess[] = [];

const database = await createDatabase();
afterEach(() => Promise.all(processes.splice(0).map((process) => process.end('SIGKILL'))));

function launch(settings: Record<string, string>, options?: ProcessOptions): ServerProcess {
  const server = new ServerProcess({ DATA_DIR: join(folder, 'keys'), ...settings }, options);
  processes.push(server);
  return server;
}

/** Starts the service on a free port, with the database of this file. */
async function launchWithDatabase(settings: Record<string, string> = {}, options?: ProcessOptions) {
  const port = await freePort();
  const server = launch({ PORT: String(port), DATABASE_URL: database.url, ...settings }, options);
  return { server, url: `http://127.0.0.1:${port}` };
}

/** Runs `mooring doctor` beside a service. @returns its findings that are not `ok` */
async function findFaults(settings: Record<string, string>): Promise<Finding[]> {
  const terminal = new Terminal({ DATA_DIR: join(folder, 'keys'), ...settings });
  const { checks } = await terminal.json(['doctor'], { env: { PUBLIC_URL: undefined } });
  return (checks as Finding[]).filter(({ status }) => status !== 'ok');
}

/** Waits for the `curl` line that the service prints at its start. @returns the request of that line */
async function readPrintedCall(server: ServerProcess) {
  const line = await server.waitForOutput('stderr', /^curl -sS (\S+) -H '([\w-]+): ([^']*)' -d '([^']*)'$/m);
  const [, url, header, value, body] = line as unknown as string[];
  return { url: url!, headers: { [header!]: value! }, body: body! };
}

describe('with a database of its own', () => {
  const dataDir = join(folder, 'data');
  const cluster = join(dataDir, 'postgres');
  const postmasterPid = () => readPidFile(cluster)?.pid ?? 0;
  const start = () => launch({ PORT: '0', DATA_DIR: dataDir });
  // Ends the PostgreSQL processes that a failed test has left.
  afterAll(() => postgresProcessesIn(cluster).forEach((pid) => process.kill(pid, 'SIGQUIT')));
  let port: string;
  let token: string;

  test('the first start prints a curl line that activates a machine, and a link that signs an admin in', async () => {
    port = String(await freePort());
    const server = await launch({ PORT: port, DATA_DIR: dataDir }).ready();
    const { url, ...request } = await readPrintedCall(server);
    expect(new URL(url).port).toBe(port);
    const answer = await call(
      new URL(url).origin,
      'POST',
      new URL(url).pathname,
      request.body,
      request.headers,
    );
    expect([answer.status, answer.json.activation.hostname_hint]).toEqual([201, 'Studio Mac']);
    token = answer.json.token as string;
    const link = await server.waitForOutput('stderr', /^ {2}Support +(\S+)\/support\/#link=([\w-]{43})$/m);
    const [, base, secret] = link as unknown as string[];
    const signedIn = await call(
      base!,
      'POST',
      '/support/api/session/link',
      { link: secret },
      { origin: base! },
    );
    expect([base, signedIn.status]).toEqual([`http://localhost:${port}`, 204]);
    const cookie = signedIn.cookies[0]!.split(';')[0]!;
    const { json } = await call(base!, 'GET', '/support/api/session', undefined, { cookie });
    expect(json).toMatchObject({ email: 'admin@example.com', role: 'admin' });

    expect(await findFaults({ PORT: port, DATA_DIR: dataDir })).toEqual([]);

    // After SIGKILL the PostgreSQL process of the service still runs, as after a crash.
    const orphanPid = postmasterPid();
    await server.end('SIGKILL');
    expect(isPostmaster(orphanPid, cluster)).toBe(true);
  });

  test('after SIGKILL and a restart the activation still exists; two SIGINT end the service, PostgreSQL and postgres.json', async () => {
    const server = await launch({ PORT: port, DATA_DIR: dataDir }).ready();
    const beat = await call(`http://127.0.0.1:${port}`, 'POST', '/v1/heartbeat', {
      token,
      app_version: '1.0.0',
    });
    expect(beat.status).toBe(200);
    const postgresPid = postmasterPid();
    const stateFile = join(dataDir, 'postgres.json');
    expect([isPostmaster(postgresPid, cluster), existsSync(stateFile)]).toEqual([true, true]);
    const { pid } = server.child;
    process.kill(pid!, 'SIGINT');
    process.kill(pid!, 'SIGINT');
    expect(await server.exited).toEqual({ code: 0, signal: null });
    expect([isPostmaster(postgresPid, cluster), existsSync(stateFile)]).toEqual([false, false]);
    expect(existsSync(join(cluster, 'postmaster.pid'))).toBe(false);
  });

  test('SIGTERM while PostgreSQL is starting leaves no PostgreSQL process', async () => {
    const server = start();
    while (!existsSync(join(cluster, 'postmaster.pid')) && server.isRunning)
      await new Promise((resolve) => setImmediate(resolve));
    expect((await server.end('SIGTERM')).code).toBe(0);
    expect(postgresProcessesIn(cluster)).toEqual([]);
  });
});

/** Opens connections without a request, or with an incomplete one. @returns a promise of the end of each */
async function connectIncompletely(port: number): Promise<Promise<unknown>[]> {
  const incompleteRequests = [
    '',
    'GET /v1/manifest HT',
    'POST /v1/activate HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n{',
  ];
  return Promise.all(
    incompleteRequests.map(async (text) => {
      const socket = connect(port, '127.0.0.1').on('error', () => undefined);
      await once(socket, 'connect');
      socket.write(text);
      return { closed: new Promise((resolve) => socket.resume().once('close', resolve)) };
    }),
  ).then((all) => all.map(({ closed }) => closed));
}

/** The ids of the PostgreSQL processes that run in a directory. */
function postgresProcessesIn(cluster: string): number[] {
  return everyProcess()
    .map(({ pid }) => pid)
    .filter((pid) => isPostmaster(pid, cluster));
}

describe('with an existing database', () => {
  describe('with given manifest keys, and without PORT', () => {
    const MANIFEST_PUBLIC_KEYS = '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo';
    const taken = createServer((socket) => socket.destroy());
    let empty: TestDatabase;
    let port: number;
    let server: ServerProcess;
    beforeAll(async () => {
      // The tests also work if another process uses the port already. `mooring doctor` asks it whether Mooring answers there.
      taken.listen(3000, '127.0.0.1');
      await Promise.race([once(taken, 'listening'), once(taken, 'error')]).catch(() => undefined);
      empty = await createDatabase();
      const settings = { DATABASE_URL: empty.url, DATA_DIR: join(folder, 'keys'), MANIFEST_PUBLIC_KEYS };
      server = await new ServerProcess(settings).ready();
      const { url } = await readPrintedCall(server);
      port = Number(new URL(url).port);
    });
    afterAll(() => void taken.close());
    const origin = () => `http://127.0.0.1:${port}`;

    test('if port 3000 is in use, the service uses the next free port and prints it', async () => {
      expect(port).toBeGreaterThan(3000);
      expect((await call(origin(), 'GET', '/health/live')).json).toEqual({ status: 'ok' });
      expect(server.stderr).toContain(`Mooring is ready at http://localhost:${port} `);
      // The tests connect to PostgreSQL as its superuser, which the check `role` reports.
      expect(await findFaults({ DATABASE_URL: empty.url, MANIFEST_PUBLIC_KEYS })).toMatchObject([
        { check: 'role' },
      ]);
    });

    test('the service has no sample manifest, because it has no private key to sign one', async () => {
      const { json } = await call(origin(), 'GET', '/v1/manifest');
      expect(json.code).toBe('no_version_published');
    });

    test('SIGTERM lets a request in progress complete, and connections without a complete request do not delay the end', async () => {
      const { body } = await readPrintedCall(server);
      const lock = await connectToDatabase(empty.url);
      await lock.query('begin; lock table license in access exclusive mode');
      const answer = call(origin(), 'POST', '/v1/activate', body);
      for (let waiting = 0; waiting === 0;) {
        const { rowCount } = await lock.query(waitingLocks('license'));
        waiting = rowCount!;
      }
      const closed = await connectIncompletely(port);
      server.child.kill('SIGTERM');
      // Waits until the service has received the signal and accepts no new connection.
      while (
        await fetch(`${origin()}/health/live`).then(
          () => true,
          () => false,
        )
      );
      await lock.query('rollback');
      expect((await answer).status).toBe(201);
      // A service that does not end within 10 seconds exits with another code (`src/server/serve.ts`).
      expect(await server.exited).toEqual({ code: 0, signal: null });
      // Node.js itself may close some of the incomplete connections, which the service then does not count.
      expect(server.stdout).toMatch(/"answered":[1-9]\d*,"cut":[123],.*"msg":"requests ended"/);
      await Promise.all(closed);
    });
  });

  test('a start that waits for the migrations of another instance says so, and SIGTERM ends it with exit code 0', async () => {
    const other = await connectToDatabase(database.url);
    await other.query('select pg_advisory_lock($1)', [LOCKS.migrate]);
    const { server } = await launchWithDatabase();
    await server.waitForOutput('stderr', /^Waiting for another instance, which migrates the database\.$/m);
    expect(await server.end('SIGTERM')).toEqual({ code: 0, signal: null });
    expect(server.stderr.match(/Waiting/g)).toHaveLength(1);
    await other.end();
  });

  test.each([
    ['an address that the machine does not have', '192.0.2.1', 'EADDRNOTAVAIL'],
    ['a name while no name server answers', 'instance.internal', 'EAI_AGAIN'],
  ])(
    '%s ends the start with exit code 1, because that may change after the boot',
    async (_what, HOST, code) => {
      const TOKEN_KEYS_DIR = join(folder, `production keys ${code}`);
      await createKeyRing(TOKEN_KEYS_DIR, new Date());
      const { server } = await launchWithDatabase(
        {
          ...PRODUCTION_SETTINGS,
          TOKEN_KEYS_DIR,
          LICENSE_KEY_SECRET: randomBytes(32).toString('base64'),
          DATABASE_URL: (await createDatabase()).url,
          HOST,
          METRICS_PORT: '0',
        },
        { nodeArguments: ['--import', `data:text/javascript,${encodeURIComponent(RESOLVES_NO_NAME)}`] },
      );
      expect(await server.exited).toEqual({ code: 1, signal: null });
      expect(server.stderr.replace(/(?<=PORT )\d+/, 'N')).toBe(
        `Mooring cannot listen on HOST ${HOST}, PORT N (${code}).\n`,
      );
    },
  );

  test('a sample that cannot be created is logged, and does not end the service, which ends when its launcher ends', async () => {
    const { url: databaseUrl } = await createDatabase();
    await query(
      databaseUrl,
      `create function refuse() returns trigger language plpgsql as $$ begin raise 'refused'; end $$;
       create trigger refuse before insert on license for each row execute function refuse()`,
    );
    const { server, url } = await launchWithDatabase({ DATABASE_URL: databaseUrl }, { hasIpc: true });
    await server.ready();
    await server.waitForOutput('stdout', /"level":50.*"msg":"sample data not created"/);
    expect(server.stderr).not.toContain('Sample license');
    expect((await call(url, 'GET', '/health/live')).json).toEqual({ status: 'ok' });
    server.child.disconnect();
    expect(await server.exited).toEqual({ code: 0, signal: null });
  });
});

test('two services that start at once on an empty database create one sample license, and confirm the tokens of each other', async () => {
  const name = `${new URL(database.url).pathname.slice(1)}_empty`;
  await query(database.url, `create database ${name}`);
  const empty = new URL(database.url);
  empty.pathname = `/${name}`;
  const lock = await connectToDatabase(empty.href);
  await lock.query('select pg_advisory_lock($1)', [LOCKS.sampleData]);
  const ports = await Promise.all(Array.from({ length: 2 }, freePort));
  const servers = ports.map((port) =>
    launch({ PORT: String(port), DATABASE_URL: empty.href, DATA_DIR: join(folder, 'two') }),
  );
  // Both services have found no license, and wait to create the sample one.
  const countWaiting = async () => (await lock.query(WAITING_ADVISORY_LOCKS, [LOCKS.sampleData])).rowCount;
  await until(async () => (await countWaiting()) === servers.length);
  await lock.end();
  await Promise.all(servers.map((server) => server.ready()));
  for (const port of ports) {
    expect((await call(`http://127.0.0.1:${port}`, 'GET', '/health/ready')).json).toEqual({
      status: 'ready',
      warnings: [],
    });
  }
  expect(await query(empty.href, 'select 1 from license')).toHaveLength(1);
  const { body } = await readPrintedCall(servers[0]!);
  const { json } = await call(`http://127.0.0.1:${ports[0]}`, 'POST', '/v1/activate', body);
  const beat = await call(`http://127.0.0.1:${ports[1]}`, 'POST', '/v1/heartbeat', {
    token: json.token,
    app_version: '1.0.0',
  });
  expect(beat.status).toBe(200);
  await Promise.all(servers.map((server) => server.end()));
  await query(database.url, `drop database ${name} with (force)`);
});
