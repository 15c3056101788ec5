import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { createKeyRing } from '../../src/keys/tokens/key-ring.js';
import type { RingEntry } from '../../src/keys/tokens/ring-file.js';
import { Terminal, type RunOptions } from '../support/processes/cli-harness.js';
import { PRODUCTION_SETTINGS } from '../support/production.js';

const ROTATED_MESSAGE = expect.stringMatching(
  /^Every instance that reads \/.*tokens uses the new key within 2 seconds; all tokens stay valid\.\n$/,
);
const REVOKED_MESSAGE =
  'Tokens of this key are refused. Clients that have one activate again by themselves and keep their activation.\n';
const TOO_YOUNG_BY_SECONDS =
  /^The next key is too young for every instance to know it: try again in [1-5] s\.\n$/;
const TOO_YOUNG_BY_HALF_AN_HOUR =
  /^The next key is too young for every instance to know it: try again in \d{4} s\.\n$/;
const BUSY_MESSAGE = 'Another command changes the ring just now: try again.\n';
const KID = expect.stringMatching(/^[\w-]{43}$/);
const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);

/** These commands need neither a database nor a server: the keys are files. */
const terminal = new Terminal({ DATABASE_URL: 'postgres://127.0.0.1:9/none' });

/** Runs `mooring keys` on a folder of keys, with the settings of development or production. */
class Keys {
  constructor(
    readonly dir: string,
    readonly env: RunOptions['env'],
  ) {}

  run(...args: string[]) {
    return terminal.run(['keys', ...args], { env: this.env });
  }

  /** A key id may begin with a dash, so `--` precedes it. */
  revoke(kid: string, ...moreArgs: string[]) {
    return this.run('revoke', ...moreArgs, '--', kid);
  }

  list(): Promise<(Pick<RingEntry, 'state' | 'since'> & { key_id: string })[]> {
    return terminal.json(['keys', 'list'], { env: this.env });
  }

  async states(): Promise<string[]> {
    return (await this.list()).map(({ state }) => state);
  }

  get entries(): RingEntry[] {
    return (JSON.parse(this.text) as { keys: RingEntry[] }).keys;
  }

  get text(): string {
    return readFileSync(join(this.dir, 'ring.json'), 'utf8');
  }

  /** Makes the ring an hour old. */
  makeRingOld(): void {
    const since = new Date(Date.now() - 3_600_000).toISOString();
    const keys = this.entries.map((entry) => ({ ...entry, since }));
    writeFileSync(join(this.dir, 'ring.json'), JSON.stringify({ keys }));
  }

  writeRing(text: string): void {
    writeFileSync(join(this.dir, 'ring.json'), text);
  }
}

const development = async (name = 'development') => {
  const data = terminal.file(name);
  const dir = join(data, 'keys', 'tokens');
  await createKeyRing(dir, new Date());
  return new Keys(dir, { DATA_DIR: data });
};

const production = async () => {
  const settings = await terminal.init('production');
  return new Keys(settings.TOKEN_KEYS_DIR, {
    ...PRODUCTION_SETTINGS,
    ...settings,
    DATA_DIR: '/nonexistent',
  });
};

describe.each([
  ['in development', () => development()],
  ['in production', production],
])('%s', (_mode, make) => {
  let keys: Keys;
  beforeAll(async () => void (keys = await make()));

  test('list shows the keys as a table and as JSON', async () => {
    const listed = await keys.list();
    expect(listed).toEqual([
      { key_id: KID, state: 'active', since: TIME },
      { key_id: KID, state: 'next', since: TIME },
    ]);
    const { code, stdout, stderr } = await keys.run('list');
    expect([code, stderr]).toEqual([0, '']);
    const lines = stdout.split('\n').map((line) => line.split(/ +/));
    const rows = listed.map(({ key_id, state, since }) => [key_id, state, since]);
    expect(lines).toEqual([['Key', 'State', 'Since'], ...rows, ['']]);
    expect(listed.map(({ key_id }) => key_id)).toEqual(keys.entries.map(({ kid }) => kid));
  });

  test('rotate changes the states of the keys, and prints the effect and the ring', async () => {
    keys.makeRingOld();
    const [first, second] = keys.entries as [RingEntry, RingEntry];
    const rotated = await keys.run('rotate', '--json');
    expect(rotated).toMatchObject({ code: 0, stderr: ROTATED_MESSAGE });
    expect(rotated.json).toEqual([
      { key_id: first.kid, state: 'verifying', since: TIME },
      { key_id: second.kid, state: 'active', since: TIME },
      { key_id: KID, state: 'next', since: TIME },
    ]);
    expect(await keys.list()).toEqual(rotated.json);

    keys.makeRingOld();
    const again = await keys.run('rotate');
    expect(again).toMatchObject({ code: 0, stderr: ROTATED_MESSAGE });
    expect(again.stdout).toMatch(
      /^Key +State +Since\n(\S+ +verifying +\S+\n){2}\S+ +active +\S+\n\S+ +next +\S+\n$/,
    );
  });

  test('revoke revokes a verifying, an active or a next key, and prints the effect and the ring', async () => {
    keys.makeRingOld();
    const [verifying, , active, next] = keys.entries.map(({ kid }) => kid) as [
      string,
      string,
      string,
      string,
    ];
    const first = await keys.revoke(verifying);
    expect(first).toMatchObject({ code: 0, stderr: REVOKED_MESSAGE });
    expect(first.stdout).toMatch(new RegExp(`^Key .*\n${verifying} +revoked +`));
    expect(await keys.states()).toEqual(['revoked', 'verifying', 'active', 'next']);

    const second = await keys.revoke(active, '--json');
    expect(second).toMatchObject({ code: 0, stderr: REVOKED_MESSAGE });
    expect(second.json).toEqual(await keys.list());
    expect(await keys.states()).toEqual(['revoked', 'verifying', 'revoked', 'active', 'next']);
    expect(keys.entries[3]!.kid).toBe(next);

    // A `next` key, which has signed nothing, can be revoked at any age.
    expect(await keys.revoke(keys.entries[4]!.kid)).toMatchObject({ code: 0 });
    expect((await keys.states()).slice(3)).toEqual(['active', 'revoked', 'next']);
  });
});

describe('refusals:', () => {
  let keys: Keys;
  beforeAll(async () => {
    keys = await development('refusals');
    keys.makeRingOld();
    await keys.run('rotate');
    const { kid } = keys.entries[2]!;
    await keys.revoke(kid);
  });

  test('rotate refuses if an instance may not know the next key yet, and changes nothing', async () => {
    // The time is in the future, so that the key is too young also on a slow machine.
    const since = new Date(Date.now() + 1_800_000).toISOString();
    const before = keys.entries.map((entry) => ({ ...entry, since }));
    keys.writeRing(JSON.stringify({ keys: before }));
    expect(await keys.run('rotate', '--json')).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(TOO_YOUNG_BY_HALF_AN_HOUR),
    });
    expect(keys.entries).toEqual(before);
    // The files are those of the keys, ring.json and ring.lock: no key was created.
    expect(readdirSync(keys.dir)).toHaveLength(before.length + 2);
  });

  test('revoke says that no instance loads the ring while the file of another key is lost', async () => {
    const lost = await development('lost-file');
    lost.makeRingOld();
    await lost.run('rotate');
    lost.makeRingOld();
    const [verifying, active] = lost.entries as [RingEntry, RingEntry];
    rmSync(join(lost.dir, verifying.file));
    const revoked = await lost.revoke(active.kid, '--json');
    expect(revoked).toMatchObject({ code: 1, stdout: '' });
    expect(revoked.stderr).toMatch(
      /^The key is revoked in ring\.json, but no instance can load the ring: The token key file \S+ is missing .*Restore that file, or revoke its key too\.\n$/,
    );
    expect(await lost.revoke(verifying.kid)).toMatchObject({ code: 0, stderr: REVOKED_MESSAGE });
  });

  test('revoke of the active key does not wait for a next key whose time is in the future', async () => {
    const since = new Date(Date.now() + 1_800_000).toISOString();
    keys.writeRing(JSON.stringify({ keys: keys.entries.map((entry) => ({ ...entry, since })) }));
    const active = keys.entries.find(({ state }) => state === 'active')!;
    expect(await keys.revoke(active.kid)).toMatchObject({ code: 0, stderr: REVOKED_MESSAGE });
    expect(keys.entries.find(({ kid }) => kid === active.kid)!.state).toBe('revoked');
  });

  test('revoke prints why it refuses', async () => {
    const before = keys.text;
    const revoked = keys.entries.find(({ state }) => state === 'revoked')!.kid;
    const unknown = 'A'.repeat(43);
    for (const [kid, sentence] of [
      [revoked, `The key ${revoked} is revoked already.\n`],
      [unknown, `The ring has no key ${unknown}: run mooring keys list to see the keys.\n`],
    ] as const)
      expect(await keys.revoke(kid, '--json')).toMatchObject({ code: 1, stdout: '', stderr: sentence });
    expect(keys.text).toBe(before);
  });

  test('of simultaneous commands at least one succeeds, the others are refused, and no revocation is lost', async () => {
    keys.makeRingOld();
    const active = keys.entries.find(({ state }) => state === 'active')!.kid;
    const runs = await Promise.all([keys.revoke(active), keys.run('rotate'), keys.run('rotate')]);
    const [revoked] = runs;
    const winners = runs.filter(({ code }) => code === 0);
    expect(winners.length).toBeGreaterThanOrEqual(1);
    for (const { code, stdout, stderr } of runs.filter(({ code }) => code !== 0))
      expect([code, stdout, BUSY_MESSAGE === stderr || TOO_YOUNG_BY_SECONDS.test(stderr)]).toEqual([
        1,
        '',
        true,
      ]);
    const state = keys.entries.find(({ kid }) => kid === active)!.state;
    expect(state).toBe(revoked.code === 0 ? 'revoked' : 'verifying');
    expect((await keys.states()).filter((each) => each === 'active')).toHaveLength(1);
  });

  test.each([
    [['revoke']],
    [['revoke', 'one', 'two']],
    [['rotate', 'one']],
    [['rotate', '--force']],
    [['turn']],
  ])('`mooring keys` with the arguments %j prints one sentence, with exit code 2', async (args) => {
    const before = keys.text;
    const run = await keys.run(...args);
    expect(run).toMatchObject({ code: 2, stdout: '' });
    expect(run.stderr).toMatch(/^[A-Z][^\n]+\n$/);
    expect(keys.text).toBe(before);
  });

  test('an unusable ring is reported in one sentence, and not changed', async () => {
    const good = keys.text;
    const kid = keys.entries[0]!.kid;
    const files = readdirSync(keys.dir);
    for (const broken of ['{', good.replace('"active"', '"verifying"')]) {
      keys.writeRing(broken);
      for (const run of [
        await keys.run('list'),
        await keys.run('rotate', '--json'),
        await keys.revoke(kid),
      ]) {
        expect([run.stdout, [1, 2].includes(run.code!)]).toEqual(['', true]);
        expect(run.stderr).toMatch(
          /^[^\n]*[Rr]ing\.json (is not JSON|must have exactly one active key)[^\n]*\.\n$/,
        );
      }
      expect(keys.text).toBe(broken);
    }
    expect(readdirSync(keys.dir)).toEqual(files);
    keys.writeRing(good);
  });
});

test('list creates no ring, also in development', async () => {
  const DATA_DIR = terminal.file('empty');
  expect(await terminal.run(['keys', 'list'], { env: { DATA_DIR } })).toMatchObject({
    code: 2,
    stdout: '',
    stderr: expect.stringMatching(/^DATA_DIR cannot be used: .*ring\.json.*\.\n$/),
  });
  expect(existsSync(DATA_DIR)).toBe(false);
});

describe('in production', () => {
  const settings = PRODUCTION_SETTINGS;

  test.each(['list', 'rotate'])(
    '`keys %s` creates no keys: an unset or missing folder is reported with exit code 2',
    async (command) => {
      const missing = terminal.file('missing');
      const env = { ...settings, TOKEN_KEYS_DIR: missing };
      expect(await terminal.run(['keys', command], { env })).toMatchObject({
        code: 2,
        stdout: '',
        stderr: `TOKEN_KEYS_DIR cannot be used: ${missing} holds no ring.json that can be read (ENOENT): correct TOKEN_KEYS_DIR, give this user access, restore the folder from its backup, or make a new ring (docs/operations/secrets-and-files.md#lost-token-keys).\n`,
      });
      const unset = { ...settings, TOKEN_KEYS_DIR: undefined };
      const run = await terminal.run(['keys', command], { env: unset });
      expect(run).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('TOKEN_KEYS_DIR') });
      expect(readdirSync(terminal.dir)).not.toContain('missing');
      expect(readdirSync(terminal.dir)).not.toContain('data');
    },
  );
});
