import { describe, expect, test } from '@jest/globals';
import { Config, ConfigError } from '../../src/core/config.js';
import { hostUrls } from '../../src/core/host-list.js';
import { databaseAddress } from '../../src/database/access-errors.js';
import type { HostAnswer } from '../../src/database/host-answer.js';
import {
  choosePrimary,
  newestCluster,
  roleOf,
  type HostState,
  type KnownCluster,
} from '../../src/database/host-choice.js';
import { hostWarnings } from '../../src/database/host-warnings.js';

const PASSWORD = 'a-password';
const usedUrl = (url: string) => new Config({ NODE_ENV: 'development', DATABASE_URL: url }).databaseUrl!;

describe('a DATABASE_URL with several hosts', () => {
  test.each([
    ['postgres://u:p@db1:5433,db2/mooring?sslmode=disable', ['db1:5433', 'db2:5432']],
    ['postgresql://db1,db2,db3/mooring?sslmode=disable', ['db1:5432', 'db2:5432', 'db3:5432']],
    ['postgres://u:p@[::1]:5433,[2001:db8::2]/mooring?sslmode=disable', ['[::1]:5433', '[2001:db8::2]:5432']],
    // A comma of the user name or the password separates no hosts.
    ['postgres://u,v:p%2Cq,r@db1:1,db2:2/mooring?sslmode=disable', ['db1:1', 'db2:2']],
    ['postgres://u:p@db1,db1,db2/mooring?sslmode=disable', ['db1:5432', 'db2:5432']],
    ['postgres://u:p@%2Frun%2Fa:5433,%2Frun%2Fb/mooring', ['/run/a', '/run/b']],
  ])('%s is split into its hosts', (url, hosts) => {
    const used = usedUrl(url);
    expect(databaseAddress(used)).toBe(hosts.join(', '));
    const [first, ...others] = hostUrls(used).map((each) => new URL(each));
    for (const { username, password, pathname, search } of others)
      expect([username, password, pathname, search]).toEqual([
        first!.username,
        first!.password,
        first!.pathname,
        first!.search,
      ]);
    expect(first!.pathname).toBe('/mooring');
  });

  test.each([
    ['postgres://127.0.0.1,localhost/mooring', null],
    ['postgres://127.0.0.1,db2/mooring', 'verify-full'],
    ['postgres://db1,127.0.0.1/mooring', 'verify-full'],
    ['postgres://db1,db2/mooring?sslmode=require', 'verify-full'],
    ['postgres://db1,db2/mooring?sslmode=disable', 'disable'],
  ])('%s has the sslmode %s for each host', (url, mode) => {
    for (const each of hostUrls(usedUrl(url))) expect(new URL(each).searchParams.get('sslmode')).toBe(mode);
  });

  test.each([
    [`postgres://u:${PASSWORD}@db1,,db2/mooring`, /^DATABASE_URL must be a URL of the form/],
    [`postgres://u:${PASSWORD}@db1,/mooring`, /must be a URL of the form/],
    [`postgres://u:${PASSWORD}@db1:99999,db2/mooring`, /must be a URL of the form/],
    [`postgres://u:${PASSWORD}@db1:5432,db2:x/mooring`, /must be a URL of the form/],
    ['postgres:///mooring?host=db1,db2', /must give several hosts before the name/],
    [`postgres://u:${PASSWORD}@db1,db2/mooring?host=db3`, /must give several hosts before the name/],
    [`postgres://u:${PASSWORD}@x@db1,db2/mooring`, /must be escaped/],
  ])('%s is refused', (url, sentence) => {
    expect(() => usedUrl(url)).toThrow(ConfigError);
    expect(() => usedUrl(url)).toThrow(sentence);
    expect(() => usedUrl(url)).not.toThrow(PASSWORD);
  });
});

const KNOWN: KnownCluster = { cluster: 'c', timeline: 2 };
const PRIMARY: HostAnswer = {
  cluster: 'c',
  timeline: 2,
  is_standby: false,
  is_read_only: false,
  started_at: '1',
};
const OUTDATED = { ...PRIMARY, timeline: 1 };
const STANDBY = { ...PRIMARY, is_standby: true };
/** Hosts with these answers; null is a host that does not answer. */
const hosts = (...answers: (HostAnswer | null)[]): HostState[] =>
  answers.map((answer, index) => ({
    address: `db${index + 1}`,
    hostname: `db${index + 1}`,
    port: 5432,
    url: `postgres://db${index + 1}/mooring`,
    ...(answer && { answer }),
  }));
const choice = (states: HostState[], known?: KnownCluster, current?: string) =>
  choosePrimary(states, newestCluster(states, known), current)?.address;

describe('the primary is', () => {
  test.each([
    ['the one that accepts writes', [STANDBY, PRIMARY], undefined, 'db2'],
    ['the one with the newest timeline', [OUTDATED, PRIMARY], undefined, 'db2'],
    ['the one with a newer timeline than before', [null, { ...PRIMARY, timeline: 3 }], KNOWN, 'db2'],
    ['none, if the process has seen a newer timeline', [OUTDATED, null], KNOWN, undefined],
    ['none, if a standby has a newer timeline', [OUTDATED, null, STANDBY], undefined, undefined],
    ['none that is read-only', [{ ...PRIMARY, is_read_only: true }, STANDBY], undefined, undefined],
    ['none of another cluster', [{ ...PRIMARY, cluster: 'd' }, STANDBY], KNOWN, undefined],
    [
      'none, if the hosts belong to two clusters',
      [{ ...PRIMARY, cluster: 'd' }, STANDBY],
      undefined,
      undefined,
    ],
    ['none of two on the same timeline', [PRIMARY, { ...PRIMARY, started_at: '2' }], undefined, undefined],
    ['a server with two names', [PRIMARY, PRIMARY], undefined, 'db1'],
    ['none without an answer', [null, null], KNOWN, undefined],
  ] as const)('%s', (_text, answers, known, expected) => {
    expect(choice(hosts(...answers), known)).toBe(expected);
    // The order of the hosts decides only between two names of one server.
    expect(choice(hosts(...answers).toReversed(), known)).toBe(
      expected === 'db1' && answers.every((each) => each === PRIMARY) ? 'db2' : expected,
    );
  });

  test('the one in use, if another one on the same timeline accepts writes too', () => {
    const states = hosts(PRIMARY, { ...PRIMARY, started_at: '2' });
    expect(choice(states, KNOWN, 'db2')).toBe('db2');
    expect(hostWarnings(states.map((state) => ({ role: roleOf(state, KNOWN) })))).toEqual([
      'Several hosts of DATABASE_URL are primaries: only one of them is used. mooring doctor names them.',
    ]);
  });
});

test('the warnings about hosts count the hosts that need attention', () => {
  const states = hosts(PRIMARY, STANDBY, OUTDATED, null, { ...PRIMARY, cluster: 'd' });
  expect(hostWarnings(states.map((state) => ({ role: roleOf(state, KNOWN) })))).toEqual([
    'Hosts of DATABASE_URL that do not answer: 1. mooring doctor names them.',
    'Hosts of DATABASE_URL that are neither primary nor standby: 2. mooring doctor says what they are.',
  ]);
  expect(hostWarnings([{ role: 'primary' }, { role: 'standby' }])).toEqual([]);
});
