import { randomBytes } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { Terminal } from '../support/processes/cli-harness.js';
import { MAIN } from '../support/processes/server-process.js';
import { Service } from '../support/harness.js';

const NOT_THE_SECRET =
  /^LICENSE_KEY_SECRET is not the secret with which this database was made: use that one, .*secrets-and-files\.md/;
const NOT_THE_PREFIX =
  /^LICENSE_KEY_PREFIX is DARK, but the license keys of this database begin with MOOR: set LICENSE_KEY_PREFIX=MOOR /;
const makeSecret = () => randomBytes(32).toString('base64');
const own = { LICENSE_KEY_SECRET: makeSecret() };
const other = { LICENSE_KEY_SECRET: makeSecret() };
const otherPrefix = { ...own, LICENSE_KEY_PREFIX: 'DARK' };
const ISSUE = ['license', 'issue', '--email', 'ada@example.com', '--json'];

/** A running service with the secret `own`. */
const service = await Service.start({ environment: own });
const terminal = Terminal.beside(service);

const storedValues = () => service.sql('select value from license_key_secret_check');
const warnings = async () => (await service.call('GET', '/health/ready')).json.warnings as string[];
const isAboutSecret = expect.stringMatching(NOT_THE_SECRET);
const isAboutPrefix = expect.stringMatching(NOT_THE_PREFIX);

/** What `mooring doctor` says about the secret and the prefix. */
async function diagnose(env: Record<string, string>): Promise<unknown[]> {
  const { json } = await terminal.run(['doctor', '--json'], { env: { ...env, PORT: '0' } });
  const checks = json.checks as { status: string; check: string; text: string }[];
  return checks.flatMap(({ status, check, text }) =>
    check === 'secret' || /LICENSE_KEY/.test(text) ? [[status, text]] : [],
  );
}
const MATCHES = ['ok', 'The license key secret and LICENSE_KEY_PREFIX are those of the database.'];
const NEXT_STORES = [
  'ok',
  'The license key secret is that of the database. The next start stores LICENSE_KEY_PREFIX.',
];

describe('what doctor says', () => {
  const stored = () => service.sql('select * from license_key_secret_check');
  const setPrefix = (prefix: string | null) =>
    service.sql('update license_key_secret_check set prefix = $1', [prefix]);

  test('is what a start would do, and changes nothing', async () => {
    expect(await diagnose(own)).toEqual([
      ['ok', 'The first start stores a check value of the license key secret, and LICENSE_KEY_PREFIX.'],
    ]);
    expect(await stored()).toEqual([]);
    const { license_id } = (await terminal.json(ISSUE, { env: own })) as { license_id: string };
    expect(await diagnose(own)).toEqual([MATCHES]);
    expect(await diagnose(other)).toEqual([['fail', expect.stringMatching(NOT_THE_SECRET)]]);
    expect(await diagnose(otherPrefix)).toEqual([['fail', expect.stringMatching(NOT_THE_PREFIX)]]);

    await setPrefix(null);
    const before = await stored();
    expect(await diagnose(own)).toEqual([NEXT_STORES]);
    expect(await diagnose(otherPrefix)).toEqual([['ok', expect.stringContaining('No start stores')]]);
    expect(await stored()).toEqual(before);

    await service.sql('delete from license where id = $1', [license_id]);
    await setPrefix('MOOR');
    expect(await diagnose(otherPrefix)).toEqual([NEXT_STORES]);
    await service.sql('delete from license_key_secret_check');
  });

  test('about a database of an earlier version is the refusal of a start with another secret', async () => {
    const { license_id } = await service.issue();
    expect(await diagnose(other)).toEqual([
      [
        'fail',
        expect.stringMatching(/^LICENSE_KEY_SECRET is not the secret .*, or LICENSE_KEY_PREFIX is not/),
      ],
    ]);
    await service.sql('delete from license where id = $1', [license_id]);
  });
});

describe('the check value of a database', () => {
  test('the first command stores the value, which does not contain the secret', async () => {
    expect(await storedValues()).toEqual([]);
    expect(await terminal.run(ISSUE, { env: own })).toMatchObject({ code: 0, stderr: '' });
    const [{ value }] = (await storedValues()) as [{ value: Buffer }];
    expect(value).toHaveLength(32);
    expect(value.toString('base64')).not.toBe(own.LICENSE_KEY_SECRET);
  });

  test.each([
    ['a command that derives keys with another secret', ISSUE, other, undefined, NOT_THE_SECRET],
    ['a start with another secret', [], other, MAIN, NOT_THE_SECRET],
    ['a command that derives keys with another prefix', ISSUE, otherPrefix, undefined, NOT_THE_PREFIX],
    ['a start with another prefix', [], otherPrefix, MAIN, NOT_THE_PREFIX],
  ])(
    '%s ends with exit code 2 and one sentence, and changes nothing',
    async (_, args, env, program, fault) => {
      const before = await service.sql('select id from license');
      const { code, stdout, stderr } = await terminal.run(args, { env: { ...env, PORT: '0' }, program });
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
      expect(stderr).toMatch(fault);
      expect(stderr).toMatch(/^[^\n]+\n$/);
      expect(await service.sql('select id from license')).toEqual(before);
    },
  );

  test('status works with another secret or prefix, and warns', async () => {
    const warningsWith = async (env: Record<string, string>) =>
      (await terminal.json(['status'], { env })).warnings;
    expect(await warningsWith(own)).not.toContainEqual(isAboutSecret);
    expect(await warningsWith(own)).not.toContainEqual(isAboutPrefix);
    expect(await warningsWith(other)).toContainEqual(isAboutSecret);
    expect(await warningsWith(otherPrefix)).toContainEqual(isAboutPrefix);
  });

  test('accept-secret makes another secret that of the database, with an audit event; a running service warns', async () => {
    expect(await warnings()).not.toContainEqual(isAboutSecret);
    const accept = ['keys', 'accept-secret', '--reason', 'lost', '--as', 'grace'];
    expect(await terminal.run([...accept, '--json'], { env: other })).toMatchObject({
      code: 0,
      json: { accepted: true },
    });
    expect((await terminal.run(ISSUE, { env: other })).code).toBe(0);
    expect((await terminal.run(ISSUE, { env: own })).code).toBe(2);
    // Accepted again, as by a person who has not changed the setting, it says so and records nothing.
    const { code, stdout } = await terminal.run(accept, { env: other });
    expect([code, stdout]).toEqual([0, 'This is the secret of the database already: nothing was changed.\n']);
    const event = { actor: 'grace', action: 'keys.accept_secret', reason: 'lost' };
    expect(
      await service.sql("select actor, action, reason from audit_event where action like 'keys.%'"),
    ).toEqual([event]);
    expect(await warnings()).toContainEqual(isAboutSecret);
    const token = await service.staffToken();
    const { json } = await service.call('GET', '/support/api/service', undefined, {
      authorization: `Bearer ${token}`,
    });
    expect(json.warnings).toContainEqual(isAboutSecret);
  });
});
