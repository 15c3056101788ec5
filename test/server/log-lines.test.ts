import { execFileSync } from 'node:child_process';
import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import type { LogLevel } from '../../src/core/config.js';
import { LibraryOutput } from '../../src/core/library-output.js';
import { AppLogger } from '../../src/core/logger.js';
import { OutageLog } from '../../src/database/outage-log.js';
import { TcpProxy } from '../support/databases/outage-harness.js';
import { call, createDatabase } from '../support/harness.js';
import { Terminal } from '../support/processes/cli-harness.js';
import { freePort, MAIN, ServerProcess } from '../support/processes/server-process.js';
import { temporaryFolder } from '../support/folders.js';

const folder = temporaryFolder();
const database = await createDatabase();
const terminal = new Terminal({});
const PRINT_ON_SIGNAL = `process.on('SIGUSR2', () => console.trace(new Error('a canary')));`;

/** Creates a log that collects its parsed lines. */
function makeLog(level: LogLevel = 'debug'): { log: AppLogger; lines: Record<string, unknown>[] } {
  const lines: Record<string, unknown>[] = [];
  return { log: new AppLogger(level, { write: (line) => void lines.push(JSON.parse(line)) }), lines };
}

test('an error that Nest reports with its stack, as for a failed shutdown, is logged without its message', () => {
  const { log, lines } = makeLog();
  const error = new Error('ada@example.com is in this message');
  log.error(error, error.stack);
  log.error(error, error.stack, 'ExceptionsHandler');
  log.warn(error.message, error.stack);
  expect(lines).toMatchObject([
    { msg: 'framework error', error: 'Error', at: expect.stringContaining('log-lines') },
    { msg: 'framework error', context: 'ExceptionsHandler' },
    { msg: 'framework warning' },
  ]);
  expect(JSON.stringify(lines)).not.toContain('ada@example.com');
});

describe('in the journal of systemd', () => {
  const JOURNAL_LINE = /^<[2-7]>\{"level":\d\d,.*\}$/;

  test('each line begins with the priority of its level', async () => {
    const journal = join(folder, 'journal');
    const stdout = openSync(journal, 'a');
    const { dev, ino } = fstatSync(stdout);
    const port = await freePort();
    const settings = { PORT: String(port), DATA_DIR: folder, DATABASE_URL: database.url, LOG_LEVEL: 'debug' };
    const server = new ServerProcess({ ...settings, JOURNAL_STREAM: `${dev}:${ino}` }, { stdout });
    await server.ready();
    for (const path of ['/health/live', '/v1/manifest']) await call(`http://127.0.0.1:${port}`, 'GET', path);
    await server.end();
    closeSync(stdout);
    const lines = readFileSync(journal, 'utf8').trim().split('\n');
    expect(lines.filter((line) => !JOURNAL_LINE.test(line))).toEqual([]);
    expect(lines).toContainEqual(expect.stringMatching(/^<7>\{"level":20,.*"route":"\/health\/live"/));
    expect(lines).toContainEqual(expect.stringMatching(/^<6>\{"level":30,.*"route":"\/v1\/manifest"/));
  });

  test.each([
    ['with the priority of an error in the journal', 0, '<3>'],
    ['without a priority in another file', 1, ''],
  ])('an error that ends the start is printed %s', (what, otherInode, priority) => {
    const output = openSync(join(folder, what), 'a');
    const { dev, ino } = fstatSync(output);
    const env = { NODE_ENV: 'staging', JOURNAL_STREAM: `${dev}:${ino + otherInode}` };
    expect(() =>
      execFileSync(process.execPath, [MAIN], { env, stdio: ['ignore', 'ignore', output] }),
    ).toThrow();
    closeSync(output);
    expect(readFileSync(join(folder, what), 'utf8')).toBe(
      `${priority}NODE_ENV must be development or production.\n`,
    );
  });
});

test('health checks are logged at level debug only', () => {
  const record = { method: 'GET', status: 200, milliseconds: 1, request_id: 'x' };
  const routes = ['/health/live', '/health/ready', '/v1/keys'];
  const loggedAt = (level: LogLevel) => {
    const { log, lines } = makeLog(level);
    for (const route of routes) log.logResponse({ ...record, route });
    return lines.map(({ route }) => route);
  };
  expect(loggedAt('info')).toEqual(['/v1/keys']);
  expect(loggedAt('debug')).toEqual(routes);
});

describe('the output of a library', () => {
  test('is logged once a minute, with the fields of its error and without its text', () => {
    const { log, lines } = makeLog();
    let now = 0;
    const output = new LibraryOutput(log, () => now);
    const target = { ...console };
    output.capture(target);
    const error = Object.assign(new Error('Key (email)=(ada@example.com)'), { code: '23505' });
    for (; now < 60_000; now += 1_000) target.trace('failed for ada@example.com', error);
    target.trace(error);
    target.warn('ada@example.com');
    expect(lines).toEqual([
      expect.objectContaining({
        msg: 'library output',
        source: 'console.trace',
        error: 'Error',
        code: '23505',
      }),
      expect.objectContaining({ source: 'console.trace', left_out: 59 }),
      expect.objectContaining({ source: 'console.warn', at: expect.stringContaining('log-lines') }),
    ]);
    expect(JSON.stringify(lines)).not.toContain('ada');
  });

  test('that is logged again after a minute does not remove the counts of the others', () => {
    const { log, lines } = makeLog();
    let now = 0;
    const output = new LibraryOutput(log, () => now);
    const errors = Array.from({ length: 100 }, (_, i) => Object.assign(new Error(), { code: `E${i}` }));
    const printAll = () => errors.forEach((error) => output.write('a library', [error]));
    printAll();
    printAll();
    now = 60_000;
    printAll();
    expect(lines.slice(100)).toEqual(
      errors.map(({ code }) => expect.objectContaining({ code, left_out: 1 })),
    );
  });
});

test('an outage is logged when it begins, every ten minutes, and when it has ended', () => {
  const { log, lines } = makeLog();
  let now = 0;
  const outages = new OutageLog(log, 'postgres://u:canary@db.example.com/d', () => now);
  const refused = Object.assign(new Error('connect'), { code: 'ECONNREFUSED', syscall: 'connect' });
  const wrongPassword = Object.assign(new Error('password'), { code: '28P01' });
  outages.succeeded();
  for (; now <= 600_000; now += 1_000)
    expect(outages.reports(now < 600_000 ? refused : wrongPassword)).toBe(true);
  outages.succeeded();
  outages.succeeded();
  expect(outages.reports(new TypeError('a bug'))).toBe(false);
  const host = 'db.example.com:5432';
  expect(lines).toEqual([
    expect.objectContaining({ msg: 'waiting for the database', level: 40, host, reason: 'ECONNREFUSED' }),
    expect.objectContaining({
      reason: expect.stringMatching(/refuses the password of the role u: .*DATABASE_URL/),
    }),
    expect.objectContaining({ msg: 'database available', level: 30, host }),
  ]);
  expect(JSON.stringify(lines)).not.toContain('canary');
});

describe('a start, or the migration with which it begins,', () => {
  const changedUrl = (change: (url: URL) => void) => {
    const url = new URL(database.url);
    change(url);
    return url.href;
  };

  test.each<[what: string, change: (url: URL) => void, sentence: RegExp]>([
    [
      'a wrong password',
      (url) => (url.password = 'canary'),
      /^PostgreSQL at 127\.0\.0\.1:\d+ refuses the password of the role \w+: correct it in DATABASE_URL\.\n$/,
    ],
    ['an unknown role', (url) => (url.username = 'nobody'), /^PostgreSQL at .* of the role nobody: /],
    [
      'an unknown database',
      (url) => (url.pathname = '/none'),
      /^PostgreSQL at .* has no database none: create it, or correct DATABASE_URL\.\n$/,
    ],
    [
      'no password',
      (url) => (url.password = ''),
      /^PostgreSQL at .* requires a password: add it to DATABASE_URL\.\n$/,
    ],
  ])(
    'with %s ends at once with exit code 2 and one sentence, as does a command',
    async (what, change, sentence) => {
      const env = { DATABASE_URL: changedUrl(change), PORT: '0' };
      const runs = [await terminal.run(['migrate'], { env }), await terminal.run(['status'], { env })];
      // A start takes much longer than its migration, which fails.
      if (what === 'a wrong password') runs.push(await terminal.run([], { program: MAIN, env }));
      for (const run of runs) {
        expect({ code: run.code, stdout: run.stdout }).toEqual({ code: 2, stdout: '' });
        expect(run.stderr).toMatch(sentence);
        expect(run.stderr).not.toContain('canary');
      }
    },
  );
});

describe('a start that waits for its database, and whose output is not the journal,', () => {
  let server: ServerProcess;
  const proxy = new TcpProxy();

  beforeAll(async () => {
    proxy.port = await freePort();
    proxy.target = Number(new URL(database.url).port);
    const url = Object.assign(new URL(database.url), { port: String(proxy.port) }).href;
    server = new ServerProcess(
      { PORT: '0', DATA_DIR: folder, DATABASE_URL: url, JOURNAL_STREAM: '1:1' },
      { nodeArguments: ['--import', `data:text/javascript,${encodeURIComponent(PRINT_ON_SIGNAL)}`] },
    );
    await server.waitForOutput('stderr', /\n/);
    await proxy.open();
    await server.ready();
  });

  test('says so once, with host and reason, and continues when the database answers', () => {
    expect(server.stderr).toMatch(
      new RegExp(
        `^Waiting for the database at 127\\.0\\.0\\.1:${proxy.port} \\(ECONNREFUSED\\)\\.\\n\\n +Mooring is ready`,
      ),
    );
  });

  test('writes the output of a library to the log, not to standard error', async () => {
    server.child.kill('SIGUSR2');
    await server.waitForOutput('stdout', /"source":"console\.trace".*"msg":"library output"/);
    expect(server.stdout + server.stderr).not.toContain('a canary');
  });

  test('writes lines that begin with the JSON', async () => {
    expect((await server.end()).code).toBe(0);
    const lines = server.stdout.trim().split('\n');
    expect(lines.filter((line) => !line.startsWith('{"level":'))).toEqual([]);
    expect(lines.length).toBeGreaterThan(0);
  });
});
