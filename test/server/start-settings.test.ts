import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { SettingsError } from '../../src/core/config-error.js';
import { Config } from '../../src/core/config.js';
import { PRODUCTION_SETTINGS } from '../support/production.js';
import { ServerProcess } from '../support/processes/server-process.js';
import { temporaryFolder } from '../support/folders.js';

const folder = temporaryFolder();

describe('a setting that cannot be used', () => {
  // The message must not contain the value of a secret.
  const SECRET = 'canary-secret-5f1c';

  type Case = [what: string, settings: Record<string, string>, sentence: RegExp];
  const production = {
    ...PRODUCTION_SETTINGS,
    DATABASE_URL: `postgres://mooring:${SECRET}@127.0.0.1/mooring`,
  };
  const cases: Case[] = [
    ['PORT without a number', { PORT: 'http' }, /^PORT must be a whole number from 0 to 65535\.$/],
    ['PORT above 65535', { PORT: '65536' }, /^PORT must /],
    ['HOST 0.0.0.0 in development', { HOST: '0.0.0.0', NODE_ENV: 'development' }, /^Development mode .*HOST/],
    ['HOST 0.0.0.0 without NODE_ENV', { HOST: '0.0.0.0' }, /^Development mode .*NODE_ENV/],
    ['HOST :: without NODE_ENV', { HOST: '::' }, /^Development mode .*NODE_ENV/],
    ['NODE_ENV', { NODE_ENV: 'staging' }, /^NODE_ENV must be development or production\.$/],
    ['PUBLIC_URL', { PUBLIC_URL: 'ftp://example.com' }, /^PUBLIC_URL must be an http or https URL/],
    [
      'PRODUCT',
      { PRODUCT: 'a product' },
      /^PRODUCT must be 1 to 96 letters, digits, dots, underscores or dashes, and begin with a letter or digit\.$/,
    ],
    [
      'LICENSE_KEY_PREFIX',
      { LICENSE_KEY_PREFIX: 'moor' },
      /^LICENSE_KEY_PREFIX must be 2 to 12 capital letters or digits\.$/,
    ],
    [
      'LICENSE_KEY_SECRET',
      { LICENSE_KEY_SECRET: SECRET },
      /^LICENSE_KEY_SECRET must be 32 bytes in base64\.$/,
    ],
    [
      'DATABASE_URL',
      { NODE_ENV: 'development', DATABASE_URL: `mysql://u:${SECRET}@h/d` },
      /^DATABASE_URL must be a URL of the form /,
    ],
    [
      'DATABASE_URL without NODE_ENV',
      { DATABASE_URL: `postgres://u:${SECRET}@h/d` },
      /^With DATABASE_URL, NODE_ENV must be given: set NODE_ENV=production, or NODE_ENV=development /,
    ],
    [
      'DATABASE_URL with an @ in the password',
      { NODE_ENV: 'development', DATABASE_URL: `postgres://u:p@${SECRET}@h/d` },
      /^The user name and the password in DATABASE_URL must be escaped: write @ as %40, /,
    ],
    [
      'DATABASE_URL with an @ after a / in the password',
      { NODE_ENV: 'development', DATABASE_URL: `postgres://u:1/${SECRET}@h/d` },
      /^The user name and the password in DATABASE_URL must be escaped/,
    ],
    [
      'SMTP_URL with an e-mail address as the user name',
      { SMTP_URL: `smtp://u@example.com:${SECRET}@h`, MAIL_FROM: 'a@b.c' },
      /^The user name and the password in SMTP_URL must be escaped: write @ as %40, .* and % as %25\.$/,
    ],
    [
      'SMTP_URL with a % in the password',
      { SMTP_URL: `smtp://u:100%x${SECRET}@h`, MAIL_FROM: 'a@b.c' },
      /^The user name and the password in SMTP_URL must be escaped/,
    ],
    [
      'DATABASE_READ_URL',
      { NODE_ENV: 'development', DATABASE_URL: 'postgres://u:p@h/d', DATABASE_READ_URL: `h:${SECRET}` },
      /^DATABASE_READ_URL must be a URL of the form /,
    ],
    [
      'DATABASE_READ_URL alone',
      { DATABASE_READ_URL: `postgres://u:${SECRET}@h/d` },
      /^With DATABASE_READ_URL, DATABASE_URL must be given\.$/,
    ],
    [
      'DATABASE_URL with another sslmode',
      { NODE_ENV: 'development', DATABASE_URL: `postgres://u:${SECRET}@db.example.com/d?sslmode=prefer` },
      /^The sslmode of DATABASE_URL must be verify-full, verify-ca, require, no-verify or disable\.$/,
    ],
    [
      'MANIFEST_PUBLIC_KEYS',
      { MANIFEST_PUBLIC_KEYS: SECRET },
      /^MANIFEST_PUBLIC_KEYS must be Ed25519 public keys/,
    ],
    [
      'DEFAULT_MACHINES_PER_LICENSE',
      { DEFAULT_MACHINES_PER_LICENSE: '0' },
      /^DEFAULT_MACHINES_PER_LICENSE must /,
    ],
    ['DEFAULT_ON_EXPIRY', { DEFAULT_ON_EXPIRY: 'maybe' }, /^DEFAULT_ON_EXPIRY must be one of keep, stop\.$/],
    [
      'SELF_RELEASES_PER_YEAR',
      { SELF_RELEASES_PER_YEAR: '-1' },
      /^SELF_RELEASES_PER_YEAR must be a whole number from 0 to 1000\.$/,
    ],
    [
      'LARGE_TABLE_HOUR',
      { LARGE_TABLE_HOUR: '24' },
      /^LARGE_TABLE_HOUR must be a whole number from 0 to 23\.$/,
    ],
    [
      'TELEMETRY_ROWS_PER_DAY',
      { TELEMETRY_ROWS_PER_DAY: '-1' },
      /^TELEMETRY_ROWS_PER_DAY must be a whole number from 0 to 999999999\.$/,
    ],
    ['LOG_LEVEL', { LOG_LEVEL: 'loud' }, /^LOG_LEVEL must be one of trace, /],
    [
      'production without any setting',
      { NODE_ENV: 'production' },
      /^In production .*: DATABASE_URL, LICENSE_KEY_SECRET, TOKEN_KEYS_DIR, MANIFEST_PUBLIC_KEYS, PUBLIC_URL, PRODUCT /,
    ],
    ...Object.keys(production)
      .filter((name) => name !== 'NODE_ENV')
      .map(
        (name) =>
          [
            `production without ${name}`,
            { ...production, [name]: ' ' },
            new RegExp(`^In production these settings must be given: ${name} \\(`),
          ] satisfies Case,
      ),
    [
      'production with an http PUBLIC_URL',
      { ...production, PUBLIC_URL: 'http://licensing.example.com' },
      /^In production PUBLIC_URL must be an https URL, unless its host is a loopback one\.$/,
    ],
  ];
  const dataDir = join(folder, 'never-created');

  test.each(cases)('%s is refused with one sentence that contains no secret', (_what, settings, sentence) => {
    const refusal = refusalOf({ PORT: '0', DATA_DIR: dataDir, ...settings });
    expect(refusal).toMatch(/^[^\n]+\.$/);
    expect(refusal).toMatch(sentence);
    expect(refusal).not.toContain(SECRET);
  });

  // Only these cases start a process, because every refusal is printed in the same way.
  const IN_A_PROCESS = [
    'HOST 0.0.0.0 without NODE_ENV',
    'DATABASE_URL',
    'DATABASE_URL without NODE_ENV',
    'production without PRODUCT',
  ];

  test.each(cases.filter(([what]) => IN_A_PROCESS.includes(what)))(
    '%s is reported on standard error, with exit code 2, before a folder is created',
    async (_what, settings, sentence) => {
      const server = new ServerProcess({ NODE_ENV: '', PORT: '0', DATA_DIR: dataDir, ...settings });
      const { code } = await server.exited;
      expect(server.stderr).toMatch(/^[^\n]+\.\n$/);
      expect(server.stderr.trim()).toMatch(sentence);
      expect(server.stderr).not.toContain(SECRET);
      expect([code, server.stdout, existsSync(dataDir)]).toEqual([2, '', false]);
    },
  );
});

test('the error names every invalid setting, the first one in its message', () => {
  const settings = { PORT: 'x', LOG_LEVEL: 'loud', SMTP_URL: 'smtp://h', MAIL_FROM: 'nobody' };
  const sentences = [
    'PORT must be a whole number from 0 to 65535.',
    expect.stringMatching(/^LOG_LEVEL must /),
    expect.stringMatching(/^MAIL_FROM must /),
  ];
  expect(errorOf(settings)).toMatchObject({ message: sentences[0], sentences });
});

test('the error names every invalid setting of the brand and of the events', () => {
  const settings = {
    VENDOR_NAME: 'x'.repeat(61),
    SHOP_URL: 'example.com',
    ACCENT_COLOR: 'teal',
    EVENTS_URL: 'ftp://example.com',
    EVENTS_SECRET: 'short',
  };
  const named = errorOf(settings).sentences.map((sentence) => sentence.split(' ')[0]);
  expect(named).toEqual(Object.keys(settings));
});

test('a required setting that is invalid is not reported as missing too', () => {
  const settings = { ...PRODUCTION_SETTINGS, DATABASE_URL: 'postgres://h/d', LICENSE_KEY_SECRET: 'short' };
  expect(errorOf(settings).sentences).toEqual(['LICENSE_KEY_SECRET must be 32 bytes in base64.']);
});

const refusalOf = (settings: Record<string, string>): string => errorOf(settings).message;

function errorOf(settings: Record<string, string>): SettingsError {
  try {
    const { port } = new Config(settings);
    throw new Error(`The service accepts these settings with port ${port}.`);
  } catch (error) {
    if (error instanceof SettingsError) return error;
    throw error;
  }
}
