import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import {
  DISK_IMAGE,
  PASSPHRASE,
  Publisher,
  PUBLISH,
  signArgs,
  UNREACHABLE_URL,
  type RunOptions,
} from '../support/processes/cli-harness.js';
import { FakeClock, Service } from '../support/harness.js';

const SCRIPT = fileURLToPath(new URL('../../scripts/package-cli.mjs', import.meta.url));

/** Started by the test that publishes, when its key is known. */
let service: Service | undefined;
/** The publisher's machine: a folder outside the repository, in which the packaged file is the only program. */
const publisher = await Publisher.at(UNREACHABLE_URL);
delete publisher.env['DATABASE_URL'];
delete publisher.env['MANIFEST_PUBLIC_KEYS'];
execFileSync(process.execPath, [SCRIPT, publisher.dir], { stdio: 'ignore' });
const program = publisher.file('mooring.cjs');

const run = (args: string[], options: RunOptions = {}) => publisher.run(args, { ...options, program });

test('the packaged file needs nothing but Node, and has the licenses of the packages in it', () => {
  expect(readdirSync(publisher.dir)).not.toContain('node_modules');
  const code = readFileSync(program, 'utf8');
  const required = [...code.matchAll(/\brequire\("([^"]+)"\)/g)].map(([, name]) => name!);
  expect(required.length).toBeGreaterThan(3);
  expect(required.filter((name) => !builtinModules.includes(name.replace(/^node:/, '')))).toEqual([]);
  expect(code).toMatch(/\n\/\/ commander \d+\.\d+\.\d+\n\/\/\n\/\/ \(The MIT License\)\n/);
  // No code of the server, and no path of the machine that built it.
  expect(code).not.toMatch(/typeorm|@nestjs|fastify|\/node_modules\/|file:\/\//);
});

test('an older Node prints one sentence and ends with 2', async () => {
  const preload = publisher.file('old-node.cjs');
  writeFileSync(preload, "Object.defineProperty(process.versions, 'node', { value: '20.19.0' });");
  const { code, stdout, stderr } = await run(['--help'], { env: { NODE_OPTIONS: `--require ${preload}` } });
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toBe('Mooring needs Node 24 or newer, and this is Node 20.19.0.\n');
});

test('the packaged file makes a key, signs, verifies and publishes a version without a server checkout', async () => {
  const keygen = await run(['manifest', 'keygen', '--out', 'release.pem', '--passphrase-fd', '3', '--json'], {
    fd3: PASSPHRASE,
  });
  expect(keygen).toMatchObject({ code: 0, json: { key_id: expect.any(String) } });
  const { public_key, key_id } = keygen.json;
  service = await Service.start({
    // The publisher signs in a process of its own, with the clock of the machine.
    clock: new FakeClock(new Date()),
    environment: { MANIFEST_PUBLIC_KEYS: public_key },
  });
  const STAFF_TOKEN = await service.staffToken('admin', 'grace@example.com');
  Object.assign(publisher.env, { PUBLIC_URL: service.url, MANIFEST_PUBLIC_KEYS: public_key, STAFF_TOKEN });

  // `signArgs` names the key `two.pem`; this test signs with the key that the packaged file made.
  const args = signArgs('1.0.0', '--first', '--out', '1.json', '--passphrase-fd', '3').map((arg) =>
    arg === 'two.pem' ? 'release.pem' : arg,
  );
  expect(await run(args, { fd3: PASSPHRASE })).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('Written to'),
  });
  expect((await run(['manifest', 'verify', '1.json', '--json'])).json).toMatchObject({
    signed_by: [key_id],
    version: '1.0.0',
  });
  expect((await run([...PUBLISH, '1.json', '--dry-run', '--json'])).json).toMatchObject({ live: null });
  const published = await run([...PUBLISH, '1.json', '--json']);
  expect(published).toMatchObject({ code: 0, json: { version: '1.0.0', served: true } });
  const served = `${service.url}/v1/manifest`;
  expect((await run(['manifest', 'verify', served, '--json'])).json).toMatchObject({ version: '1.0.0' });

  // Each command that signs continues the live manifest of the service.
  writeFileSync(publisher.file('App.dmg'), DISK_IMAGE.replace('image', 'other'));
  const next = [
    'manifest',
    'sign',
    '--dmg',
    'App.dmg',
    '--version',
    '1.1.0',
    '--url',
    'https://dl.example.com/App.dmg',
  ];
  const key = ['--key', 'release.pem', '--passphrase-fd', '3'];
  expect(await run([...next, ...key, '--out', '2.json'], { fd3: PASSPHRASE })).toMatchObject({ code: 0 });
  expect(await run([...PUBLISH, '2.json', '--json'])).toMatchObject({ code: 0, json: { sequence: 2 } });
  const back = ['manifest', 'withdraw', '--back-to', '1.json', ...key, '--out', '3.json'];
  expect(await run(back, { fd3: PASSPHRASE })).toMatchObject({ code: 0 });
  expect(await run([...PUBLISH, '3.json', '--withdraw', '--json'])).toMatchObject({
    code: 0,
    json: { version: '1.0.0' },
  });
  expect((await run(['manifest', 'show', '--json'])).json).toMatchObject({ version: '1.0.0' });
});

test('the packaged file ignores settings of the service, which a CI job may have in its environment', async () => {
  const first = await publisher.sign('1.0.0', '--first', '--public-key', publisher.publicKeyOfTwo);
  const env = {
    DATABASE_URL: 'mysql://127.0.0.1/other',
    DATABASE_READ_URL: 'x',
    LOG_LEVEL: 'warning',
    PORT: 'tcp://172.17.0.2:80',
    SMTP_URL: 'x',
    MANIFEST_PUBLIC_KEYS: publisher.publicKeyOfTwo,
  };
  const file = publisher.writeDocument('first.json', first);
  expect(await run(['manifest', 'verify', file, '--json'], { env })).toMatchObject({
    code: 0,
    json: { version: '1.0.0' },
  });
});

test('without PUBLIC_URL the packaged file says so, although the settings name a database', async () => {
  const env = { PUBLIC_URL: '', DATABASE_URL: 'postgres://127.0.0.1:9/mooring' };
  expect(await run(['manifest', 'show'], { env })).toMatchObject({
    code: 2,
    stdout: '',
    stderr: 'PUBLIC_URL must be given: the live manifest is read from there.\n',
  });
});

test('without STAFF_TOKEN the packaged file refuses to publish in one sentence, and it has only the commands of publishers', async () => {
  publisher.writeDocument(
    'any.json',
    await publisher.sign('1.0.0', '--first', '--public-key', publisher.publicKeyOfTwo),
  );
  const refused = await run([...PUBLISH, 'any.json'], { env: { STAFF_TOKEN: '' } });
  expect(refused).toMatchObject({ code: 1, stdout: '' });
  expect(refused.stderr).toMatch(
    /^This command line is for publishers and opens no database: set STAFF_TOKEN [^\n]+\n$/,
  );
  const { stdout } = await run(['--help']);
  expect([...stdout.matchAll(/^ {2}([a-z]+) /gm)].map(([, name]) => name)).toEqual([
    'manifest',
    'completion',
    'help',
  ]);
  expect(await run(['license', 'list'])).toMatchObject({ code: 2, stderr: "Unknown command 'license'.\n" });
  expect((await run(['completion', 'bash'])).stdout).toContain("' manifest sign'");
  expect((await run(['--version'])).stdout).toMatch(/^\d+\.\d+\.\d+ \(Node \d+\.\d+\.\d+\)\n$/);
});
