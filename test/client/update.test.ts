import { describe, expect, test } from '@jest/globals';
import { createHash, sign } from 'node:crypto';
import { signersOf, trustedKey } from '../../client/src/manifest-signature.js';
import { emptyState, type State } from '../../client/src/state.js';
import { checkManifest, type Running } from '../../client/src/update.js';
import { isAbove, isVersion } from '../../client/src/version.js';
import { DAY, Computer, EMAIL, HOUR, json, KEY, MINUTE, problem } from './harness.js';
import { CONTENT, image, makeKey, manifest as signedManifest } from './publisher.js';

const current = makeKey();
const next = makeKey();
const untrusted = makeKey();
const trusted = [current, next].map(({ x }) => trustedKey(x));

const manifest = (changes: Parameters<typeof signedManifest>[0] = {}, signers = [current, next]) =>
  signedManifest(changes, signers);

const running: Running = {
  product: 'com.example.app',
  app_version: '3.1.0',
  license_expires_at: null,
  now: Date.parse('2026-11-20T13:00:00Z'),
};

const checkServed = (served: object, seen = {}, changes: Partial<Running> = {}) =>
  checkManifest(JSON.stringify(served), trusted, seen, { ...running, ...changes });
const digestOf = (text: string) => createHash('sha256').update(text).digest('hex');
const offer = (version: string, minimum: string | null = null) => ({
  version,
  dmg: image(version),
  minimum_license_expiry: minimum,
});

describe('a manifest', () => {
  test('that is valid, newer and covered is offered, and its sequence is stored for each key that signed', () => {
    const good = manifest();
    const { check, sequences } = checkServed(good);
    expect(check).toEqual({ available: true, offer: offer('3.2.0'), newest_version: '3.2.0' });
    const seen = { sequence: 42, digest: digestOf(good.signed) };
    expect(sequences).toEqual({ [current.key_id]: seen, [next.key_id]: seen });
  });

  test('is valid with any trusted key and any of its signatures', () => {
    for (const signers of [[current], [next], [untrusted, next], [untrusted, untrusted, current]])
      expect(checkServed(manifest({}, signers)).check.available).toBe(true);
  });

  test('signed only by an unknown key is untrusted, whatever its key id is', () => {
    const forged = manifest({}, [untrusted]);
    forged.key_id = current.key_id;
    forged.signatures[0]!.key_id = current.key_id;
    expect(checkServed(forged).check).toEqual({ available: false, reason: 'untrusted' });
    expect(checkServed(manifest({}, [])).check).toEqual({ available: false, reason: 'untrusted' });
  });

  test.each([undefined, null, 'text', { 0: {} }])(
    'whose list of signatures is %j is untrusted',
    (signatures) =>
      expect(checkServed({ ...manifest(), signatures }).check).toEqual({
        available: false,
        reason: 'untrusted',
      }),
  );

  test('with one changed byte is untrusted', () => {
    const { signed, ...rest } = manifest();
    for (const at of [0, 30, signed.length - 1]) {
      const changed =
        signed.slice(0, at) + String.fromCharCode(signed.charCodeAt(at) ^ 1) + signed.slice(at + 1);
      expect(checkServed({ ...rest, signed: changed }).check).toEqual({
        available: false,
        reason: 'untrusted',
      });
    }
  });

  test('is read only from the signed content: outer fields have no effect', () => {
    const good = manifest();
    const expected = checkServed(good);
    const wrongValues = {
      version: '99.0.0',
      dmg_sha256: '00'.repeat(32),
      minimum_license_expiry: '2099-01-01T00:00:00Z',
      signature: 'A'.repeat(86),
      key_id: untrusted.key_id,
      sequence: 1,
      product: 'other',
      expires_at: '2000-01-01T00:00:00Z',
      dmg: image('99.0.0'),
      also_available: [offer('98.0.0')],
    };
    for (const [name, wrong] of Object.entries(wrongValues))
      expect(checkServed({ ...good, [name]: wrong })).toEqual(expected);
    expect(checkServed({ ...good, ...wrongValues })).toEqual(expected);
    expect(checkServed({ signed: good.signed, signatures: good.signatures })).toEqual(expected);
  });

  test.each([
    ['of another product', { product: 'com.example.other' }],
    ['of another type', { _type: 'update-manifest/v2' }],
  ])('%s is refused, and its sequence is not stored', (_, changes) => {
    expect(checkServed(manifest(changes))).toEqual({
      check: { available: false, reason: 'wrong_product' },
      sequences: {},
    });
  });

  test.each([
    ['a sequence that is text', { sequence: '42' }],
    ['a fractional sequence', { sequence: 42.5 }],
    ['no expiry', { expires_at: null }],
    ['a version that is not dotted numbers', { version: '3.2.0-beta' }],
    ['an image without https', { dmg: { ...image('3.2.0'), url: 'http://dl.example.com/x.dmg' } }],
    ['an image without a hash', { dmg: { ...image('3.2.0'), sha256: 'none' } }],
    ['no list of older versions', { also_available: null }],
    ['an older version without an image', { also_available: [{ version: '3.1.5' }] }],
    ['a minimum that is not a time', { minimum_license_expiry: 'never' }],
    ['a negative sequence', { sequence: -1 }],
    ['a version that is a number', { version: 3 }],
    ['no image', { dmg: null }],
    ['a url without a host', { dmg: { ...image('3.2.0'), url: 'https://' } }],
    ['a url with a backslash', { dmg: { ...image('3.2.0'), url: 'https://dl.example.com\\@x.example/' } }],
    ['a url with a space', { dmg: { ...image('3.2.0'), url: 'https://dl.example.com/App 3.dmg' } }],
    ['https within a url', { dmg: { ...image('3.2.0'), url: 'ftp://dl.example.com/https://' } }],
    ['an image with a list for a url', { dmg: { ...image('3.2.0'), url: ['https://dl.example.com/x.dmg'] } }],
    ['a size that is text', { dmg: { ...image('3.2.0'), size: '1' } }],
    ['a negative size', { dmg: { ...image('3.2.0'), size: -1 } }],
    ['a hash that is a list', { dmg: { ...image('3.2.0'), sha256: ['0'.repeat(64)] } }],
    ['a hash that is too long', { dmg: { ...image('3.2.0'), sha256: '0'.repeat(65) } }],
    ['a hash in capitals', { dmg: { ...image('3.2.0'), sha256: 'A'.repeat(64) } }],
    ['a minimum that is missing', { minimum_license_expiry: undefined }],
    ['null among the older versions', { also_available: [offer('3.1.5'), null] }],
    ['older versions that are not a list', { also_available: { 0: offer('3.1.5') } }],
  ])('with %s is malformed', (_, changes) => {
    expect(checkServed(manifest(changes)).check).toEqual({ available: false, reason: 'malformed' });
  });

  test('may have the sequence 0 and an image of 0 bytes', () => {
    const changes = { sequence: 0, dmg: { ...image('3.2.0'), size: 0 } };
    expect(checkServed(manifest(changes)).check.available).toBe(true);
  });

  test.each(['', 'no JSON', '[]', 'null'])('whose signed text is %j is malformed', (signed) => {
    const signature = sign(null, Buffer.from(signed), current.privateKey).toString('base64url');
    const check = { available: false, reason: 'malformed' };
    expect(checkServed({ signed, signatures: [{ signature }] })).toEqual({ check, sequences: {} });
  });

  test.each(['', '[]', 'null', '<html>', '{"signed":1}', '{}'])('with the text %p is malformed', (text) => {
    expect(checkManifest(text, trusted, {}, running).check).toEqual({
      available: false,
      reason: 'malformed',
    });
  });

  test('with a lower sequence than the highest one of its key is refused', () => {
    const { sequences } = checkServed(manifest());
    const older = checkServed(manifest({ sequence: 41, version: '3.3.0' }), sequences);
    expect(older).toEqual({ check: { available: false, reason: 'sequence_too_low' }, sequences });
    const otherKey = checkServed(manifest({}, [current])).sequences;
    expect(checkServed(manifest({ sequence: 41 }, [next]), otherKey).check.available).toBe(true);
  });

  test('seen a second time is accepted; another manifest with the same sequence is an equivocation', () => {
    const { sequences } = checkServed(manifest());
    expect(checkServed(manifest(), sequences).check.available).toBe(true);
    const twin = checkServed(manifest({ version: '3.2.1' }), sequences);
    expect(twin).toEqual({ check: { available: false, reason: 'equivocation' }, sequences });
  });

  test('is refused from its expiry on, and manifests with a lower sequence are still refused', () => {
    const expiry = Date.parse(CONTENT.expires_at);
    expect(checkServed(manifest(), {}, { now: expiry - 1 }).check.available).toBe(true);
    const late = checkServed(manifest(), {}, { now: expiry });
    expect(late.check).toEqual({ available: false, reason: 'expired' });
    expect(checkServed(manifest({ sequence: 41 }), late.sequences).check).toMatchObject({
      reason: 'sequence_too_low',
    });
  });

  test.each(['3.2.0', '3.2', '3.2.0.0', '3.2.1', '3.10', '4'])(
    'of version 3.2.0 is no update if the running version is %s',
    (app_version) => {
      const { check } = checkServed(manifest({ version: '3.2.0' }), {}, { app_version });
      expect(check).toEqual({ available: false, reason: 'up_to_date' });
    },
  );
});

describe('coverage', () => {
  const since = '2027-01-04T00:00:00Z';
  const paid = manifest({ minimum_license_expiry: since });

  test.each([
    [null, true],
    ['2027-01-04T00:00:00Z', true],
    ['2027-01-03T23:59:59Z', false],
    [undefined, false],
  ])('a license with the expiry %p covers the version: %p', (license_expires_at, available) => {
    expect(checkServed(paid, {}, { license_expires_at }).check.available).toBe(available);
  });

  test('a version without a minimum expiry is covered without a license', () => {
    expect(checkServed(manifest(), {}, { license_expires_at: undefined }).check.available).toBe(true);
  });

  test('a lapsed license is offered the newest version that it covers, if that is newer than the running one', () => {
    const also_available = [
      offer('3.1.9', '2026-06-01T00:00:00Z'),
      offer('3.1.5', null),
      offer('2.9.4', null),
    ];
    const served = manifest({ minimum_license_expiry: since, also_available });
    const checkWithExpiry = (license_expires_at: string) =>
      checkServed(served, {}, { license_expires_at }).check;
    expect(checkWithExpiry('2026-07-01T00:00:00Z')).toMatchObject({
      offer: { version: '3.1.9' },
      newest_version: '3.2.0',
    });
    expect(checkWithExpiry('2026-01-01T00:00:00Z')).toMatchObject({ offer: { version: '3.1.5' } });
    expect(
      checkServed(served, {}, { license_expires_at: '2026-01-01T00:00:00Z', app_version: '3.1.5' }).check,
    ).toEqual({
      available: false,
      reason: 'not_covered',
      newest: offer('3.2.0', since),
    });
  });
});

test('only the first sixteen well-formed signatures are verified', () => {
  const { signed, signatures } = manifest({}, [current]);
  const good = signatures[0]!.signature;
  const wrong = 'A'.repeat(86);
  const malformed = ['x', 7, undefined, `${good}A`, `A${good}`, `${good}=`];
  const fifteen = Array.from({ length: 15 }, () => wrong);
  expect(signersOf(signed, [...fifteen, ...malformed, good], trusted)).toEqual([current.key_id]);
  expect(signersOf(signed, [...fifteen, wrong, good], trusted)).toEqual([]);
  expect(signersOf(signed, malformed, trusted)).toEqual([]);
});

test('a version has one to four numbers, and versions are compared part by part as numbers', () => {
  expect(isAbove('3.10', '3.9.9')).toBe(true);
  expect(isAbove('3.2', '3.2.0.0')).toBe(false);
  expect(isAbove('3.2.0.1', '3.2')).toBe(true);
  expect(isAbove('9007199254740993', '9007199254740992')).toBe(true);
  expect(['1', '1.2.3.4', '01.2'].every(isVersion)).toBe(true);
  const others = ['', '1.', '1.2.3.4.5', 'v1', '1.2-3', '1'.repeat(33), 1, ['1.2'], null, undefined];
  expect(others.filter(isVersion)).toEqual([]);
});

test.each(['', 'short', 'A'.repeat(44), '*'.repeat(43)])(
  'the trusted key %p is refused when the client is made',
  async (x) => {
    await expect((await Computer.make()).open({ trustedKeys: [x] })).rejects.toThrow(
      'each of trustedKeys and tokenKeys must be an Ed25519 public key',
    );
  },
);

const trustedKeys = [current.x, next.x];
const serveManifest = (computer: Computer, served: object, headers = {}) =>
  (computer.service.answer['/v1/manifest'] = () => () => json(200, served, headers));

describe('the daily check', () => {
  test('comes soon after the start, then daily, also without an activation', async () => {
    const computer = await Computer.opened({ trustedKeys });
    await computer.advanceTime(2 * MINUTE);
    expect(computer.service.calls).toEqual([]);
    await computer.advanceTime(30 * MINUTE);
    expect(computer.service.callsTo('/v1/manifest')).toHaveLength(1);
    await computer.advanceTime(10 * DAY);
    const times = computer.service.callsTo('/v1/manifest').map(({ when }) => when);
    expect(times).toHaveLength(11);
    for (let i = 1; i < times.length; i++)
      expect(Math.abs(times[i]! - times[i - 1]! - DAY)).toBeLessThanOrEqual(HOUR);
    expect(computer.service.calls.every(({ body }) => body === undefined)).toBe(true);
  });

  test('reports its result to the application', async () => {
    const computer = await Computer.make();
    const checks: unknown[] = [];
    await computer.open({ trustedKeys, onUpdateCheck: (check) => checks.push(check) });
    serveManifest(computer, manifest());
    await computer.advanceTime(HOUR);
    expect(checks).toEqual([{ available: true, offer: offer('3.2.0'), newest_version: '3.2.0' }]);
    expect(computer.log).toEqual([]);
  });

  test('logs nothing if the newest version is running', async () => {
    const computer = await Computer.opened({ trustedKeys, appVersion: '3.2.0' });
    serveManifest(computer, manifest());
    expect(await computer.client.checkForUpdate()).toEqual({ available: false, reason: 'up_to_date' });
    expect(computer.log).toEqual([]);
  });

  test('stores nothing of an untrusted manifest', async () => {
    const computer = await Computer.make();
    const written: State[] = [];
    const write = async (state: State) => void written.push(state);
    await computer.open({ trustedKeys, storage: { read: async () => emptyState(), write } });
    serveManifest(computer, manifest({}, [untrusted]));
    expect(await computer.client.checkForUpdate()).toEqual({ available: false, reason: 'untrusted' });
    expect(written).toEqual([]);
    expect(computer.log).toEqual(['no update available: untrusted']);
  });

  test('keeps the highest sequence over a restart, and reports an equivocation', async () => {
    const computer = await Computer.opened({ trustedKeys });
    serveManifest(computer, manifest());
    expect((await computer.client.checkForUpdate()).available).toBe(true);
    await computer.restart({ trustedKeys });
    serveManifest(computer, manifest({ sequence: 41 }));
    expect(await computer.client.checkForUpdate()).toEqual({ available: false, reason: 'sequence_too_low' });
    serveManifest(computer, manifest({ version: '3.4.0' }));
    expect(await computer.client.checkForUpdate()).toEqual({ available: false, reason: 'equivocation' });
    expect(computer.log.some((line) => line.startsWith('EQUIVOCATION'))).toBe(true);
  });

  test('refuses a manifest that is older than the one that another process has seen', async () => {
    const computer = await Computer.opened({ trustedKeys });
    const first = computer.client;
    await computer.open({ trustedKeys });
    serveManifest(computer, manifest(), { etag: '"m42"' });
    expect((await first.checkForUpdate()).available).toBe(true);
    // This manifest withdraws version 3.2.0.
    serveManifest(computer, manifest({ sequence: 43, version: '3.1.0' }));
    expect(await computer.client.checkForUpdate()).toEqual({ available: false, reason: 'up_to_date' });
    computer.service.answer['/v1/manifest'] = () => () => new Response(null, { status: 304 });
    expect(await first.checkForUpdate()).toEqual({ available: false, reason: 'sequence_too_low' });
    await first.close();
  });

  test.each([
    ['a version that is found', {}],
    ['a version that needs a license', { minimum_license_expiry: '2027-01-04T00:00:00Z' }],
  ])('offers nothing while the stored state cannot be read, after %s', async (_, changes) => {
    const computer = await Computer.make();
    const stored = { ...emptyState(), sequences: { [current.key_id]: { sequence: 43, digest: 'd' } } };
    let isLocked = true;
    const storage = { read: async () => (isLocked ? undefined : stored), write: async () => {} };
    await computer.open({ trustedKeys, storage });
    serveManifest(computer, manifest(changes));
    const unreadable = { available: false, reason: 'state_unreadable' };
    expect(await computer.client.checkForUpdate()).toEqual(unreadable);
    expect(computer.log).toEqual(['no update available: state_unreadable']);
    isLocked = false;
    await computer.advanceTime(MINUTE);
    const tooLow = { available: false, reason: 'sequence_too_low' };
    expect(await computer.client.checkForUpdate()).toEqual(tooLow);
  });

  test('uses the sequences in memory while a state that was read once cannot be read', async () => {
    const computer = await Computer.make();
    let isLocked = false;
    const storage = { read: async () => (isLocked ? undefined : emptyState()), write: async () => {} };
    await computer.open({ trustedKeys, storage });
    isLocked = true;
    serveManifest(computer, manifest());
    expect((await computer.client.checkForUpdate()).available).toBe(true);
    serveManifest(computer, manifest({ sequence: 41 }));
    expect(await computer.client.checkForUpdate()).toEqual({ available: false, reason: 'sequence_too_low' });
  });

  test('uses the expiry of the license in the last confirmation', async () => {
    const computer = await Computer.opened({ trustedKeys });
    serveManifest(computer, manifest({ minimum_license_expiry: '2027-01-04T00:00:00Z' }));
    expect(await computer.client.checkForUpdate()).toMatchObject({ reason: 'not_covered' });
    await computer.client.activate(KEY, EMAIL);
    expect(await computer.client.checkForUpdate()).toMatchObject({ available: true });
    computer.service.answer['/v1/heartbeat'] = () =>
      computer.service.confirm(200, { license: { status: 'active', expires_at: '2026-12-01T00:00:00Z' } });
    await computer.client.heartbeatNow();
    expect(await computer.client.checkForUpdate()).toMatchObject({ reason: 'not_covered' });
  });

  test('uses the later of the time seen and the clock for the expiry of a manifest', async () => {
    const computer = await Computer.activated({ trustedKeys });
    serveManifest(computer, manifest());
    expect(await computer.client.checkForUpdate()).toMatchObject({ available: true });
    // A clock that was set back does not make an expired manifest valid.
    const untilExpiry = Date.parse(CONTENT.expires_at) - computer.time.wall;
    computer.service.offset = untilExpiry;
    await computer.client.heartbeatNow();
    expect(await computer.client.checkForUpdate()).toEqual({ available: false, reason: 'expired' });
    // Nor does a service that answers with an old time.
    computer.time.wall += untilExpiry;
    computer.service.offset = -2 * untilExpiry;
    await computer.client.heartbeatNow();
    expect(await computer.client.checkForUpdate()).toEqual({ available: false, reason: 'expired' });
  });

  test('sends the etag, checks the cached manifest again after a 304, and sends no etag after a restart', async () => {
    const computer = await Computer.opened({ trustedKeys });
    serveManifest(computer, manifest(), { etag: '"m42"' });
    await computer.client.checkForUpdate();
    computer.service.answer['/v1/manifest'] = () => () => new Response(null, { status: 304 });
    expect((await computer.client.checkForUpdate()).available).toBe(true);
    computer.time.wall = Date.parse(CONTENT.expires_at);
    // A manifest that has expired is kept: the third 304 is about it.
    for (let calls = 0; calls < 2; calls += 1)
      expect(await computer.client.checkForUpdate()).toEqual({ available: false, reason: 'expired' });
    await computer.restart({ trustedKeys });
    expect(await computer.client.checkForUpdate()).toEqual({ available: false, reason: 'unreachable' });
    const etags = computer.service.calls.map(({ headers }) => headers['if-none-match']);
    expect(etags).toEqual([undefined, '"m42"', '"m42"', '"m42"', undefined]);
  });

  test.each([
    ['cut', { ...manifest(), signed: undefined }, 'malformed'],
    ['of another key', manifest({}, [untrusted]), 'untrusted'],
  ])('keeps no manifest that is %s: a 304 would repeat it', async (_, served, reason) => {
    const computer = await Computer.opened({ trustedKeys });
    serveManifest(computer, served, { etag: '"m42"' });
    expect(await computer.client.checkForUpdate()).toEqual({ available: false, reason });
    serveManifest(computer, manifest(), { etag: '"m42"' });
    expect(await computer.client.checkForUpdate()).toMatchObject({ available: true });
    expect(computer.service.calls[1]!.headers['if-none-match']).toBeUndefined();
  });

  test.each([
    ['"m42"', true],
    [`"${'x'.repeat(128)}"`, true],
    [`"${'x'.repeat(129)}"`, false],
    ['""', false],
    ['"m 42"', false],
    ['m42', false],
    ['W/"m42"', false],
    ['"m42" x', false],
  ])('an etag of %s is sent back: %p', async (etag, isSentBack) => {
    const computer = await Computer.opened({ trustedKeys });
    serveManifest(computer, manifest(), { etag });
    await computer.client.checkForUpdate();
    await computer.client.checkForUpdate();
    const etags = computer.service.calls.map(({ headers }) => headers['if-none-match']);
    expect(etags).toEqual([undefined, isSentBack ? etag : undefined]);
  });

  test.each<[string, () => Response | Promise<Response>, string]>([
    ['no network', () => Promise.reject(new TypeError('fetch failed')), 'unreachable'],
    ['a 500', () => json(500, manifest()), 'unreachable'],
    ['a redirect', () => new Response(null, { status: 302 }), 'unreachable'],
    ['nothing published', () => problem(404, 'no_version_published', 'retry'), 'no_version_published'],
    ['a 404 for an unknown path', () => problem(404, 'not_found', 'retry'), 'unreachable'],
    ['nothing published in a 500', () => problem(500, 'no_version_published', 'retry'), 'unreachable'],
    ['a page in a 404', () => new Response('<html>', { status: 404 }), 'unreachable'],
    ['a page', () => new Response('<html>'), 'malformed'],
    [
      'an answer that is too large',
      () => json(200, { ...manifest(), filler: 'x'.repeat(300_000) }),
      'unreachable',
    ],
    ['a stop', () => problem(403, 'license_revoked', 'stop'), 'unreachable'],
  ])('after %s there is no update, and the application continues to run', async (_, answer, reason) => {
    const computer = await Computer.activated({ trustedKeys });
    computer.service.answer['/v1/manifest'] = () => answer;
    expect(await computer.client.checkForUpdate()).toEqual({ available: false, reason });
    expect(computer.client.status.kind).toBe('running');
  });
});
