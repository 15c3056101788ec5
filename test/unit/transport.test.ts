import { describe, expect, test } from '@jest/globals';
import { Config, ConfigError } from '../../src/core/config.js';
import { isLoopbackHost } from '../../src/core/connection-urls.js';
import { PRODUCTION_SETTINGS } from '../support/production.js';

// TLS and the verification of certificates in DATABASE_URL, DATABASE_READ_URL, SMTP_URL and PUBLIC_URL.
const MAIL_FROM = 'App <licenses@example.com>';
const SECRET = 'a-password';

describe('the host of a URL:', () => {
  test.each([
    'localhost',
    'LOCALHOST',
    'db.localhost',
    '127.0.0.1',
    '127.0.0.2',
    '127.255.255.255',
    '::1',
    '[::1]',
    '0:0:0:0:0:0:0:1',
    '::ffff:127.0.0.1',
    '[::ffff:7f00:1]',
  ])('%s is a loopback host', (host) => expect(isLoopbackHost(host)).toBe(true));

  test.each([
    '',
    '0.0.0.0',
    '::',
    '10.0.0.5',
    '128.0.0.1',
    '127.0.0.1.example.com',
    '127.1',
    '0x7f.0.0.1',
    '2130706433',
    'localhost.example.com',
    'notlocalhost',
    'localhost.',
    '::ffff:10.0.0.5',
    '::127.0.0.1',
    'fe80::1',
    'db',
    'db.example.com',
  ])('%s is not a loopback host', (host) => expect(isLoopbackHost(host)).toBe(false));
});

describe.each(['DATABASE_URL', 'DATABASE_READ_URL'] as const)('%s', (name) => {
  const primary = 'postgres://127.0.0.1/mooring';
  const usedUrl = (url: string) => {
    const config = new Config({ NODE_ENV: 'development', DATABASE_URL: primary, [name]: url });
    return name === 'DATABASE_URL' ? config.databaseUrl : config.databaseReadUrl;
  };

  test.each([
    'postgres://u:p@db.example.com:5432/mooring',
    'postgres://u:p@10.0.0.5/mooring',
    'postgres://u:p@127.0.0.1.example.com/mooring',
    'postgres://u:p@localhost/mooring?host=db.example.com',
    'postgres://u:p@localhost/mooring?host=localhost&host=db.example.com',
    'postgresql://db/mooring?options=-c%20search_path%3Dx',
  ])('%s means TLS with a verified certificate', (url) => {
    const { searchParams } = new URL(usedUrl(url)!);
    expect(searchParams.getAll('sslmode')).toEqual(['verify-full']);
    expect(searchParams.get('options')).toBe(new URL(url).searchParams.get('options'));
  });

  test.each([
    'postgres://u:p@127.0.0.1:5432/mooring',
    'postgres://u:p@localhost/mooring',
    'postgres://u:p@[::1]:5432/mooring',
    'postgres:///mooring?host=%2Fvar%2Frun%2Fpostgresql',
    'postgres://u:p@%2Fvar%2Frun%2Fpostgresql/mooring',
    'postgres://u:p@db.example.com/mooring?host=localhost',
  ])('%s is on this machine, and is not changed', (url) => expect(usedUrl(url)).toBe(url));

  test.each([
    ['require', 'verify-full'],
    ['verify-ca', 'verify-full'],
    ['verify-full', 'verify-full'],
    ['no-verify', 'no-verify'],
    ['disable', 'disable'],
    ['disable&sslmode=require', 'verify-full'],
  ])('sslmode=%s means %s, for a remote and for a local server', (given, meant) => {
    for (const host of ['db.example.com', 'localhost'])
      expect(usedUrl(`postgres://u:p@${host}/mooring?sslmode=${given}`)).toBe(
        `postgres://u:p@${host}/mooring?sslmode=${meant}`,
      );
  });

  test.each([
    [
      'sslmode=prefer',
      /^The sslmode of \w+ must be verify-full, verify-ca, require, no-verify or disable\.$/,
    ],
    ['sslmode=allow', /sslmode/],
    ['sslmode=', /sslmode/],
    ['sslmode=toString', /sslmode/],
    ['ssl=0', /^\w+ must give sslmode in place of ssl and uselibpqcompat\.$/],
    ['ssl=true', /sslmode/],
    ['uselibpqcompat=true&sslmode=require', /sslmode/],
    ['sslrootcert=/none/ca.pem', /^The file that \w+ names as sslrootcert cannot be read \(ENOENT\)\.$/],
  ])('with %s is refused in a sentence', (parameters, sentence) => {
    const attempt = () => usedUrl(`postgres://u:${SECRET}@db.example.com/mooring?${parameters}`);
    expect(attempt).toThrow(ConfigError);
    expect(attempt).toThrow(sentence);
    expect(attempt).toThrow(name);
    expect(attempt).not.toThrow(SECRET);
  });

  test.each(['postgres:///mooring', 'postgres:///mooring?host=', 'postgres://%zz/mooring'])(
    '%s is refused, because it names no valid host',
    (url) => expect(() => usedUrl(url)).toThrow(/must be a URL of the form/),
  );
});

describe('SMTP_URL', () => {
  const usedUrl = (url: string) => new Config({ SMTP_URL: url, MAIL_FROM }).smtpUrl;

  test.each([
    '',
    '?requireTLS=true',
    '?requireTLS=0',
    '?requireTLS=',
    '?requireTLS=false&requireTLS=x',
    '?requireTLS=no',
  ])('smtp://…%s requires STARTTLS of a remote server', (parameters) => {
    const { searchParams } = new URL(usedUrl(`smtp://u:p@mail.example.com:587${parameters}`)!);
    expect(searchParams.getAll('requireTLS')).toEqual(['true']);
  });

  test.each([
    'smtp://u:p@mail.example.com?requireTLS=false',
    'smtps://u:p@mail.example.com',
    'smtp://127.0.0.1:2525',
    'smtp://[::1]:25',
    'smtp://localhost:25?requireTLS=true',
    'smtps://127.0.0.1:465?tls.rejectUnauthorized=false',
  ])('%s stays as it is', (url) => expect(usedUrl(url)).toBe(url));
});

test.each(['smtp', 'smtps'])(
  '%s:// of a remote server cannot disable the verification of certificates',
  (scheme) => {
    const SMTP_URL = `${scheme}://u:${SECRET}@mail.example.com?tls.rejectUnauthorized=false`;
    const attempt = () => new Config({ SMTP_URL, MAIL_FROM });
    expect(attempt).toThrow(/^SMTP_URL must not have tls\.rejectUnauthorized: /);
    expect(attempt).not.toThrow(SECRET);
  },
);

describe('a service in production', () => {
  const production = { ...PRODUCTION_SETTINGS, DATABASE_URL: 'postgres://127.0.0.1/mooring' };

  test.each(['http://licensing.example.com', 'http://10.0.0.5:3000', 'http://127.0.0.1.example.com'])(
    'may not have the PUBLIC_URL %s',
    (PUBLIC_URL) =>
      expect(() => new Config({ ...production, PUBLIC_URL })).toThrow(
        /^In production PUBLIC_URL must be an https URL, unless its host is a loopback one\.$/,
      ),
  );

  // A URL parser reads the host 127.1 as 127.0.0.1.
  test.each(['https://licensing.example.com', 'http://localhost:3000', 'http://[::1]:3000', 'http://127.1'])(
    'may have the PUBLIC_URL %s',
    (PUBLIC_URL) => expect(new Config({ ...production, PUBLIC_URL }).isProduction).toBe(true),
  );

  test('is the only one that refuses a PUBLIC_URL of http', () => {
    expect(new Config({ PUBLIC_URL: 'http://licensing.example.com' }).isProduction).toBe(false);
  });

  test('does not start if the verification of certificates is switched off for the process', () => {
    expect(() => new Config({ ...production, NODE_TLS_REJECT_UNAUTHORIZED: '0' })).toThrow(
      /^NODE_TLS_REJECT_UNAUTHORIZED must not be 0/,
    );
    expect(new Config({ ...production, NODE_TLS_REJECT_UNAUTHORIZED: '1' }).isProduction).toBe(true);
  });
});
