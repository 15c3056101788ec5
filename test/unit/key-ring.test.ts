import { beforeEach, describe, expect, jest, test } from '@jest/globals';
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { chown, mkdir, readdir, readFile, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { calculateJwkThumbprint } from 'jose';
import { publicJwk, publicKeyFromX, thumbprint } from '../../src/keys/ed25519/ed25519.js';
import { createKeyRing, KeyRing } from '../../src/keys/tokens/key-ring.js';
import { parseRing, writeRing, type KeyState, type RingEntry } from '../../src/keys/tokens/ring-file.js';
import { temporaryFolder } from '../support/folders.js';
import { ONLY_INTERVALS } from '../support/only-intervals.js';

const NOW = new Date('2026-11-20T13:00:00.500Z');
const SINCE = '2026-11-20T13:00:00Z';
let dir: string;

beforeEach(() => void (dir = join(temporaryFolder(), 'tokens')));

async function entries(): Promise<RingEntry[]> {
  return parseRing(await readFile(join(dir, 'ring.json'), 'utf8'));
}

/** Changes the state of every key whose present state is listed. */
async function setStates(change: Partial<Record<KeyState, KeyState>>): Promise<void> {
  const changed = (await entries()).map((entry) => ({ ...entry, state: change[entry.state] ?? entry.state }));
  await writeRing(dir, changed);
}

/** Adds a new key in this state. @param pem returns the text of its file @returns its kid */
async function addKey(
  state: KeyState,
  pem: (pair: { privateKey: KeyObject; publicKey: KeyObject }) => string,
) {
  const pair = generateKeyPairSync('ed25519');
  const kid = thumbprint(pair.publicKey);
  await writeFile(join(dir, `${kid}.pem`), pem(pair));
  await writeRing(dir, [...(await entries()), { kid, file: `${kid}.pem`, state, since: SINCE }]);
  return kid;
}

const publicPem = ({ publicKey }: { publicKey: KeyObject }): string =>
  publicKey.export({ format: 'pem', type: 'spki' }).toString();

const rsaPem = (): string =>
  generateKeyPairSync('rsa', { modulusLength: 2048 })
    .privateKey.export({ format: 'pem', type: 'pkcs8' })
    .toString();

const otherPem = (): string =>
  generateKeyPairSync('ed25519').privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();

const activeFile = async (): Promise<string> => join(dir, (await entries())[0]?.file ?? '');

describe('a new key ring', () => {
  test('has one active and one next key, in files that only the owner may read', async () => {
    await createKeyRing(dir, NOW);
    const ring = await KeyRing.open(dir);
    expect(ring.keys.map(({ state, since }) => ({ state, since }))).toEqual([
      { state: 'active', since: SINCE },
      { state: 'next', since: SINCE },
    ]);
    expect((await stat(dir)).mode & 0o777).toBe(0o700);
    const files = await readdir(dir);
    expect(files.toSorted()).toEqual([...ring.keys.map(({ kid }) => `${kid}.pem`), 'ring.json'].toSorted());
    const modes = await Promise.all(files.map(async (file) => (await stat(join(dir, file))).mode & 0o777));
    expect(new Set(modes)).toEqual(new Set([0o600]));
  });

  test('is refused if a ring exists, and the folder is not changed', async () => {
    await createKeyRing(dir, NOW);
    const before = await readFile(join(dir, 'ring.json'), 'utf8');
    await utimes(dir, NOW, NOW);
    await expect(createKeyRing(dir, NOW)).rejects.toThrow(`${dir} holds a key ring already.`);
    // A file that was made and removed again would have changed the time of the folder.
    expect((await stat(dir)).mtime).toEqual(NOW);
    expect(await readFile(join(dir, 'ring.json'), 'utf8')).toBe(before);
  });

  test('fails with the error of the system if ring.json is a broken link, and leaves no key behind', async () => {
    await mkdir(dir);
    await symlink('missing', join(dir, 'ring.json'));
    await expect(createKeyRing(dir, NOW)).rejects.toMatchObject({ code: 'EEXIST', syscall: 'link' });
    expect(await readdir(dir)).toEqual(['ring.json']);
  });

  // Only root may change a file's owner; another user owns what it makes.
  const testAsRoot = process.getuid?.() === 0 ? test : test.skip;
  const OWNER = 12_345;
  /** User and group of each file of the folder. */
  const owners = async () => {
    const files = await Promise.all((await readdir(dir)).map((file) => stat(join(dir, file))));
    return files.map(({ uid, gid }) => [uid, gid]);
  };

  testAsRoot('belongs to the owner of its folder if root creates it', async () => {
    await mkdir(dir);
    await chown(dir, OWNER, OWNER);
    await createKeyRing(dir, NOW);
    expect(await owners()).toEqual(Array.from({ length: 3 }, () => [OWNER, OWNER]));
  });

  test.each([
    ['if that is a user other than root', () => 1_000],
    ['on a system without user ids', undefined],
  ])('belongs to the user who creates it, %s', async (_name, getuid) => {
    await mkdir(dir);
    if (process.getuid?.() === 0) await chown(dir, OWNER, OWNER);
    const original = process.getuid;
    process.getuid = getuid;
    try {
      await createKeyRing(dir, NOW);
    } finally {
      process.getuid = original;
    }
    expect((await owners()).map(([uid]) => uid)).toEqual(Array(3).fill((await stat(join(dir, '..'))).uid));
  });

  test('is created once if several instances start at the same time, and nothing else is left behind', async () => {
    const made = await Promise.allSettled([1, 2, 3, 4].map(() => createKeyRing(dir, NOW)));
    expect(made.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(await readdir(dir)).toHaveLength(3);
    expect((await KeyRing.open(dir)).active.state).toBe('active');
  });

  test('names its keys by their RFC 7638 thumbprint, as jose computes it', async () => {
    await createKeyRing(dir, NOW);
    const { active } = await KeyRing.open(dir);
    expect(await calculateJwkThumbprint(publicJwk(active.publicKey))).toBe(active.kid);
    expect(publicKeyFromX(publicJwk(active.publicKey).x).equals(active.publicKey)).toBe(true);
  });
});

describe('an open key ring', () => {
  test('knows a key by its exact header segment and no other', async () => {
    await createKeyRing(dir, NOW);
    const ring = await KeyRing.open(dir);
    const { kid, header } = ring.active;
    expect(ring.byHeader(header)?.kid).toBe(kid);
    expect(Buffer.from(header, 'base64url').toString()).toBe(
      `{"alg":"Ed25519","kid":"${kid}","typ":"license+jwt"}`,
    );
    const others = [
      { alg: 'none', kid, typ: 'license+jwt' },
      { alg: 'EdDSA', kid, typ: 'license+jwt' },
      { alg: 'Ed25519', kid, typ: 'JWT' },
      { kid, alg: 'Ed25519', typ: 'license+jwt' },
    ].map((other) => Buffer.from(JSON.stringify(other)).toString('base64url'));
    expect([...others, '', `${header}=`, '__proto__'].map((segment) => ring.byHeader(segment))).toEqual(
      Array.from({ length: 7 }),
    );
  });

  test('publishes next, active and verifying keys, but not a revoked one, whose file may be missing', async () => {
    await createKeyRing(dir, NOW);
    const before = await KeyRing.open(dir);
    const revoked = before.active;
    await addKey('verifying', publicPem);
    await setStates({ active: 'revoked', next: 'active' });
    await addKey('next', ({ privateKey }) => privateKey.export({ format: 'pem', type: 'pkcs8' }).toString());
    await rm(join(dir, `${revoked.kid}.pem`));
    const ring = await KeyRing.open(dir);
    expect(ring.publishedKeys().map(({ state }) => state)).toEqual(['active', 'verifying', 'next']);
    expect(ring.publishedKeys().some((key) => 'privateKey' in key)).toBe(false);
    expect(ring.byHeader(revoked.header)).toBeUndefined();
    expect(ring.keys.map(({ state }) => state)).toEqual(['revoked', 'active', 'verifying', 'next']);
  });

  test('takes a verifying key of which only the public half was kept', async () => {
    await createKeyRing(dir, NOW);
    const kid = await addKey('verifying', publicPem);
    const key = (await KeyRing.open(dir)).publishedKeys().find((published) => published.kid === kid);
    expect(key?.publicKey.asymmetricKeyType).toBe('ed25519');
  });

  test('is read again only after ring.json has changed', async () => {
    await createKeyRing(dir, NOW);
    const ring = await KeyRing.open(dir);
    const old = ring.active;
    expect(await ring.reload()).toBe(false);
    await setStates({ active: 'verifying', next: 'active' });
    expect(await ring.reload()).toBe(true);
    expect(ring.active.kid).not.toBe(old.kid);
    expect(ring.byHeader(old.header)?.state).toBe('verifying');
    expect(await ring.reload()).toBe(false);
  });

  test('keeps the old keys while the new ring is broken, and uses the new ring once it is repaired', async () => {
    await createKeyRing(dir, NOW);
    const ring = await KeyRing.open(dir);
    const old = ring.active.kid;
    const good = await readFile(join(dir, 'ring.json'), 'utf8');
    await writeFile(join(dir, 'ring.json'), good.slice(0, 40));
    await expect(ring.reload()).rejects.toThrow('ring.json is not JSON.');
    expect(ring.active.kid).toBe(old);
    await writeFile(join(dir, 'ring.json'), good);
    await setStates({ active: 'verifying', next: 'active' });
    expect(await ring.reload()).toBe(true);
    expect(ring.active.kid).not.toBe(old);
  });

  test('is watched every 2 seconds: the watcher loads a rotation, reports an error once, and can be stopped', async () => {
    jest.useFakeTimers(ONLY_INTERVALS);
    await createKeyRing(dir, NOW);
    const ring = await KeyRing.open(dir);
    const old = ring.active.kid;
    const errors: string[] = [];
    const stop = ring.watch((error) => errors.push(error.message));
    const reload = jest.spyOn(ring, 'reload');
    /** Advances the timers of the watcher, and waits for the reload that this begins. */
    const advance = async (milliseconds: number) => {
      jest.advanceTimersByTime(milliseconds);
      await Promise.allSettled(reload.mock.results.map(({ value }) => value));
    };
    await setStates({ active: 'verifying', next: 'active' });
    await advance(1_999);
    expect(reload).not.toHaveBeenCalled();
    expect(ring.active.kid).toBe(old);
    await advance(1);
    expect(ring.active.kid).not.toBe(old);
    expect(ring.lastError).toBeNull();
    const rotated = await readFile(join(dir, 'ring.json'), 'utf8');
    await rm(join(dir, 'ring.json'));
    await advance(2_000);
    await advance(2_000);
    expect(reload).toHaveBeenCalledTimes(3);
    expect(errors).toEqual([`${dir} holds no ring.json that can be read (ENOENT).`]);
    expect(ring.lastError).toBe(errors[0]);
    await writeFile(join(dir, 'ring.json'), rotated);
    await advance(2_000);
    expect(ring.lastError).toBeNull();
    stop();
    expect(jest.getTimerCount()).toBe(0);
    jest.useRealTimers();
  });
});

describe('a ring that is wrong is refused in one sentence:', () => {
  const cases: [string, () => Promise<void>, RegExp][] = [
    ['no ring.json', () => rm(join(dir, 'ring.json')), /holds no ring\.json that can be read \(ENOENT\)\.$/],
    ['not JSON', () => writeFile(join(dir, 'ring.json'), '{'), /^ring\.json is not JSON\.$/],
    ['no keys', () => writeFile(join(dir, 'ring.json'), '{}'), /^ring\.json must be \{"keys"/],
    [
      'null for a key',
      () => writeFile(join(dir, 'ring.json'), '{"keys":[null]}'),
      /^ring\.json must be \{"keys"/,
    ],
    ['a number for a key', () => writeFile(join(dir, 'ring.json'), '{"keys":[7]}'), /^ring\.json must be \{/],
    ['no object', () => writeFile(join(dir, 'ring.json'), 'null'), /^ring\.json must be \{"keys"/],
    ['no active key', () => setStates({ active: 'verifying' }), /exactly one active key, and has 0\.$/],
    ['two active keys', () => setStates({ next: 'active' }), /exactly one active key, and has 2\.$/],
    ['an unknown state', () => setStates({ next: 'retired' as KeyState }), /with known states\.$/],
    [
      'a key named twice',
      async () => writeRing(dir, [...(await entries()), ...(await entries())]),
      /twice\.$/,
    ],
    [
      'a missing file',
      async () => rm(await activeFile()),
      /\.pem is missing or cannot be read \(ENOENT\)\.$/,
    ],
    [
      'a key of another kind',
      async () => writeFile(await activeFile(), rsaPem()),
      /not an Ed25519 key in PEM\.$/,
    ],
    ['no key at all', async () => writeFile(await activeFile(), 'hello'), /not an Ed25519 key in PEM\.$/],
    ['another key', async () => writeFile(await activeFile(), otherPem()), /does not hold the key /],
    ['a public next key', async () => void (await addKey('next', publicPem)), /lacks the private half/],
    [
      'a file in another folder',
      async () =>
        writeRing(
          dir,
          (await entries()).map((entry) => ({ ...entry, file: `../${entry.file}` })),
        ),
      /^ring\.json must be \{"keys"/,
    ],
  ];

  test.each(cases)('%s', async (_name, makeInvalid, sentence) => {
    await createKeyRing(dir, NOW);
    await makeInvalid();
    await expect(KeyRing.open(dir)).rejects.toThrow(sentence);
  });
});

describe('an entry of ring.json', () => {
  const good = { kid: 'k', file: 'k.pem', state: 'active', since: '2026-11-20T13:00:00Z' };
  const read = (entry: unknown) => parseRing(JSON.stringify({ keys: [entry] }));

  test('has a kid, a file of this folder, a state and the time of that state', () => {
    for (const since of [good.since, '2026-11-20T13:00:00.500Z'])
      expect(read({ ...good, since })).toEqual([{ ...good, since }]);
  });

  test.each([
    ...Object.keys(good).map((name) => [`no ${name}`, { [name]: undefined }] as const),
    ...Object.entries(good).map(([name, value]) => [`a list for its ${name}`, { [name]: [value] }] as const),
    ['a time with an offset', { since: '2026-11-20T13:00:00+01:00' }],
    ['text before its time', { since: `x${good.since}` }],
    ['text after its time', { since: `${good.since}x` }],
    ['a fraction without digits', { since: '2026-11-20T13:00:00.Z' }],
    ['a day alone', { since: '2026-11-20' }],
    ['a file of another kind', { file: 'k.key' }],
    ['a file of another folder', { file: '../k.pem' }],
    ['an empty state', { state: '' }],
  ])('with %s is refused', (_what, change) => {
    expect(() => read({ ...good, ...change })).toThrow(/^ring\.json must be /);
  });

  test('that is not an object is refused, and so is a ring.json that is not one', () => {
    for (const wrong of ['k.pem', [], true]) expect(() => read(wrong)).toThrow(/^ring\.json must be /);
    for (const keys of ['x', 7, true, '"keys"'])
      expect(() => parseRing(JSON.stringify(keys))).toThrow(/must be/);
  });
});
