import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, chown, mkdir, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { calculateJwkThumbprint, exportJWK, importPKCS8 } from 'jose';
import { tryKernelLock } from '../../src/core/kernel-lock.js';
import { createKeyRing, KeyRing } from '../../src/keys/tokens/key-ring.js';
import {
  signLicenseToken,
  verifyLicenseToken,
  type LicenseClaims,
} from '../../src/keys/tokens/license-token.js';
import {
  giveToFolderOwner,
  parseRing,
  writeRing,
  type KeyState,
  type RingEntry,
} from '../../src/keys/tokens/ring-file.js';
import { revokeKey, RotationError, rotateKeys } from '../../src/keys/tokens/rotation.js';
import { temporaryFolder } from '../support/folders.js';
import { WITHOUT_ROOT_RIGHTS } from '../support/processes/without-root-rights.js';

const START = new Date('2026-11-20T13:00:00.000Z');
/** The compiled module, which child processes import. */
const ROTATION_MODULE = new URL('../../dist/keys/tokens/rotation.js', import.meta.url).href;
const isRoot = process.getuid?.() === 0;
const BUSY = 'Another command changes the ring just now: try again.';
const CLAIMS: LicenseClaims = {
  iss: 'mooring',
  aud: 'com.example.app',
  sub: '0198f3c2-7b1a-7c3d-9e4f-a1b2c3d4e5f6',
  lic: '01980000-0000-7000-8000-000000000001',
  mch: 'fZ6NEsEw-i7IFMWg8kihXA',
  lxp: null,
  iat: 1795179600,
  exp: 1795784400,
};

let dir: string;

beforeEach(async () => {
  dir = join(temporaryFolder(), 'tokens');
  await createKeyRing(dir, START);
});

const at = (seconds: number) => new Date(START.getTime() + seconds * 1_000);
const ring = async () => parseRing(await readFile(join(dir, 'ring.json'), 'utf8'));
const states = async () => (await ring()).map(({ state }) => state);

async function kidOf(state: KeyState): Promise<string> {
  return (await ring()).find((entry) => entry.state === state)!.kid;
}

/** The contents of all files in the folder except the lock. */
async function folderContents(): Promise<Record<string, string>> {
  const names = (await readdir(dir)).filter((name) => name !== 'ring.lock').toSorted();
  const contents = await Promise.all(names.map((name) => readFile(join(dir, name), 'utf8')));
  return Object.fromEntries(names.map((name, i) => [name, contents[i]!]));
}

/** Expects no key file that the ring does not name, and no half-written ring. */
async function expectNoOrphans(): Promise<void> {
  const named = (await ring()).map(({ file }) => file);
  const files = (await readdir(dir)).filter((name) => name !== 'ring.lock');
  expect(files.toSorted()).toEqual([...named, 'ring.json'].toSorted());
}

async function signToken(): Promise<string> {
  return signLicenseToken((await KeyRing.open(dir)).active, CLAIMS);
}

async function isAccepted(token: string): Promise<boolean> {
  return verifyLicenseToken(await KeyRing.open(dir), CLAIMS.aud, token) !== null;
}

/** Expects that a change is refused with this sentence and changes no file. */
async function expectRefused(change: () => Promise<unknown>, sentence: string): Promise<void> {
  const before = await folderContents();
  await expect(change()).rejects.toThrow(new RotationError(sentence));
  expect(await folderContents()).toEqual(before);
}

describe('a rotation', () => {
  test('changes the state of each key: next signs, active only verifies, and there is a new next', async () => {
    const [active, next] = (await ring()) as [RingEntry, RingEntry];
    const since = at(60).toISOString();
    const moved = await rotateKeys(dir, at(60));
    expect(moved).toEqual([
      { ...active, state: 'verifying', since },
      { ...next, state: 'active', since },
      { kid: expect.any(String), file: expect.any(String), state: 'next', since },
    ]);
    expect(await ring()).toEqual(moved);
    expect(new Set(moved.map(({ kid }) => kid)).size).toBe(3);

    const again = await rotateKeys(dir, at(120));
    expect(again.map(({ state }) => state)).toEqual(['verifying', 'verifying', 'active', 'next']);
    // A key that keeps its state keeps its time.
    expect(again[0]).toEqual(moved[0]);
    await expectNoOrphans();
  });

  test.each([
    [0, 5],
    [0.001, 5],
    [1, 4],
    [4.001, 1],
    [4.999, 1],
    // A clock that goes back makes the key no older.
    [-30, 35],
  ])('with a next key that is %d seconds old is refused, with the seconds to wait: %d', async (age, wait) => {
    const sentence = `The next key is too young for every instance to know it: try again in ${wait} s.`;
    await expectRefused(() => rotateKeys(dir, at(age)), sentence);
  });

  test('with a next key that is exactly 5 seconds old is carried out', async () => {
    await rotateKeys(dir, at(5));
    expect(await states()).toEqual(['verifying', 'active', 'next']);
    await expect(rotateKeys(dir, at(9.999))).rejects.toThrow('in 1 s.');
    await rotateKeys(dir, at(10));
    expect(await states()).toEqual(['verifying', 'verifying', 'active', 'next']);
  });

  test('gives a ring without a next key a new one, and changes no other key', async () => {
    const [active] = (await ring()) as [RingEntry];
    await writeRing(dir, [active]);
    const given = await rotateKeys(dir, at(1));
    expect(given).toEqual([active, expect.objectContaining({ state: 'next', since: at(1).toISOString() })]);
    expect(await ring()).toEqual(given);
    await expect(rotateKeys(dir, at(5))).rejects.toThrow('try again in 1 s.');
    expect((await rotateKeys(dir, at(6)))[0]?.state).toBe('verifying');
  });

  test('makes keys that only their owner may read, and that jose can read', async () => {
    for (const seconds of [10, 20, 30]) await rotateKeys(dir, at(seconds));
    const entries = await ring();
    expect(entries).toHaveLength(5);
    for (const { kid, file } of entries) {
      expect(file).toBe(`${kid}.pem`);
      expect((await stat(join(dir, file))).mode & 0o777).toBe(0o600);
      const pem = await readFile(join(dir, file), 'utf8');
      const key = await importPKCS8(pem, 'Ed25519', { extractable: true });
      expect(await calculateJwkThumbprint(await exportJWK(key))).toBe(kid);
    }
    expect((await stat(join(dir, 'ring.json'))).mode & 0o777).toBe(0o600);
  });

  test('leaves every token valid, however many rotations follow', async () => {
    const tokens = [await signToken()];
    for (let i = 1; i <= 30; i++) {
      await rotateKeys(dir, at(i * 5));
      tokens.push(await signToken());
    }
    expect(new Set(tokens.map((token) => token.split('.')[0])).size).toBe(31);
    const last = await KeyRing.open(dir);
    for (const token of tokens) expect(verifyLicenseToken(last, CLAIMS.aud, token)).toEqual(CLAIMS);
  });

  test('is loaded by an open ring, which loses no key it knew', async () => {
    const open = await KeyRing.open(dir);
    const before = open.publishedKeys().map(({ kid }) => kid);
    await rotateKeys(dir, at(5));
    expect(await open.reload()).toBe(true);
    expect(open.active.kid).toBe(before[1]);
    expect(open.publishedKeys().map(({ kid }) => kid)).toEqual(expect.arrayContaining(before));
  });

  test('that cannot be written changes no file, and leaves no key behind', async () => {
    // The ring has more than 1,024 bytes, and the process may write at most 1,024 bytes to a file (two blocks of 512 bytes).
    // So it can write the key, but not the ring.
    for (let i = 1; i <= 6; i++) await rotateKeys(dir, at(i * 5));
    const before = await folderContents();
    const script = `import('${ROTATION_MODULE}').then((r) => r.rotateKeys(process.argv[1], new Date(${at(60).getTime()})))
      .catch((error) => console.log(error.message))`;
    const limited = ['-c', 'ulimit -f 2; exec "$0" "$@"', process.execPath, '-e', script, dir];
    const child = spawn('sh', limited, { stdio: ['ignore', 'pipe', 'inherit'] });
    expect(await text(child.stdout)).toBe(`${dir} cannot be written (EFBIG): the ring stays as it is.\n`);
    expect(await folderContents()).toEqual(before);
    expect((await rotateKeys(dir, at(60))).at(-1)?.state).toBe('next');
  });
});

describe('a revocation', () => {
  test('of the active key lets the next key sign, makes a new next, and refuses that key’s tokens alone', async () => {
    const older = await signToken();
    await rotateKeys(dir, at(10));
    const leaked = await kidOf('active');
    const next = await kidOf('next');
    const token = await signToken();
    expect(await isAccepted(token)).toBe(true);

    const since = at(20).toISOString();
    const changed = await revokeKey(dir, leaked, at(20));
    expect(changed.map(({ state }) => state)).toEqual(['verifying', 'revoked', 'active', 'next']);
    expect(changed[1]).toMatchObject({ kid: leaked, since });
    expect(changed[2]).toMatchObject({ kid: next, since });
    expect(await ring()).toEqual(changed);
    expect(await Promise.all([older, token, await signToken()].map(isAccepted))).toEqual([true, false, true]);
    await expectNoOrphans();
  });

  test('of the active key is refused until every instance knows the next key', async () => {
    await rotateKeys(dir, at(10));
    const active = await kidOf('active');
    const sentence = (seconds: number) =>
      `The next key is too young for every instance to know it: try again in ${seconds} s.`;
    await expectRefused(() => revokeKey(dir, active, at(11)), sentence(4));
    await expectRefused(() => revokeKey(dir, active, at(14.999)), sentence(1));
    expect((await revokeKey(dir, active, at(15)))[1]?.state).toBe('revoked');
  });

  test('of the active key does not wait for a next key whose time is in the future', async () => {
    const active = await kidOf('active');
    // At the time of the next key itself, the key is too young.
    await expectRefused(
      () => revokeKey(dir, active, START),
      'The next key is too young for every instance to know it: try again in 5 s.',
    );
    const changed = await revokeKey(dir, active, at(-0.001));
    expect(changed.map(({ state }) => state)).toEqual(['revoked', 'active', 'next']);
  });

  test('of the active key is refused if there is no next key', async () => {
    const [active] = (await ring()) as [RingEntry];
    await writeRing(dir, [active]);
    const sentence = 'There is no next key to sign instead: run mooring keys rotate first.';
    await expectRefused(() => revokeKey(dir, active.kid, at(60)), sentence);
  });

  test.each([
    ['is missing', 'is missing or cannot be read (ENOENT)', (file: string) => rm(file)],
    ['was damaged', 'is not an Ed25519 key in PEM', (file: string) => writeFile(file, 'x')],
  ])(
    'of the active key, and a rotation, is refused if the file of the next key %s',
    async (_what, fault, damage) => {
      const [active, next] = (await ring()) as [RingEntry, RingEntry];
      await damage(join(dir, next.file));
      const sentence = `The next key cannot sign. The token key file ${next.file} ${fault}. Restore it from the backup of the folder, or make another next key: mooring keys revoke -- ${next.kid}`;
      await expectRefused(() => revokeKey(dir, active.kid, at(60)), sentence);
      await expectRefused(() => rotateKeys(dir, at(60)), sentence);
      await revokeKey(dir, next.kid, at(60));
      await revokeKey(dir, active.kid, at(65));
      expect((await KeyRing.open(dir)).active.state).toBe('active');
    },
  );

  test('of a verifying key refuses its tokens, at any time, and changes no other key', async () => {
    const token = await signToken();
    const verifying = await kidOf('active');
    const [before, active, next] = (await rotateKeys(dir, at(10))) as [RingEntry, RingEntry, RingEntry];
    const changed = await revokeKey(dir, verifying, at(10.001));
    expect(changed).toEqual([{ ...before, state: 'revoked', since: at(10.001).toISOString() }, active, next]);
    expect(await isAccepted(token)).toBe(false);
  });

  test('of the next key makes another one, which cannot sign for 5 seconds', async () => {
    const next = await kidOf('next');
    const changed = await revokeKey(dir, next, at(1));
    expect(changed.map(({ state }) => state)).toEqual(['active', 'revoked', 'next']);
    expect(changed[1]?.kid).toBe(next);
    expect(changed[2]).toMatchObject({ since: at(1).toISOString() });
    await expect(rotateKeys(dir, at(5.999))).rejects.toThrow('too young');
    await rotateKeys(dir, at(6));
    expect(await kidOf('active')).toBe(changed[2]?.kid);
    await expectNoOrphans();
  });

  test('of a revoked key or an unknown key is refused', async () => {
    const next = await kidOf('next');
    await revokeKey(dir, next, at(10));
    await expectRefused(() => revokeKey(dir, next, at(20)), `The key ${next} is revoked already.`);
    const unknown = (kid: string) => `The ring has no key ${kid}: run mooring keys list to see the keys.`;
    for (const kid of ['', next.slice(0, -1), '__proto__', 'A'.repeat(43)])
      await expectRefused(() => revokeKey(dir, kid, at(20)), unknown(kid));
  });

  test('remains when the key’s file is destroyed', async () => {
    const leaked = await kidOf('active');
    await revokeKey(dir, leaked, at(10));
    await rm(join(dir, `${leaked}.pem`));
    await rotateKeys(dir, at(20));
    await revokeKey(dir, await kidOf('verifying'), at(21));
    expect(await states()).toEqual(['revoked', 'revoked', 'active', 'next']);
    expect((await KeyRing.open(dir)).publishedKeys()).toHaveLength(2);
  });
});

describe('a broken ring is not changed:', () => {
  test.each(['{', '{"keys":[]}', '{"keys":[{"kid":"x"}]}', ''])('%p', async (broken) => {
    await writeFile(join(dir, 'ring.json'), broken);
    const before = await folderContents();
    await expect(rotateKeys(dir, at(60))).rejects.toThrow(/^ring\.json (is not JSON|must )/);
    await expect(revokeKey(dir, 'any', at(60))).rejects.toThrow(/^ring\.json (is not JSON|must )/);
    expect(await folderContents()).toEqual(before);
  });
});

test('a next key for which a rotation would have to wait an hour was made with a wrong clock, and delays no rotation', async () => {
  const text = await readFile(join(dir, 'ring.json'), 'utf8');
  const made = parseRing(text);
  /** Sets the time of the keys so that the next key becomes old enough this long after `at(60)`. */
  const setSince = (milliseconds: number) =>
    writeRing(
      dir,
      made.map((entry) => ({
        ...entry,
        since: new Date(at(60).getTime() - 5_000 + milliseconds).toISOString(),
      })),
    );
  await setSince(3_599_999);
  await expect(rotateKeys(dir, at(60))).rejects.toThrow('try again in 3600 s');
  await setSince(3_600_000);
  expect((await rotateKeys(dir, at(60))).map(({ state }) => state)).toEqual(['verifying', 'active', 'next']);
});

test('a ring whose lock cannot be taken stays as it is', async () => {
  await mkdir(join(dir, 'ring.lock'));
  const before = await readFile(join(dir, 'ring.json'), 'utf8');
  const refused = rotateKeys(dir, at(60));
  await expect(refused).rejects.toThrow(RotationError);
  await expect(refused).rejects.toThrow(
    `${dir}/ring.lock cannot be written (ERR_SQLITE_ERROR): the ring stays as it is.`,
  );
  expect(await readFile(join(dir, 'ring.json'), 'utf8')).toBe(before);
});

test.each([
  ['lock can only be read stays as it is, because such a lock excludes no process', 'ring.lock', 0o444],
  ['lock can be neither read nor written stays as it is', 'ring.lock', 0],
  ['lock cannot be created stays as it is', '.', 0o555],
])('a ring whose %s, and the cause is named', async (_what, name, mode) => {
  if (name !== '.') await writeFile(join(dir, name), '');
  await chmod(join(dir, name), mode);
  const before = await folderContents();
  const script = `import('${ROTATION_MODULE}').then((r) => r.rotateKeys(process.argv[1], new Date(${at(60).getTime()})))
    .catch((error) => console.log(error.message))`;
  const program = [...WITHOUT_ROOT_RIGHTS, process.execPath, '-e', script, dir];
  const child = spawn(program[0]!, program.slice(1), { stdio: ['ignore', 'pipe', 'ignore'] });
  const printed = await text(child.stdout);
  await chmod(dir, 0o700);
  expect(printed).toBe(`${dir}/ring.lock cannot be written (EACCES): the ring stays as it is.\n`);
  expect(await folderContents()).toEqual(before);
});

test('a lock needs no other file, which a full disk or a killed command could leave', async () => {
  const release = tryKernelLock(join(dir, 'ring.lock'))!;
  expect((await readdir(dir)).filter((name) => name.startsWith('ring.lock'))).toEqual(['ring.lock']);
  expect(tryKernelLock(join(dir, 'ring.lock'))).toBeNull();
  release();
});

// Only root may change a file's owner.
(isRoot ? test : test.skip)('the lock that root takes belongs to the owner of the folder', async () => {
  await chown(dir, 12_345, 12_345);
  await rotateKeys(dir, at(5));
  expect(await stat(join(dir, 'ring.lock'))).toMatchObject({ uid: 12_345, gid: 12_345 });
});

test('a lock that is a symbolic link is refused, and what it points to is not created', async () => {
  const target = join(dir, '..', 'target');
  await symlink(target, join(dir, 'ring.lock'));
  await expectRefused(
    () => rotateKeys(dir, at(60)),
    `${dir}/ring.lock is a symbolic link: the ring stays as it is.`,
  );
  expect(existsSync(target)).toBe(false);
});

// Only root may change a file's owner.
(isRoot ? test : test.skip)('the owner of what a symbolic link points to never changes', async () => {
  const target = join(dir, '..', 'target');
  await writeFile(target, '');
  await symlink(target, join(dir, 'link'));
  await chown(dir, 12_345, 12_345);
  await giveToFolderOwner(dir, 'link');
  expect(await stat(target)).toMatchObject({ uid: 0 });
});

describe('concurrent commands', () => {
  test('of one process are not queued: one of the two is refused with a sentence', async () => {
    const results = await Promise.allSettled([rotateKeys(dir, at(60)), rotateKeys(dir, at(60))]);
    expect(results.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    const [refused] = results.filter((result) => result.status === 'rejected');
    expect(refused!.reason).toEqual(new RotationError(BUSY));
    expect(await states()).toEqual(['verifying', 'active', 'next']);
  });

  test('of one process never lose a revocation, and always leave one key that signs', async () => {
    const revoked = new Set<string>();
    let seconds = 0;
    const perform = async (change: () => Promise<unknown>): Promise<boolean> => {
      for (;;) {
        try {
          await change();
          return true;
        } catch (error) {
          if (!(error instanceof RotationError)) throw error;
          if (error.message !== BUSY) return false;
          await nextTurn();
        }
      }
    };
    const rotator = async () => {
      for (let i = 0; i < 12; i++) await perform(() => rotateKeys(dir, at((seconds += 5))));
    };
    const revoker = async (state: KeyState) => {
      for (let i = 0; i < 6; i++) {
        const kid = (await ring()).find((entry) => entry.state === state)?.kid;
        if (kid && (await perform(() => revokeKey(dir, kid, at((seconds += 5)))))) revoked.add(kid);
        const revokedNow = (await ring())
          .filter((entry) => entry.state === 'revoked')
          .map((entry) => entry.kid);
        expect(revokedNow).toEqual(expect.arrayContaining([...revoked]));
      }
    };
    await Promise.all([rotator(), rotator(), rotator(), revoker('verifying'), revoker('active')]);
    await expectUsableRing(revoked);
    await expectNoOrphans();
    expect(revoked.size).toBeGreaterThan(5);
  });

  test('of several processes never lose a revocation, and always leave one key that signs, although one process is killed', async () => {
    // All processes use one clock that runs ten thousand times as fast as the real one.
    const script = `
      const [dir, start, began, revocations] = process.argv.slice(1);
      const { revokeKey, rotateKeys } = await import('${ROTATION_MODULE}');
      const { readFile } = await import('node:fs/promises');
      const now = () => new Date(Number(start) + (Date.now() - Number(began)) * 10_000);
      const refused = (error) => { if (error.constructor.name !== 'RotationError') throw error; };
      for (let left = Number(revocations); left > 0; ) {
        await rotateKeys(dir, now()).catch(refused);
        const { keys } = JSON.parse(await readFile(dir + '/ring.json', 'utf8'));
        const states = left % 2 ? ['active'] : ['verifying', 'next'];
        const leaked = keys.findLast(({ state }) => states.includes(state));
        if (leaked) await revokeKey(dir, leaked.kid, now()).then(() => console.log(leaked.kid, left--), refused);
      }`;
    const args = ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', script];
    const scriptArgs = [dir, String(START.getTime()), String(Date.now())];
    // The first process ends only because it is killed.
    const children = ['1e9', '8', '8', '8'].map((revocations) =>
      spawn(process.execPath, [...args, ...scriptArgs, revocations], { stdio: ['ignore', 'pipe', 'pipe'] }),
    );
    const ended = children.map((child) => once(child, 'close') as Promise<[number | null, string | null]>);
    const outputs = children.map((child) => Promise.all([text(child.stdout), text(child.stderr)]));
    await once(children[0]!.stdout, 'data');
    children[0]!.kill('SIGKILL');
    expect(await Promise.all(ended)).toEqual([
      [null, 'SIGKILL'],
      ...Array.from({ length: 3 }, () => [0, null]),
    ]);
    const output = await Promise.all(outputs);
    expect(output.map(([, stderr]) => stderr)).toEqual(['', '', '', '']);
    const revoked = output.flatMap(([stdout]) => stdout.match(/^\S+/gm)!);
    expect(new Set(revoked).size).toBe(revoked.length);
    expect(revoked.length).toBeGreaterThanOrEqual(1 + 3 * 8);
    await expectUsableRing(new Set(revoked));
    // The lock of the killed process is free.
    await rotateKeys(dir, new Date('2099-01-01T00:00:00Z'));
  });
});

/** Expects that the revoked keys are still revoked, that exactly one key signs, and that a server can open the ring. */
async function expectUsableRing(revoked: ReadonlySet<string>): Promise<void> {
  const entries = await ring();
  const of = (state: KeyState) => entries.filter((entry) => entry.state === state);
  expect(of('revoked').map(({ kid }) => kid)).toEqual(expect.arrayContaining([...revoked]));
  expect([of('active').length, of('next').length]).toEqual([1, 1]);
  expect((await KeyRing.open(dir)).active.kid).toBe(of('active')[0]!.kid);
}
