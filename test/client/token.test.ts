import { describe, expect, test } from '@jest/globals';
import { machineDigest, readToken, TokenReader } from '../../client/src/license-token.js';
import { trustedKey } from '../../client/src/manifest-signature.js';
import { at, DAY, MACHINE_ID, START } from './harness.js';
import { makeKey } from './publisher.js';

const IAT = START / 1_000;
const WEEK_SECONDS = 7 * 86_400;
/** The last second of the year 9999. */
const LATEST_SECONDS = 253_402_300_799;
/** The token keys shipped with the application. */
const shipped = [trustedKey(makeKey().x)];

const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
const tokenOf = (claims: object, header: object = { kid: 'unknown' }) =>
  `${part(header)}.${part({ mch: machineDigest(MACHINE_ID), iat: IAT, exp: IAT + WEEK_SECONDS, ...claims })}.${'A'.repeat(86)}`;
const license = (token: string, offline_until = at(START + 30 * DAY)) => ({ token, offline_until });

describe('the claims of a token', () => {
  test.each([
    { iat: -1 },
    { iat: 1.5 },
    { iat: String(IAT) },
    { exp: -1 },
    { exp: LATEST_SECONDS + 1 },
    { exp: null },
    { mch: 7 },
    { mch: undefined },
  ])(
    'with %j are not read, and an application that has token keys does not accept the times of the token',
    (claims) => {
      const none = { claims: undefined, offline_until: at(START + 30 * DAY) };
      const token = tokenOf(claims);
      expect(readToken(license(token), shipped)).toEqual({ ...none, isBelievable: false });
      expect(readToken(license(token), [])).toEqual({ ...none, isBelievable: true });
    },
  );

  test.each([{ iat: 0 }, { exp: LATEST_SECONDS }, { exp: 0 }])('with %j are read', (claims) => {
    expect(readToken(license(tokenOf(claims)), []).claims).toMatchObject(claims);
  });

  test.each([
    ['without a kid', tokenOf({}, {})],
    ['with a number for a kid', tokenOf({}, { kid: 7 })],
    ['with one more part', `${tokenOf({})}.AA`],
    ['with an empty part before it', `.${tokenOf({})}`],
    ['without a signature', tokenOf({}).replace(/[^.]*$/, '')],
    ['with a line break', `${tokenOf({})}\n`],
  ])('%s are not read', (_name, token) => expect(readToken(license(token), []).claims).toBeUndefined());
});

describe('a token of a key that was not shipped', () => {
  test.each([
    [-1, false],
    [0, false],
    [1, true],
    [WEEK_SECONDS, true],
    [WEEK_SECONDS + 1, false],
  ])('that ends %d seconds after its issue is believable: %p', (seconds, isBelievable) => {
    const token = tokenOf({ exp: IAT + seconds });
    expect(readToken(license(token), shipped).isBelievable).toBe(isBelievable);
    expect(readToken(license(token), []).isBelievable).toBe(true);
  });

  test.each([
    ['its own end', { exp: IAT + 60 }, START + 30 * DAY, START + 60_000],
    ['seven days after its issue', { exp: IAT + 2 * WEEK_SECONDS }, START + 30 * DAY, START + 7 * DAY],
    ['the offline_until of the answer', {}, START + DAY, START + DAY],
  ])(
    'lets an application start offline until %s if that is the earliest limit',
    (_name, claims, end, expected) => {
      expect(readToken(license(tokenOf(claims), at(end)), []).offline_until).toBe(at(expected));
    },
  );
});

describe('the machine of a token', () => {
  const stored = {
    ...license(tokenOf({})),
    license_key: 'k',
    email: 'e',
    hostname_hint: null,
    expires_at: null,
  };

  test('is another one only if it and this machine are known and differ', async () => {
    const isOfAnotherMachine = (machineId: () => Promise<string>, token = stored.token) =>
      new TokenReader([], machineId).isOfAnotherMachine({ ...stored, token });
    const fails = () => Promise.reject(new Error('no machine id'));
    expect(await isOfAnotherMachine(async () => MACHINE_ID)).toBe(false);
    expect(await isOfAnotherMachine(async () => 'cd'.repeat(32))).toBe(true);
    expect(await isOfAnotherMachine(fails)).toBe(false);
    expect(await isOfAnotherMachine(async () => 'cd'.repeat(32), 'of another format')).toBe(false);
  });

  test('is compared with the machine id of this machine, which is read once, and again after a failure', async () => {
    let reads = 0;
    const reader = new TokenReader([], async () => {
      reads += 1;
      if (reads === 1) throw new Error('no machine id');
      return MACHINE_ID;
    });
    for (let turn = 0; turn < 3; turn += 1) expect(await reader.isOfAnotherMachine(stored)).toBe(false);
    expect(reads).toBe(2);
  });
});
