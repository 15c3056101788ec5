import { inspect } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import { Config, ConfigError } from '../../src/core/config.js';

// `canary` is a part of most values: no error message may repeat it.
const SMTP_URL = 'smtp://mooring:canary-secret@mail.example.com:587?requireTLS=true';
const MAIL_FROM = 'Example App <licenses@example.com>';
const PURCHASE_WEBHOOK_SECRET = `whsec_${Buffer.alloc(32, 'canary').toString('base64')}`;

describe('SMTP_URL', () => {
  test.each([
    SMTP_URL,
    'smtps://mail.example.com',
    'smtp://[::1]:25',
    'smtp://127.0.0.1:2525?tls.rejectUnauthorized=false',
  ])('%s is accepted', (given) => expect(new Config({ SMTP_URL: given, MAIL_FROM }).smtpUrl).toBe(given));

  test.each([
    'canary.example.com',
    'canary.example.com:25',
    'https://canary.example.com',
    'smtp:canary.example.com',
    'smtp://:2525',
    'smtp://canary:x@',
    'smtp://canary:99999',
    'canary',
  ])('%s is refused', (given) =>
    expectRefused({ SMTP_URL: given, MAIL_FROM }, /^SMTP_URL must be a URL of the form smtp:\/\//),
  );
});

describe('MAIL_FROM', () => {
  test.each([
    ['licenses@example.com', { name: 'com.example.app', address: 'licenses@example.com' }],
    ['<licenses@example.com>', { name: 'com.example.app', address: 'licenses@example.com' }],
    [MAIL_FROM, { name: 'Example App', address: 'licenses@example.com' }],
    ['"Example, App" <licenses@example.com>', { name: 'Example, App', address: 'licenses@example.com' }],
    ['Büro <licenses@example.com>', { name: 'Büro', address: 'licenses@example.com' }],
  ])('%s gives the address and the name of the sender, by default the product', (given, parts) => {
    expect(new Config({ SMTP_URL, MAIL_FROM: given }).mailFrom).toEqual(parts);
  });

  test.each([
    'canary',
    'Canary licenses@example.com',
    'canary@example.com, other@example.com',
    'Canary <canary@example.com>, other@example.com',
    'Canary <canary@example.com> other@example.com',
    'Canary, App <licenses@example.com>',
    'Canary <canary>',
    'Canary <ca nary@example.com>',
    'canary@a@example.com',
    'Canary\r\nBcc: other@example.com <licenses@example.com>',
    '"Canary\r\nBcc: x" <licenses@example.com>',
    'canary@example.com\r\nBcc: other@example.com',
  ])('%j is refused', (given) => {
    expectRefused(
      { SMTP_URL, MAIL_FROM: given },
      /^MAIL_FROM must be an e-mail address, or a name with an address/,
    );
  });

  test('is needed with SMTP_URL, and has a default without it', () => {
    expectRefused({ SMTP_URL }, /^With SMTP_URL, MAIL_FROM must be given\.$/);
    expectRefused({ SMTP_URL, MAIL_FROM: ' ' }, /^With SMTP_URL, MAIL_FROM must be given\.$/);
    expect(new Config({ PRODUCT: 'com.example.editor' }).mailFrom).toEqual({
      name: 'com.example.editor',
      address: 'licenses@localhost',
    });
  });
});

describe('PURCHASE_WEBHOOK_SECRET', () => {
  const base64 = (bytes: number) => Buffer.alloc(bytes, 'canary').toString('base64');

  test.each([24, 32, 64])('may have %d bytes, after whsec_ or without', (bytes) => {
    for (const prefix of ['', 'whsec_']) {
      const config = new Config({ PURCHASE_WEBHOOK_SECRET: prefix + base64(bytes) });
      expect(config.purchaseWebhookSecret).toBe(base64(bytes));
    }
  });

  test.each([
    base64(23),
    base64(65),
    'whsec_AAAA',
    `whsec_whsec_${base64(32)}`,
    'canary-is-no-base64!',
    `${base64(32)} x`,
    `WHSEC_${base64(32)}`,
  ])('%s is refused', (given) =>
    expectRefused(
      { PURCHASE_WEBHOOK_SECRET: given },
      /^PURCHASE_WEBHOOK_SECRET must be 24 to 64 bytes in base64/,
    ),
  );
});

describe('EVENTS_URL and EVENTS_SECRET', () => {
  const EVENTS_SECRET = `whsec_${Buffer.alloc(32, 'canary').toString('base64')}`;
  const base64 = EVENTS_SECRET.slice(6);

  test.each([
    'https://events.example.com/mooring?token=canary',
    'http://127.0.0.1:4100/events',
    'http://localhost:4100/',
    'http://[::1]:4100/',
  ])('%s is accepted', (EVENTS_URL) => {
    const config = new Config({ EVENTS_URL, EVENTS_SECRET });
    expect(config.eventEndpoint).toEqual({ url: EVENTS_URL, secrets: [base64] });
  });

  test('two secrets are accepted while one is replaced', () => {
    const endpoint = new Config({
      EVENTS_URL: 'https://e.example',
      EVENTS_SECRET: `${base64}  ${EVENTS_SECRET}`,
    });
    expect(endpoint.eventEndpoint?.secrets).toEqual([base64, base64]);
  });

  test('events are off by default', () => expect(new Config({}).eventEndpoint).toBeUndefined());

  test.each([
    ['canary', /^EVENTS_URL must be an https URL without a fragment/],
    ['ftp://canary.example.com', /^EVENTS_URL must be an https URL without a fragment/],
    ['https://user:canary@example.com', /^EVENTS_URL must be an https URL without a fragment/],
    ['https://example.com/#canary', /^EVENTS_URL must be an https URL without a fragment/],
    ['http://canary.example.com', /^EVENTS_URL must be an https URL, unless its host is a loopback one\.$/],
    ['http://10.0.0.7/canary', /^EVENTS_URL must be an https URL, unless its host is a loopback one\.$/],
  ])('%s is refused', (EVENTS_URL, sentence) => expectRefused({ EVENTS_URL, EVENTS_SECRET }, sentence));

  test('one without the other, a weak secret and three secrets are refused', () => {
    const EVENTS_URL = 'https://canary.example.com';
    const together = /^EVENTS_URL and EVENTS_SECRET must be given together\.$/;
    expectRefused({ EVENTS_URL }, together);
    expectRefused({ EVENTS_SECRET }, together);
    expectRefused(
      { EVENTS_URL, EVENTS_SECRET: 'whsec_AAAA' },
      /^EVENTS_SECRET must be 24 to 64 bytes in base64/,
    );
    expectRefused(
      { EVENTS_URL, EVENTS_SECRET: `${base64} ${base64} ${base64}` },
      /^EVENTS_SECRET must be one secret, or two while it is replaced\.$/,
    );
  });
});

test('no secret is shown with the settings', () => {
  const events = { EVENTS_URL: 'https://e.example/?token=canary', EVENTS_SECRET: PURCHASE_WEBHOOK_SECRET };
  const config = new Config({ SMTP_URL, MAIL_FROM, PURCHASE_WEBHOOK_SECRET, ...events });
  const shown = inspect(config, { depth: 9, showHidden: true }) + JSON.stringify(config);
  expect(shown).toContain('licenses@example.com');
  expect(shown).not.toContain('canary');
  expect(shown).not.toContain(config.purchaseWebhookSecret);
  expect([config.smtpUrl, config.purchaseWebhookSecret]).toEqual([
    SMTP_URL,
    PURCHASE_WEBHOOK_SECRET.slice(6),
  ]);
});

function configOrError(environment: Record<string, string>): unknown {
  try {
    return new Config(environment);
  } catch (error) {
    return error;
  }
}

/** Expects an error of one sentence that repeats neither a value nor the word `canary`. */
function expectRefused(environment: Record<string, string>, sentence: RegExp): void {
  const error = configOrError(environment);
  expect(error).toBeInstanceOf(ConfigError);
  const { message } = error as ConfigError;
  expect(message).toMatch(sentence);
  expect(message).toMatch(/^[^\n]+[.…]$/);
  for (const given of Object.values(environment)) if (given.trim()) expect(message).not.toContain(given);
  expect(message.toLowerCase()).not.toContain('canary');
}
