import { randomBytes } from 'node:crypto';
import { readFileSync, symlinkSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { outbox, type Mail } from '../erasure/harness.js';
import { CLI, Terminal } from '../support/processes/cli-harness.js';
import { Service } from '../support/harness.js';
import { until } from '../support/until.js';

const UTC_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;
const REASON = ['--reason', 'asked by phone'];

/** A service that runs during the commands and uses the same database and key folder. */
const service = await Service.start();
const terminal = Terminal.beside(service);

const issue = (...moreArgs: string[]) =>
  terminal.json(['license', 'issue', '--email', 'Grace@Example.com', ...moreArgs]);

const audit = (licenseId: string) =>
  service.sql('select actor, action, reason from audit_event where license_id = $1 order by at, id', [
    licenseId,
  ]);

describe('license', () => {
  test('issue prints the id and the key, which can be activated', async () => {
    const issued = await issue('--machines', '2', '--expires', '2099-01-04', '--on-expiry', 'stop');
    expect(Object.keys(issued)).toEqual(['license_id', 'license_key']);
    const activated = await service.activate({ ...issued, email: 'grace@example.com' });
    expect(activated.status).toBe(201);
    expect(activated.json.license).toEqual({
      status: 'active',
      expires_at: '2099-01-04T00:00:00Z',
      machines_allowed: 2,
      machines_in_use: 1,
    });
    expect(await audit(issued.license_id)).toEqual([{ actor: 'cli', action: 'license.issue', reason: null }]);
  });

  test('show accepts the id, or the key in lower case after a space or with look-alike characters, and prints the license', async () => {
    const { license_id, license_key } = await issue();
    const shown = await terminal.json(['license', 'show', license_id]);
    expect(shown).toEqual({
      license_id,
      key_hint: license_key.slice(-2),
      email: 'grace@example.com',
      is_address_lost: false,
      previous_key_hint: null,
      status: 'active',
      expires_at: null,
      on_expiry: 'keep',
      machines_allowed: 1,
      machines_in_use: 0,
      created_at: expect.stringMatching(UTC_TIME),
      activations: [],
    });
    const lookAlike = license_key.replace('MOOR', 'M00R');
    for (const typed of [` ${license_key.toLowerCase()}`, lookAlike])
      expect(await terminal.json(['license', 'show', typed])).toEqual(shown);
  });

  test('set changes only the given options, and prints the changed license', async () => {
    const { license_id } = await issue('--machines', '3', '--expires', '2099-01-04T12:00:00+02:00');
    const set = (...args: string[]) => terminal.json(['license', 'set', license_id, ...args, ...REASON]);
    const before = {
      machines_allowed: 3,
      expires_at: '2099-01-04T10:00:00Z',
      on_expiry: 'keep',
      status: 'active',
    };
    expect(await set('--status', 'suspended')).toMatchObject({ ...before, status: 'suspended' });
    expect(await set('--expires', 'never', '--machines', '1', '--status', 'active')).toMatchObject({
      ...before,
      machines_allowed: 1,
      expires_at: null,
    });
    expect(await set('--on-expiry', 'stop', '--as', 'grace')).toMatchObject({ on_expiry: 'stop' });
    const entry = { actor: 'cli', action: 'license.set', reason: 'asked by phone' };
    expect((await audit(license_id)).slice(1)).toEqual([entry, entry, { ...entry, actor: 'grace' }]);
  });

  test('after rekey the old key activates no further machine, and active machines stay active', async () => {
    const { license_id, license_key } = await issue();
    const email = 'grace@example.com';
    await service.activate({ license_key, email });
    const rekeyed = await terminal.json(['license', 'rekey', license_id, ...REASON]);
    expect(rekeyed).toEqual({ license_id, license_key: expect.not.stringContaining(license_key) });
    expect((await service.activate({ license_key, email }, 'another')).json.code).toBe('license_not_found');
    expect((await service.activate({ license_key, email })).status).toBe(200);
    expect((await service.activate({ ...rekeyed, email })).status).toBe(200);
    expect(await terminal.run(['license', 'show', license_key])).toMatchObject({ code: 1, stdout: '' });
  });

  test('show without --json prints aligned text', async () => {
    const { license_id } = await issue();
    const { code, stdout, json } = await terminal.run(['license', 'show', license_id]);
    expect({ code, json }).toEqual({ code: 0, json: undefined });
    expect(stdout).toContain(`License   ${license_id}\nStatus    active\nE-mail    grace@example.com\n`);
    expect(stdout).toMatch(/^Expires {3}never$/m);
  });

  test.each([
    ['keep', 'Updates'],
    ['stop', 'Runs'],
  ])(
    'show without --json names the last day before an expiry with --on-expiry %s',
    async (onExpiry, name) => {
      const { license_id } = await issue('--expires', '2099-01-04', '--on-expiry', onExpiry);
      const { stdout } = await terminal.run(['license', 'show', license_id]);
      expect(stdout).toMatch(new RegExp(`^${name} +through 2099-01-03 \\(UTC\\)$`, 'm'));
    },
  );
});

test('activation release ends an activation, and a repetition says that it changed nothing and adds no audit event', async () => {
  const license = { ...(await issue()), email: 'grace@example.com' };
  const { json } = await service.activate(license, 'studio', { hostname_hint: 'Studio Mac' });
  const released = await terminal.json([
    'activation',
    'release',
    json.activation.id,
    ...REASON,
    '--as',
    'grace',
  ]);
  expect(released).toEqual({
    activation_id: json.activation.id,
    hostname_hint: 'Studio Mac',
    app_version: '3.2.0',
    activated_at: json.activation.activated_at,
    state: 'released',
    ended_at: expect.stringMatching(UTC_TIME),
    ended_reason: 'released',
    was_active: true,
  });
  const repeated = ['activation', 'release', json.activation.id, ...REASON];
  expect(await terminal.json(repeated)).toEqual({ ...released, was_active: false });
  expect((await terminal.run(repeated)).stdout).toMatch(/\nIt had ended before, so nothing was changed\.\n$/);
  expect((await service.activate(license, 'laptop')).status).toBe(201);
  expect((await audit(license.license_id)).slice(1)).toEqual([
    { actor: 'grace', action: 'activation.release', reason: 'asked by phone' },
  ]);
});

test('an id may be typed in upper case: it is stored and printed in lower case, and the mail about a release has the reason', async () => {
  const { license_id, license_key } = await issue();
  const { id } = (await service.activate({ license_key, email: 'grace@example.com' })).json.activation;
  const release = await terminal.json(['activation', 'release', id.toUpperCase(), ...REASON]);
  expect(release.activation_id).toBe(id);
  const changes = "select change from audit_event where license_id = $1 and action = 'activation.release'";
  expect(await service.sql(changes, [license_id])).toEqual([{ change: { activation_id: id } }]);
  const isOfRelease = ({ text }: Mail) => text.includes(`Activation id: ends in ${id.slice(-4)}`);
  let mail: Mail | undefined;
  await until(async () => (mail = (await outbox(service)).find(isOfRelease)) !== undefined);
  expect(mail!.text).toContain('Reason: asked by phone');
  const rekey = await terminal.json(['license', 'rekey', license_id.toUpperCase(), ...REASON]);
  expect(rekey.license_id).toBe(license_id);
});

test('staff: a link signs in once, a member can be removed, and the last admin stays an admin', async () => {
  await terminal.json(['staff', 'add', 'root@example.com', '--role', 'admin']);
  await terminal.json(['staff', 'add', 'linus@example.com', '--role', 'support']);
  const made = await terminal.run(['staff', 'link', 'Linus@Example.com', '--json']);
  expect(made.json).toEqual({ link: expect.any(String), expires_at: expect.stringMatching(/^\d{4}-.*Z$/) });
  expect(made.stderr).toContain('shown only now');
  const [, secret] = /^http:\/\/127\.0\.0\.1:9\/support\/#link=([\w-]{43})$/.exec(made.json.link)!;
  const signIn = () => service.call('POST', '/support/api/session/link', { link: secret });
  // The command used the real clock to create the link.
  service.clock.set(new Date());
  expect((await signIn()).status).toBe(204);
  expect((await signIn()).json.code).toBe('link_invalid');
  expect(await terminal.json(['staff', 'remove', 'linus@example.com'])).toEqual({
    email: 'linus@example.com',
    removed: true,
  });
  for (const args of [
    ['staff', 'remove', 'root@example.com'],
    ['staff', 'add', 'root@example.com', '--role', 'support'],
  ]) {
    expect(await terminal.run(args)).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(
        /^Without an admin the staff cannot be managed on the support page\. [^\n]+\n$/,
      ),
    });
  }
  // The next test expects no staff account.
  await service.sql("delete from staff where email = 'root@example.com'");
});

test('staff: the members are listed by address, with role and passkeys', async () => {
  expect(await terminal.run(['staff', 'list'])).toMatchObject({ stdout: 'There are no staff members.\n' });
  const { staff_id } = await terminal.json(['staff', 'add', 'zoe@example.com', '--role', 'admin']);
  await terminal.json(['staff', 'add', 'al@example.com', '--role', 'support']);
  const { stdout } = await terminal.run(['staff', 'list']);
  expect(stdout).toMatch(
    /^E-mail +Role +Passkeys  Added\nal@example\.com +support  0 +\S+Z\nzoe@example\.com  admin +0 +\S+Z\n$/,
  );
  const created_at = expect.any(String);
  const zoe = { staff_id, email: 'zoe@example.com', role: 'admin', passkeys: 0, created_at };
  expect((await terminal.run(['staff', 'list', '--json'])).json).toEqual([expect.anything(), zoe]);
  // A later test expects a single staff account.
  await service.sql('delete from staff');
});

test('staff: a token works until it is revoked, and is shown only once', async () => {
  const added = await terminal.json(['staff', 'add', 'Ada@Example.com', '--role', 'support']);
  expect(added).toEqual({ staff_id: expect.any(String), email: 'ada@example.com', role: 'support' });
  expect(await terminal.json(['staff', 'add', 'ada@example.com', '--role', 'admin'])).toEqual({
    ...added,
    role: 'admin',
  });
  const { token_id, token, ...rest } = await terminal.json(['staff', 'token', 'ada@example.com']);
  expect(rest).toEqual({});
  const search = () =>
    service.call(
      'POST',
      '/support/api/licenses/search',
      { email: 'unknown@example.com' },
      { authorization: `Bearer ${token}` },
    );
  expect((await search()).status).toBe(200);
  const listed = await terminal.run(['staff', 'tokens', '--json']);
  expect(listed.json).toContainEqual(
    expect.objectContaining({ token_id, email: 'ada@example.com', role: 'admin' }),
  );
  expect(listed.stdout).not.toContain(token);
  expect((await terminal.run(['staff', 'tokens'])).stdout).toMatch(/^Id +Owner +Role /);
  expect(await terminal.json(['staff', 'revoke-token', token_id])).toEqual({ token_id, revoked: true });
  expect((await search()).status).toBe(401);
  expect((await terminal.run(['staff', 'tokens'])).stdout).toBe('There are no valid tokens.\n');
  expect(await terminal.run(['staff', 'revoke-token', token_id])).toMatchObject({
    code: 1,
    stderr: 'No token has this id: `mooring staff tokens` lists the ids.\n',
  });
});

test('keys list needs no database', async () => {
  const keys = await terminal.json(['keys', 'list'], {
    env: { DATABASE_URL: 'postgres://127.0.0.1:9/none' },
  });
  expect(keys).toEqual([
    { key_id: expect.stringMatching(/^[\w-]{43}$/), state: 'active', since: expect.stringMatching(UTC_TIME) },
    { key_id: expect.stringMatching(/^[\w-]{43}$/), state: 'next', since: expect.stringMatching(UTC_TIME) },
  ]);
});

test('status prints versions, counts of the data, keys and warnings', async () => {
  await service.setLicense((await issue()).license_id, { staff_status: 'revoked' });
  await service.setLicense((await issue()).license_id, { staff_status: 'suspended' });
  await service.sql("insert into telemetry_inbox (id, received_on) values (gen_random_uuid(), '2026-01-02')");
  const status = await terminal.json(['status']);
  const [{ licenses }] = (await service.sql('select count(*)::int as licenses from license')) as [
    { licenses: number },
  ];
  expect(status).toMatchObject({
    mooring: expect.stringMatching(/^\d+\.\d+\.\d+/),
    node: process.versions.node,
    postgres: expect.stringMatching(/^\d+/),
    licenses: { active: licenses - 2, revoked: 1, suspended: 1, refunded: 0, erased: 0 },
    // The two tests of `activation release` ended one each.
    activations: { active: expect.any(Number), ended: 2 },
    telemetry: { inbox_rows: 1, oldest_inbox_day: '2026-01-02', rows_estimate: expect.any(Number) },
    staff: 1,
    token_keys: [{ state: 'active' }, { state: 'next' }],
    manifest: null,
    // The command uses the real clock, by which the retention run at the start of the service may be overdue as well.
    warnings: expect.arrayContaining([expect.stringContaining('2026-01-02')]),
  });
  expect(status.migrations).toContain('schema0000000000001');
  const { stdout } = await terminal.run(['status']);
  expect(stdout).toMatch(/^Versions +Mooring /);
  expect(stdout).toMatch(/^Activations +\d+ active, 2 ended$/m);
  expect(stdout).toMatch(/^Oldest data +telemetry none, ended activation \d{4}-\d\d-\d\d$/m);
  expect(stdout).toMatch(/^Next erasure +none$/m);
});

test('status refuses a database of DATABASE_URL that lacks migrations; migrate applies them once', async () => {
  const url = new URL(service.databaseUrl);
  const name = `cli_${randomBytes(6).toString('hex')}`;
  await service.sql(`create database ${name}`);
  url.pathname = `/${name}`;
  const env = { DATABASE_URL: url.href };
  try {
    const refused = await terminal.run(['status'], { env });
    expect(refused).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/lacks .*run mooring migrate/),
    });
    expect((await terminal.json(['migrate'], { env })).applied).toContain('schema0000000000001');
    expect(await terminal.json(['migrate'], { env })).toEqual({ applied: [] });
    expect((await terminal.json(['status'], { env })).licenses.active).toBe(0);
  } finally {
    await service.sql(`drop database ${name} with (force)`);
  }
});

test('secrets are printed only on standard output, and --json and --as may be anywhere in the arguments', async () => {
  const issued = await terminal.run([
    '--json',
    'license',
    '--as',
    'eve',
    'issue',
    '--email',
    'eve@example.com',
  ]);
  expect(issued.stderr).toBe('');
  expect(await audit(issued.json.license_id)).toMatchObject([{ actor: 'eve' }]);
  await terminal.json(['staff', 'add', 'eve@example.com', '--role', 'support']);
  const token = await terminal.run(['staff', 'token', 'eve@example.com', '--json'], {
    env: { LOG_LEVEL: 'trace' },
  });
  expect(token.stderr).toBe('This token is valid for 90 days and is shown only now: it is not stored.\n');
});

test('the program works through a symbolic link, and prints its version and its help', async () => {
  const program = terminal.file('mooring');
  symlinkSync(CLI, program);
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
  const { node } = process.versions;
  expect(await terminal.run(['--version'], { program })).toMatchObject({
    code: 0,
    stdout: `${version} (Node ${node})\n`,
  });
  expect(await terminal.json(['--version'])).toEqual({ mooring: version, node });
  expect(readFileSync(CLI, 'utf8')).toMatch(/^#!\/usr\/bin\/env node\n/);
  expect(await terminal.run(['manifest', 'sign', '--help'])).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('--passphrase-fd'),
  });
});
