import { describe, expect, test } from '@jest/globals';
import { readFile, writeFile } from 'node:fs/promises';
import { isStoppedBy, LicenseProblem, type ProblemCode, type Status } from '../../client/src/client.js';
import { PROBLEM_MEMBERS } from '../../client/src/problem-members.js';
import { PROBLEMS } from '../../src/http/problems/problem.js';
import { Computer, EMAIL, KEY, problem } from './harness.js';

/**
 * Reads from the texts of the service's catalogue which codes the calls of the client can get ("Manifest only: …"), and which
 * members each code has ("carries …").
 */
function readCatalogue() {
  const relevant = Object.entries(PROBLEMS).filter(([, { when }]) => {
    const scope = /^([\w ,]+) only[:;]/.exec(when)?.[1];
    return scope === undefined || ['Activate', 'Heartbeat', 'Manifest'].includes(scope);
  });
  return new Map(
    relevant.map(([code, { when }]) => {
      const carried = /carries (.*)$/.exec(when)?.[1] ?? '';
      return [code, [...carried.matchAll(/`([a-z_]+)`/g)].map(([, name]) => name!)];
    }),
  );
}

const problemOf = (code: string, extras: Record<string, unknown>) =>
  new LicenseProblem({
    status: 409,
    code,
    client_action: 'stop',
    detail: 'd',
    errors: [],
    extras,
    retry_after_seconds: undefined,
  });

describe('the codes', () => {
  test('are those of the service’s catalogue, with the same members', () => {
    const known = new Map(
      Object.entries(PROBLEM_MEMBERS).map(([code, members]) => [code, Object.keys(members)]),
    );
    expect(known).toEqual(readCatalogue());
    expect(known.get('version_not_covered')).toHaveLength(3);
  });

  test('of a newer service are kept unchanged', () => {
    const error = problemOf('license_asleep', { until: 'later', portal_url: 7 });
    expect([error.code, error.extras]).toEqual(['license_asleep', { until: 'later', portal_url: 7 }]);
  });

  test.each(['constructor', '__proto__', 'toString'])('may be names of object properties (%s)', (code) => {
    expect(problemOf(code, { x: 1 })).toMatchObject({ code, extras: { x: 1 } });
  });
});

const LIMIT = { machines_allowed: 1, machines_in_use: 1, portal_url: 'https://x.example/portal/' };
const NOT_COVERED = {
  minimum_license_expiry: '2027-01-04T00:00:00Z',
  newest_covered_version: '2.9.4',
  download_url: 'https://dl.example.com/App-2.9.4.dmg',
};

describe('the members of a code', () => {
  test('have their types after a check of the code', () => {
    const error = problemOf('machine_limit_reached', LIMIT);
    if (!error.is('machine_limit_reached')) throw error;
    // The types are part of this test: each problem has its own, and an unknown code or a wrong type does not compile.
    const allowed: number | undefined = error.extras.machines_allowed;
    const url: string | undefined = error.extras.portal_url;
    const code: 'machine_limit_reached' = error.code;
    expect([allowed, url, code]).toEqual([1, LIMIT.portal_url, 'machine_limit_reached']);
    expect(error.is('license_expired')).toBe(false);
    // @ts-expect-error This code does not exist.
    expect(error.is('machine_limit')).toBe(false);
    // @ts-expect-error The member has another type.
    const wrong: string | undefined = error.extras.machines_allowed;
    expect(wrong).toBe(1);
  });

  test('may be null if the contract allows it', () => {
    const none = { ...NOT_COVERED, newest_covered_version: null, download_url: null };
    expect(problemOf('version_not_covered', none).extras).toEqual(none);
  });

  test.each<[ProblemCode, string, unknown[], Record<string, unknown>]>([
    ['license_expired', 'expired_at', [null, 0, 'yesterday'], { expired_at: '2026-11-01T00:00:00Z' }],
    ['version_not_covered', 'minimum_license_expiry', [1, 'soon'], NOT_COVERED],
    ['version_not_covered', 'newest_covered_version', [2.9, 'v2', ''], NOT_COVERED],
    ['version_not_covered', 'download_url', [7, 'file:///bin/sh', '/App.dmg'], NOT_COVERED],
    ['machine_limit_reached', 'machines_allowed', [-1, 1.5, '1', null], LIMIT],
    ['machine_limit_reached', 'machines_in_use', [{}, true], LIMIT],
    ['machine_limit_reached', 'portal_url', [null, 'javascript:alert(1)', 'https://', ['https://x/']], LIMIT],
    ['machine_limit_reached', 'portal_url', ['xhttps://x.example/', 'https:/x.example/'], LIMIT],
    [
      'machine_limit_reached',
      'portal_url',
      ['https://x.example\\@y.example/', 'https://x/a b', 'https://x/\n'],
      LIMIT,
    ],
    [
      'machine_limit_reached',
      'portal_url',
      ['https//x.example/', 'javascript:"https://x.example"'],
      { ...LIMIT, portal_url: 'http://localhost:8080/portal' },
    ],
    [
      'machine_limit_reached',
      'portal_url',
      ['https://[2001:db8::1/', 'https://[:xyz:]/', 'https://2001:db8::1/', 'https://[2001:db8::1]x/'],
      { ...LIMIT, portal_url: 'https://[2001:db8::1]:8443' },
    ],
    ['machine_limit_reached', 'machines_in_use', [], { ...LIMIT, machines_in_use: 0 }],
  ])('of %s: %s is kept if its value is valid, and left out if it is one of %j', (code, name, bad, good) => {
    const added = { ...good, seats: 'more' };
    const { [name]: _, ...rest } = added as Record<string, unknown>;
    expect(problemOf(code, added).extras).toEqual(added);
    for (const value of bad) expect(problemOf(code, { ...added, [name]: value }).extras).toEqual(rest);
  });
});

test('a member of a newer service is kept with at most four levels of nesting', () => {
  const four = { a: [{ b: [1] }] };
  expect(problemOf('license_asleep', { more: four }).extras).toEqual({ more: four });
  expect(problemOf('license_asleep', { more: [four], flat: 1 }).extras).toEqual({ flat: 1 });
  expect(problemOf('license_asleep', { more: [1, [four]], none: null }).extras).toEqual({ none: null });
});

describe('a status', () => {
  async function stoppedComputer(): Promise<Computer> {
    const computer = await Computer.activated();
    computer.service.answer['/v1/heartbeat'] = () => problem(403, 'version_not_covered', 'stop', NOT_COVERED);
    await computer.client.heartbeatNow();
    return computer;
  }

  test('of a stop has the types of its code’s members', async () => {
    const { status } = (await stoppedComputer()).client;
    if (!isStoppedBy(status, 'version_not_covered')) throw new Error(status.kind);
    const url: string | null | undefined = status.extras.download_url;
    expect(url).toBe(NOT_COVERED.download_url);
    expect(isStoppedBy(status, 'license_expired')).toBe(false);
    expect(isStoppedBy({ kind: 'not_activated' }, 'license_expired')).toBe(false);
    const waiting = { kind: 'needs_network', offline_until: '2026-11-27T13:00:00Z', reason: 'unavailable' };
    expect(isStoppedBy(waiting as Status, 'unavailable')).toBe(false);
  });

  test('that is read from an edited file leaves out invalid members', async () => {
    const computer = await stoppedComputer();
    await computer.client.close();
    const text = await readFile(computer.stateFile, 'utf8');
    await writeFile(computer.stateFile, text.replace(NOT_COVERED.download_url, 'file:///bin/sh'));
    computer.service.disconnect();
    const { download_url: _, ...extras } = NOT_COVERED;
    expect(await computer.open()).toMatchObject({ kind: 'stopped' });
    expect(computer.client.status).toEqual(expect.objectContaining({ extras }));
  });
});

test('a stop shows `release_url` and does not store it, because the link is valid for ten minutes only', async () => {
  const computer = await Computer.activated();
  const release_url = 'https://x.example/portal/#release=hint';
  computer.service.answer['/v1/heartbeat'] = () =>
    problem(409, 'machine_limit_reached', 'stop', { ...LIMIT, release_url });
  await computer.client.heartbeatNow();
  expect(computer.client.status).toMatchObject({ kind: 'stopped', extras: { ...LIMIT, release_url } });
  await computer.client.close();
  expect(await readFile(computer.stateFile, 'utf8')).not.toContain('#release=');
  computer.service.disconnect();
  await computer.open();
  expect(computer.client.status).toEqual(expect.objectContaining({ kind: 'stopped', extras: LIMIT }));
});

test('a refusal of Activate has the types of its code’s members', async () => {
  const computer = await Computer.opened();
  computer.service.answer['/v1/activate'] = () => problem(409, 'machine_limit_reached', 'stop', LIMIT);
  const error = await computer.client.activate(KEY, EMAIL).catch((caught: unknown) => caught);
  expect(error instanceof LicenseProblem && error.is('machine_limit_reached') && error.extras).toEqual(LIMIT);
});

test.each([
  ['is left out if it has more than four levels, and the stop is obeyed', 30, 'stopped'],
  ['makes the answer unreadable if it has 50,000 levels, and the application runs', 50_000, 'running'],
])('a member of a stop that is nested too deeply %s', async (_, levels, kind) => {
  const computer = await Computer.activated();
  const deep = `${'['.repeat(levels)}${']'.repeat(levels)}`;
  const body = `{"code":"license_refunded","detail":"refunded","client_action":"stop","more":${deep},"flat":[1]}`;
  const headers = { 'content-type': 'application/problem+json' };
  computer.service.answer['/v1/heartbeat'] = () => new Response(body, { status: 403, headers });
  const stop = { reason: 'license_refunded', detail: 'refunded', extras: { flat: [1] } };
  const status = { kind, ...(kind === 'stopped' && stop) };
  expect(await computer.client.heartbeatNow()).toMatchObject(status);
  computer.service.disconnect();
  expect(await computer.restart()).toMatchObject(status);
  await computer.client.close();
});
