import { spawn } from 'node:child_process';
import { generateKeyPairSync, randomBytes, type KeyObject } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import type { Finding } from '../../src/cli/doctor/report.js';
import { DAY_MS } from '../../src/core/clock.js';
import { publicJwk } from '../../src/keys/ed25519/ed25519.js';
import { manifestBytes, signManifest } from '../../src/keys/manifests/signed-manifest.js';
import { nextManifest } from '../../src/manifest/manifest.rules.js';
import { SmtpServer } from '../mail/smtp-server.js';
import { makeCertificate } from '../support/certificate.js';
import { createDatabase, Service, connect } from '../support/harness.js';
import { CLI, Terminal, type Run } from '../support/processes/cli-harness.js';
import { PRODUCTION_SETTINGS } from '../support/production.js';
import { baseEnvironment, freePort, MAIN } from '../support/processes/server-process.js';
import { query } from '../support/databases/replica-harness.js';
import { WITHOUT_ROOT_RIGHTS } from '../support/processes/without-root-rights.js';
import { listen } from '../support/listen.js';

const isRoot = process.getuid!() === 0;

// No output may contain this text.
const SECRET = 'canary-secret-5f1c';

type Settings = Record<string, string | undefined>;

/** A production with its own database and secrets, in which no service runs. */
const database = await createDatabase();
const terminal = new Terminal({});
const secrets = await terminal.init('secrets');
const production = {
  ...PRODUCTION_SETTINGS,
  ...secrets,
  DATABASE_URL: database.url,
  PORT: String(await freePort()),
  TOMBSTONE_FILE: terminal.file('erased.txt'),
};
await terminal.json(['staff', 'add', 'ada@example.com', '--role', 'admin'], { env: production });
await terminal.json(['license', 'issue', '--email', 'ada@example.com'], { env: production });
/** A mail server that refuses each sign-in. Its port is also the one that is in use when PORT or METRICS_PORT is tested. */
const mailServer = await SmtpServer.start();
mailServer.misbehave('auth', 535);

/** Runs `mooring doctor --json` with changed settings. */
async function diagnose(changes: Settings = {}): Promise<Run & { checks: Finding[]; failures: Finding[] }> {
  const run = await terminal.run(['doctor', '--json'], { env: { ...production, ...changes } });
  const checks = run.json.checks as Finding[];
  return { ...run, checks, failures: checks.filter(({ status }) => status === 'fail') };
}

/** Publishes the first manifest of a database, signed with a key. */
async function publishFirst(url: string, key: KeyObject): Promise<void> {
  const now = new Date();
  const dmg = { url: 'https://dl.example.com/App.dmg', size: 1, sha256: 'a'.repeat(64) };
  const offer = {
    entry: { version: '1.0.0', dmg, minimum_license_expiry: null },
    also_available: [],
    expires: new Date(now.getTime() + 90 * DAY_MS),
  };
  const signed = manifestBytes(nextManifest(null, offer, { product: 'com.example.app', now }));
  const { signatures } = signManifest(signed, [key]);
  const sql = 'insert into manifest (sequence, signed, signatures, published_at) values (1, $1, $2, $3)';
  await query(url, sql, [signed, JSON.stringify(signatures), now]);
}

test('with right settings every line is ok or a warning, and the exit code is 0', async () => {
  const { code, stderr, checks } = await diagnose();
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  // The free space of the disk of the tests may change at any time: test/unit/doctor.test.ts checks what is found.
  const isDisk = ({ check }: Finding) => check === 'data folder';
  expect(checks.filter(isDisk)).toHaveLength(1);
  const others = checks.filter((each) => !isDisk(each));
  const names = (status: string) => others.filter((each) => each.status === status).map(({ check }) => check);
  expect(names('ok')).toEqual([
    'versions',
    'settings',
    'pages',
    'token keys',
    'manifest keys',
    'languages',
    'tombstones',
    'database',
    'clock',
    'schema',
    'secret',
    'manifest',
    'port',
  ]);
  // The tests run PostgreSQL as its superuser. No service listens and no mail server is configured.
  expect(names('warn')).toEqual([...(isRoot ? ['user'] : []), 'mail server', 'role', 'public URL']);
  for (const { text } of checks) expect(text).toMatch(/^[^\n]+\.$/);
});

test('without --json each finding is a line: the status, the check and a sentence', async () => {
  const { code, stdout } = await terminal.run(['doctor'], { env: production });
  expect(code).toBe(0);
  for (const line of stdout.trim().split('\n')) expect(line).toMatch(/^(ok|warn) +[a-zA-Z ]+ {2,}\S.*\.$/);
});

test('a running service is recognized on its port and at PUBLIC_URL', async () => {
  const PORT = String(await freePort());
  const PUBLIC_URL = `http://127.0.0.1:${PORT}`;
  const service = await Service.start({ environment: { PORT } });
  const { code, checks } = await diagnose({ PORT, PUBLIC_URL });
  expect(code).toBe(0);
  expect(checks).toContainEqual(
    expect.objectContaining({
      status: 'ok',
      check: 'port',
      text: expect.stringContaining('an instance of Mooring answers there'),
    }),
  );
  expect(checks).toContainEqual({
    status: 'ok',
    check: 'public URL',
    text: `${PUBLIC_URL} answers from this machine.`,
  });
  await service.close();
});

test('in development without settings nothing is created', async () => {
  const empty = new Terminal({});
  const run = await empty.run(['doctor', '--json'], { env: { NODE_ENV: undefined, PUBLIC_URL: undefined } });
  expect(run.code).toBe(0);
  expect(run.json.checks).toContainEqual(
    expect.objectContaining({ check: 'database', status: 'ok', text: expect.stringContaining('embedded') }),
  );
  expect(readdirSync(empty.dir)).toEqual([]);
});

describe('a wrong setting is one line with the remedy, and the exit code is 2:', () => {
  const changedUrl = (change: (url: URL) => void) => () => {
    const url = new URL(database.url);
    change(url);
    return { DATABASE_URL: url.href };
  };
  const file = (name: string, content: string) => {
    writeFileSync(terminal.file(name), content);
    return terminal.file(name);
  };
  const smtp = (SMTP_URL: string) => ({ SMTP_URL, MAIL_FROM: 'licenses@example.com' });
  const missing = (name: string): [string, () => Settings, RegExp] => [
    `${name} missing`,
    () => ({ [name]: undefined }),
    new RegExp(`^In production these settings must be given: ${name} \\(mooring init .*\\.env\\.example`),
  ];

  test.each<[what: string, changes: () => Settings, sentence: RegExp]>([
    ['PUBLIC_URL blank', () => ({ PUBLIC_URL: ' ' }), /must be given: PUBLIC_URL \(/],
    missing('PUBLIC_URL'),
    missing('PRODUCT'),
    missing('DATABASE_URL'),
    missing('LICENSE_KEY_SECRET'),
    missing('TOKEN_KEYS_DIR'),
    missing('MANIFEST_PUBLIC_KEYS'),
    [
      'PUBLIC_URL http',
      () => ({ PUBLIC_URL: 'http://licensing.example.com' }),
      /PUBLIC_URL must be an https URL/,
    ],
    [
      'PUBLIC_URL with a query',
      () => ({ PUBLIC_URL: 'https://example.com/?x' }),
      /^PUBLIC_URL must be .* without a query/,
    ],
    [
      'NODE_ENV missing',
      () => ({ NODE_ENV: undefined }),
      /^With DATABASE_URL, NODE_ENV must be given: set NODE_ENV=production/,
    ],
    ['NODE_ENV unknown', () => ({ NODE_ENV: 'prod' }), /^NODE_ENV must be development or production/],
    [
      'HOST of development',
      () => ({ NODE_ENV: 'development', HOST: '0.0.0.0' }),
      /^Development mode .* set NODE_ENV=production/,
    ],
    [
      '@ in SMTP_URL',
      () => smtp(`smtp://ada@example.com:${SECRET}@127.0.0.1`),
      /SMTP_URL must be escaped: write @ as %40/,
    ],
    [
      '@ in DATABASE_URL',
      () => ({ DATABASE_URL: `postgres://u:p@${SECRET}@127.0.0.1/d` }),
      /DATABASE_URL must be escaped: write @ as %40/,
    ],
    [
      'another LICENSE_KEY_SECRET',
      () => ({ LICENSE_KEY_SECRET: randomBytes(32).toString('base64') }),
      /^LICENSE_KEY_SECRET is not the secret with which this database was made: use that one/,
    ],
    [
      'LICENSE_KEY_SECRET that is not 32 bytes in base64',
      () => ({ LICENSE_KEY_SECRET: SECRET }),
      /^LICENSE_KEY_SECRET must be 32 bytes in base64/,
    ],
    [
      'wrong password',
      changedUrl((url) => (url.password = SECRET)),
      /refuses the password of the role .*: correct it in DATABASE_URL/,
    ],
    [
      'unknown role',
      changedUrl((url) => (url.username = 'nobody')),
      /refuses the password of the role nobody/,
    ],
    [
      'unknown database',
      changedUrl((url) => (url.pathname = '/none')),
      /has no database none: create it, or correct DATABASE_URL/,
    ],
    ['no password', changedUrl((url) => (url.password = '')), /requires a password: add it to DATABASE_URL/],
    [
      'TLS that the server lacks',
      changedUrl((url) => url.searchParams.set('sslmode', 'require')),
      /^DATABASE_URL requires TLS, which the server does not offer: enable/,
    ],
    [
      'DATABASE_URL of another system',
      () => ({ DATABASE_URL: `mysql://u:${SECRET}@h/d` }),
      /^DATABASE_URL must be a URL of the form postgres:/,
    ],
    [
      'DATABASE_READ_URL of the primary',
      () => ({ DATABASE_READ_URL: database.url }),
      /^DATABASE_READ_URL leads to a server that is no replica: give a streaming replica/,
    ],
    [
      'sslmode',
      () => ({ DATABASE_URL: 'postgres://h/d?sslmode=prefer' }),
      /^The sslmode of DATABASE_URL must be verify-full/,
    ],
    ['PORT', () => ({ PORT: 'http' }), /^PORT must be a whole number from 0 to 65535/],
    [
      'PORT in use',
      () => ({ PORT: String(mailServer.port) }),
      /^Mooring cannot listen on HOST 127\.0\.0\.1, PORT \d+ \(EADDRINUSE\): another program uses the port; set another PORT\.$/,
    ],
    [
      'HOST of another machine',
      () => ({ HOST: '192.0.2.1' }),
      /^Mooring cannot listen on HOST 192\.0\.2\.1, PORT \d+ \(EADDRNOTAVAIL\)/,
    ],
    [
      'METRICS_PORT in use',
      () => ({ METRICS_PORT: String(mailServer.port) }),
      /METRICS_PORT \d+ \(EADDRINUSE\): another program uses the port; set another METRICS_PORT\.$/,
    ],
    [
      'METRICS_PORT equal to PORT',
      () => ({ METRICS_PORT: production.PORT }),
      /^METRICS_PORT must differ from PORT\.$/,
    ],
    [
      'SMTP_URL with a wrong password',
      () => smtp(`smtp://ada:${SECRET}@127.0.0.1:${mailServer.port}`),
      /^SMTP_URL cannot be used, because the mail server refused the sign-in \(535\): correct it/,
    ],
    [
      'SMTP_URL without MAIL_FROM',
      () => ({ SMTP_URL: 'smtp://127.0.0.1' }),
      /^With SMTP_URL, MAIL_FROM must be given/,
    ],
    ['MAIL_FROM', () => ({ MAIL_FROM: 'licenses' }), /^MAIL_FROM must be an e-mail address/],
    ['LOG_LEVEL', () => ({ LOG_LEVEL: 'loud' }), /^LOG_LEVEL must be one of trace, /],
    ['PRODUCT with a space', () => ({ PRODUCT: 'My App' }), /^PRODUCT must be 1 to 96 letters, /],
    [
      'TOKEN_KEYS_DIR that does not exist',
      () => ({ TOKEN_KEYS_DIR: terminal.file('none') }),
      /^TOKEN_KEYS_DIR cannot be used: .* holds no ring\.json that can be read \(ENOENT\): correct TOKEN_KEYS_DIR, /,
    ],
    [
      'MANIFEST_PUBLIC_KEYS',
      () => ({ MANIFEST_PUBLIC_KEYS: SECRET }),
      /^MANIFEST_PUBLIC_KEYS must be Ed25519 public keys/,
    ],
    ['LOGO_FILE', () => ({ LOGO_FILE: file('logo.gif', 'GIF89a') }), /^LOGO_FILE must be a PNG or SVG image/],
    [
      'TOMBSTONE_FILE below a file',
      () => ({ TOMBSTONE_FILE: `${file('plain', '')}/erased.txt` }),
      /^TOMBSTONE_FILE cannot be used/,
    ],
    ['DATA_DIR that is a file', () => ({ DATA_DIR: file('data-file', '') }), /^DATA_DIR cannot be used/],
    [
      'SUPPORT_CONTACT',
      () => ({ SUPPORT_CONTACT: 'call us' }),
      /^SUPPORT_CONTACT must be an e-mail address, or/,
    ],
    [
      'NODE_TLS_REJECT_UNAUTHORIZED',
      () => ({ NODE_TLS_REJECT_UNAUTHORIZED: '0' }),
      /^NODE_TLS_REJECT_UNAUTHORIZED must not be 0/,
    ],
  ])('%s', async (_what, changes, sentence) => {
    const { code, stdout, stderr, failures } = await diagnose(changes());
    expect(failures.map(({ text }) => text)).toEqual([expect.stringMatching(sentence)]);
    expect(failures[0]!.text).toMatch(/^[^\n]+\.$/);
    expect(code).toBe(2);
    expect(stderr).toContain(`Checks that failed: ${failures[0]!.check}.\n`);
    expect(stdout + stderr).not.toContain(SECRET);
  });

  test('several wrong settings are reported together', async () => {
    const { code, failures } = await diagnose({ PORT: 'x', LOG_LEVEL: 'loud', PRODUCT: ' ' });
    expect(code).toBe(2);
    expect(failures.map(({ check }) => check)).toEqual(['settings', 'settings', 'settings']);
  });
});

test('a DATA_DIR in which no file can be opened is a wrong setting', async () => {
  const DATA_DIR = terminal.file('closed');
  mkdirSync(DATA_DIR, { mode: 0o600 });
  const command = [...WITHOUT_ROOT_RIGHTS, process.execPath, CLI, 'doctor', '--json'];
  const env = { ...baseEnvironment(), ...production, DATA_DIR };
  const child = spawn(command[0]!, command.slice(1), {
    cwd: terminal.dir,
    env,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const ended = once(child, 'close');
  const { checks } = (await json(child.stdout)) as { checks: Finding[] };
  const failures = checks.filter(({ status }) => status === 'fail');
  expect(failures).toEqual([
    {
      status: 'fail',
      check: 'data folder',
      text: `DATA_DIR cannot be used, because ${DATA_DIR} cannot be written (EACCES): give the user of the service access, or set another path.`,
    },
  ]);
  expect(await ended).toEqual([2, null]);
});

test('settings that do not fit the live manifest are named, by mooring status too', async () => {
  const published = await createDatabase();
  const key = generateKeyPairSync('ed25519').privateKey;
  await publishFirst(published.url, key);
  const found = async (changes: Settings) => {
    const env = { ...production, DATABASE_URL: published.url, ...changes };
    const { code, failures } = await diagnose(env);
    const { warnings } = await terminal.json(['status'], { env });
    const texts = failures.map(({ text }) => text);
    for (const text of texts) expect(warnings).toContain(text);
    return { code, texts };
  };
  const MANIFEST_PUBLIC_KEYS = publicJwk(key).x;
  const wrongKeys = expect.stringMatching(/^MANIFEST_PUBLIC_KEYS has no key that signed the live manifest: /);
  const wrongProduct = expect.stringMatching(
    /^PRODUCT is com\.example\.other, and the live manifest is for com\.example\.app: correct PRODUCT/,
  );
  expect(await found({ MANIFEST_PUBLIC_KEYS })).toEqual({ code: 0, texts: [] });
  expect(await found({})).toEqual({ code: 2, texts: [wrongKeys] });
  expect(await found({ MANIFEST_PUBLIC_KEYS, PRODUCT: 'com.example.other' })).toEqual({
    code: 2,
    texts: [wrongProduct],
  });
  await published.drop();
});

/** Runs doctor and a command, or a start without a command, which must fail with the same sentence. @returns the sentence */
async function failureOfBoth(changes: Settings, other: 'start' | 'migrate'): Promise<string> {
  const { code, failures } = await diagnose(changes);
  const env = { ...production, ...changes };
  const run = await (other === 'start'
    ? terminal.run([], { program: MAIN, env })
    : terminal.run([other], { env }));
  const codes = { doctor: code, [other]: run.code, failures: failures.length };
  expect(codes).toEqual({ doctor: 2, [other]: 2, failures: 1 });
  expect(run.stderr).toBe(`${failures[0]!.text}\n`);
  // Nothing else reports the failure: the log has no error.
  expect(run.stdout).not.toContain('"level":50');
  return failures[0]!.text;
}

/** Runs doctor and `mooring migrate`, which refuses a database as a start does, in a process that has run other commands. */
const databaseFailureOf = (DATABASE_URL: string) => failureOfBoth({ DATABASE_URL }, 'migrate');

describe('doctor and a start, or the migration with which it begins, fail with the same sentence because of', () => {
  const suffix = randomBytes(6).toString('hex');
  const [owner, former, name] = [`owner_${suffix}`, `former_${suffix}`, `rights_${suffix}`];
  const urlOf = (role: string) =>
    Object.assign(new URL(database.url), { username: role, password: 'x', pathname: `/${name}` }).href;
  let admin: pg.Client;
  beforeAll(async () => {
    admin = await connect(database.url);
    await admin.query(`create role ${owner} login password 'x'`);
    await admin.query(`create role ${former} superuser login password 'x'`);
    await admin.query(`create database ${name}`);
  });
  afterAll(async () => {
    await admin.query(`drop database ${name} with (force)`);
    await admin.query(`drop role ${owner}`);
    await admin.query(`drop role ${former}`);
  });

  test('a role that may not create the tables', async () => {
    expect(await databaseFailureOf(urlOf(owner))).toMatch(
      /^The role owner_\w+ lacks a right in the database rights_\w+ at .*: make it the owner, or correct DATABASE_URL/,
    );
  });

  test('a role that owns the database and may not create tables, until this is granted as the sentence says', async () => {
    await admin.query(`alter database ${name} owner to ${owner}`);
    const inDatabase = await connect(Object.assign(new URL(database.url), { pathname: `/${name}` }).href);
    await inDatabase.query('revoke create on schema public from pg_database_owner');
    const sentence = await databaseFailureOf(urlOf(owner));
    const command = `grant all on schema public to ${owner}`;
    expect(sentence).toBe(
      `The role ${owner} owns the database, but may not create tables in its schema public: run ${command} in that database as a superuser (docs/operations/install.md).`,
    );
    await inDatabase.query(command);
    await inDatabase.end();
    expect((await diagnose({ DATABASE_URL: urlOf(owner) })).failures).toEqual([]);
  });

  test('a role that owns the database, and whose search_path names no schema', async () => {
    await admin.query(`alter role ${owner} set search_path = missing`);
    expect(await databaseFailureOf(urlOf(owner))).toMatch(
      /^The search_path of the role owner_\w+ names no schema in the database rights_\w+ at .* that it may use: correct it for the role/,
    );
    await admin.query(`alter role ${owner} reset search_path`);
  });

  test('a role that owns the database and not its tables, until they are reassigned as the sentence says', async () => {
    await terminal.json(['migrate'], { env: { ...production, DATABASE_URL: urlOf(former) } });
    await admin.query(`alter database ${name} owner to ${owner}`);
    const sentence = await databaseFailureOf(urlOf(owner));
    const command = `reassign owned by ${former} to ${owner}`;
    expect(sentence).toBe(
      `The role ${owner} owns the database, but ${former} owns its tables: run ${command} in that database as a superuser (docs/operations/install.md).`,
    );
    const inDatabase = await connect(Object.assign(new URL(database.url), { pathname: `/${name}` }).href);
    await inDatabase.query(command);
    await inDatabase.end();
    const { code, checks } = await diagnose({ DATABASE_URL: urlOf(owner) });
    expect(code).toBe(0);
    expect(checks).toContainEqual(expect.objectContaining({ status: 'ok', check: 'role' }));
  });

  test('a database whose encoding lacks characters of labels', async () => {
    await admin.query(`create database ${name}_latin1 encoding 'LATIN1' locale 'C' template template0`);
    const pathname = `/${name}_latin1`;
    expect(await databaseFailureOf(Object.assign(new URL(database.url), { pathname }).href)).toBe(
      "The database of DATABASE_URL has the encoding LATIN1: create it with encoding 'UTF8' template template0 (docs/operations/install.md).",
    );
    await admin.query(`drop database ${name}_latin1 with (force)`);
  });

  test('a LOGO_FILE that does not exist', async () => {
    expect(await failureOfBoth({ LOGO_FILE: terminal.file('none.png') }, 'start')).toMatch(
      /^LOGO_FILE cannot be read: /,
    );
  });

  test('settings without DATABASE_URL if no embedded PostgreSQL is installed', async () => {
    // For an unknown platform no package is installed, as in an installation from the archive.
    const script = "Object.defineProperty(process, 'arch', { value: 'none' })";
    const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(script)}`;
    const development = Object.fromEntries(Object.keys(production).map((setting) => [setting, undefined]));
    expect(await failureOfBoth({ ...development, NODE_OPTIONS }, 'start')).toBe(
      `No embedded PostgreSQL is installed for ${process.platform}-none: set DATABASE_URL and NODE_ENV=production.`,
    );
  });
});

describe('another fault is one line with the remedy, and the exit code is 1:', () => {
  test.each<[what: string, changes: () => Settings, sentence: RegExp]>([
    [
      'a database that does not run',
      () => ({ DATABASE_URL: 'postgres://u:p@127.0.0.1:9/d' }),
      /^The database at 127\.0\.0\.1:9 does not answer \(ECONNREFUSED\): start it, or correct DATABASE_URL\.$/,
    ],
    [
      'a replica that does not run',
      () => ({ DATABASE_READ_URL: 'postgres://u:p@127.0.0.1:9/d' }),
      /^The replica at 127\.0\.0\.1:9 does not answer \(ECONNREFUSED\): start it, or correct DATABASE_READ_URL\.$/,
    ],
    [
      'a database that accepts no writes, such as a standby',
      () => {
        const url = new URL(database.url);
        url.searchParams.set('options', '-c default_transaction_read_only=on');
        return { DATABASE_URL: url.href };
      },
      /^The database at .* accepts no writes \(25006\): if it is a standby, give its primary in DATABASE_URL, otherwise reset default_transaction_read_only/,
    ],
    [
      'a mail server that does not run',
      () => ({ SMTP_URL: 'smtp://127.0.0.1:9', MAIL_FROM: 'a@example.com' }),
      /^SMTP_URL cannot be used, because the mail server cannot be reached \(ECONNREFUSED\): correct it, or start the server/,
    ],
  ])('%s', async (_what, changes, sentence) => {
    const { code, failures } = await diagnose(changes());
    expect(failures.map(({ text }) => text)).toEqual([expect.stringMatching(sentence)]);
    expect(code).toBe(1);
  });
});

test('a role without a free connection is named', async () => {
  const role = `full_${randomBytes(6).toString('hex')}`;
  await query(database.url, `create role ${role} login password 'x' connection limit 0`);
  const url = Object.assign(new URL(database.url), { username: role, password: 'x' });
  const { code, failures } = await diagnose({ DATABASE_URL: url.href });
  await query(database.url, `drop role ${role}`);
  expect(failures.map(({ text }) => text)).toEqual([
    expect.stringMatching(
      /^The database at .* has no free connection \(53300\): end other connections, or raise/,
    ),
  ]);
  expect(code).toBe(1);
});

describe('a warning says what to do, and the exit code stays 0:', () => {
  const warningsOf = async (changes: Settings = {}) => {
    const { code, checks } = await diagnose(changes);
    return { code, texts: checks.filter(({ status }) => status === 'warn').map(({ text }) => text) };
  };

  test('a database without tables', async () => {
    const name = `doctor_${randomBytes(6).toString('hex')}`;
    await query(database.url, `create database ${name}`);
    const DATABASE_URL = Object.assign(new URL(database.url), { pathname: `/${name}` }).href;
    const { code, texts } = await warningsOf({ DATABASE_URL });
    await query(database.url, `drop database ${name} with (force)`);
    expect(code).toBe(0);
    expect(texts).toContainEqual(
      expect.stringMatching(/^The database lacks schema\d+, .*: run mooring migrate/),
    );
  });

  test('a database without licenses', async () => {
    const empty = await createDatabase();
    const { texts } = await warningsOf({ DATABASE_URL: empty.url });
    await empty.drop();
    expect(texts).toContainEqual(expect.stringMatching(/^The database has no license, .* issue or import/));
  });

  test.each([
    ['755', '600', true],
    ['711', '644', true],
    ['711', '600', false],
    ['700', '644', false],
    ['704', '644', false],
  ])(
    'token keys that every user can access; with folder mode %s and file mode %s there is a warning: %s',
    async (mode, fileMode, isOpen) => {
      const dir = production['TOKEN_KEYS_DIR']!;
      const file = join(
        dir,
        readdirSync(dir).find((name) => name.endsWith('.pem'))!,
      );
      chmodSync(dir, mode);
      chmodSync(file, fileMode);
      const { code, texts } = await warningsOf();
      chmodSync(dir, 0o700);
      chmodSync(file, 0o600);
      expect(code).toBe(0);
      const warning = `Every user has access to ${dir} or its files, unless a folder above denies it: run chmod -R o= ${dir}.`;
      expect(texts.includes(warning)).toBe(isOpen);
    },
  );

  test('MAIL_LANGUAGE without a language file, and a LANGUAGES_DIR that does not exist', async () => {
    mkdirSync(terminal.file('languages'));
    const { texts } = await warningsOf({ LANGUAGES_DIR: terminal.file('languages'), MAIL_LANGUAGE: 'nl' });
    expect(texts).toContainEqual(
      'MAIL_LANGUAGE has no file, so English replaces it (language: nl): see docs/operations/languages.md.',
    );
    expect((await warningsOf({ LANGUAGES_DIR: terminal.file('none') })).texts).toContainEqual(
      expect.stringMatching(/^A folder of LANGUAGES_DIR cannot be read, .*, reason: ENOENT\): see docs/),
    );
  });

  test('a PUBLIC_URL that does not answer as Mooring, with the reason', async () => {
    const { key, cert } = makeCertificate('localhost');
    const proxy = createServer({ key, cert }, (_request, response) => response.end());
    const PUBLIC_URL = `https://localhost:${await listen(proxy)}`;
    expect((await warningsOf({ PUBLIC_URL })).texts).toContainEqual(
      `${PUBLIC_URL} has a certificate of an unknown authority (DEPTH_ZERO_SELF_SIGNED_CERT): correct it, or name the file of the authority in NODE_EXTRA_CA_CERTS.`,
    );
    writeFileSync(terminal.file('ca.pem'), cert);
    const trusted = await warningsOf({ PUBLIC_URL, NODE_EXTRA_CA_CERTS: terminal.file('ca.pem') });
    proxy.close();
    const without = (reason: string) =>
      `${PUBLIC_URL} does not answer as Mooring from this machine (${reason}): start the service and the proxy, or correct PUBLIC_URL.`;
    expect(trusted.texts).toContainEqual(without('another answer'));
    expect((await warningsOf({ PUBLIC_URL })).texts).toContainEqual(without('ECONNREFUSED'));
  });

  test.each(['http://127.0.0.1:9', 'http://[::1]:9'])(
    'PUBLIC_URL with an IP address: %s',
    async (PUBLIC_URL) => {
      expect((await warningsOf({ PUBLIC_URL })).texts).toContainEqual(
        `Browsers create no passkey for ${PUBLIC_URL}, an IP address: give PUBLIC_URL a host name, so that staff can sign in (docs/operations/staff.md).`,
      );
    },
  );

  test('TOMBSTONE_FILE that is not set', async () => {
    const { texts } = await warningsOf({ TOMBSTONE_FILE: undefined });
    expect(texts).toContainEqual(
      expect.stringMatching(/^TOMBSTONE_FILE is not set: set it to a file outside/),
    );
  });
});
