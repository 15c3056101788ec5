import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { contrast, deriveAccent, MIN_CONTRAST } from '../../src/core/accent.js';
import { Config, ConfigError } from '../../src/core/config.js';

const brandOf = (settings: Record<string, string>) => new Config(settings).brand;

function refusalOf(settings: Record<string, string>): string | undefined {
  try {
    brandOf(settings);
    return undefined;
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
}

describe('the brand', () => {
  test('without settings is the name of the product alone', () => {
    expect(brandOf({ PRODUCT: 'com.example.editor' })).toEqual({
      productName: 'com.example.editor',
      vendorName: null,
      supportContact: null,
      privacyContact: null,
      shopUrl: null,
      renewalUrl: null,
      accent: null,
      logoFile: null,
    });
  });

  test('takes the name of the product from PRODUCT_NAME, and without it from the display name of MAIL_FROM', () => {
    const settings = { SMTP_URL: 'smtp://127.0.0.1', MAIL_FROM: 'Editor <a@example.com>', PRODUCT: 'editor' };
    expect(brandOf(settings).productName).toBe('Editor');
    expect(brandOf({ ...settings, PRODUCT_NAME: 'Example Editor' }).productName).toBe('Example Editor');
  });

  test.each([
    ['help@example.com', { text: 'help@example.com', url: 'mailto:help@example.com' }],
    ['https://example.com/help/', { text: 'example.com/help', url: 'https://example.com/help/' }],
    ['https://example.com?topic=1', { text: 'example.com/?topic=1', url: 'https://example.com/?topic=1' }],
  ])('has %s as a contact', (SUPPORT_CONTACT, contact) => {
    const { supportContact, privacyContact } = brandOf({ SUPPORT_CONTACT });
    // Support answers questions about privacy too, unless another contact is given.
    expect([supportContact, privacyContact]).toEqual([contact, contact]);
    const other = brandOf({ SUPPORT_CONTACT, PRIVACY_CONTACT: 'privacy@example.com' });
    expect(other.privacyContact!.text).toBe('privacy@example.com');
  });

  test.each([
    ['PRODUCT_NAME', 'a\u0007b', /^PRODUCT_NAME must be 1 to 60 visible characters\.$/],
    ['PRODUCT_NAME', 'x'.repeat(61), /^PRODUCT_NAME must /],
    ['VENDOR_NAME', 'gpj.\u202eexe', /^VENDOR_NAME must /],
    ['SUPPORT_CONTACT', 'help', /^SUPPORT_CONTACT must be an e-mail address, or an http or https URL\.$/],
    ['SUPPORT_CONTACT', 'javascript:alert(1)', /^SUPPORT_CONTACT must /],
    ['SUPPORT_CONTACT', 'help@example.com?bcc=eve@example.com', /^SUPPORT_CONTACT must /],
    ['SUPPORT_CONTACT', '<b>help</b>@example.com', /^SUPPORT_CONTACT must /],
    ['SUPPORT_CONTACT', 'help#me@example.com', /^SUPPORT_CONTACT must /],
    ['PRIVACY_CONTACT', 'https://user@example.com/', /^PRIVACY_CONTACT must be an http or https URL /],
    ['SHOP_URL', 'https://:secret@example.com/', /^SHOP_URL must be an http or https URL /],
    ['SHOP_URL', 'example.com', /^SHOP_URL must be an http or https URL of at most 500 characters\.$/],
    ['SHOP_URL', `https://example.com/${'x'.repeat(500)}`, /^SHOP_URL must /],
    ['SHOP_URL', 'javascript:alert(1)', /^SHOP_URL must /],
    ['RENEWAL_URL', 'ftp://example.com', /^RENEWAL_URL must /],
    ['RENEWAL_URL', 'data:text/html,<script>alert(1)</script>', /^RENEWAL_URL must /],
    ['ACCENT_COLOR', 'teal', /^ACCENT_COLOR must be a colour of the form #0b5a73\.$/],
    ['ACCENT_COLOR', '#ffcc00', /^ACCENT_COLOR must have a contrast of at least 4\.5:1 /],
  ])('is refused with one sentence if %s is %j', (name, value, sentence) => {
    expect(refusalOf({ [name]: value })).toMatch(sentence);
  });
});

/** The colours of the pages, by name, for light and for dark pages. */
const [LIGHT, DARK] = coloursOfPages();

function coloursOfPages(): Record<string, string>[] {
  const css = readFileSync(new URL('../../web/shared/page/style.css', import.meta.url), 'utf8');
  const [light = '', dark = ''] = [...css.matchAll(/:root \{[^}]*\}/g)].map(([rule]) => rule);
  return [light, dark].map((rule) =>
    Object.fromEntries(
      [...rule.matchAll(/--([a-z-]+): (#[0-9a-f]{6});/g)].map(([, name, value]) => [name, value]),
    ),
  );
}

const colours = fc
  .array(fc.integer({ min: 0, max: 255 }), { minLength: 3, maxLength: 3 })
  .map((values) => `#${values.map((value) => value.toString(16).padStart(2, '0')).join('')}`);

describe('an accent colour', () => {
  test.each([
    ['#ffffff', '#000000', 21],
    ['#777777', '#ffffff', 4.48],
    ['#0b5a73', '#0b5a73', 1],
  ])('has the contrast that WCAG 2.2 defines: %s and %s give %d', (one, other, ratio) => {
    expect(contrast(one, other)).toBeCloseTo(ratio, 2);
    expect(contrast(other, one)).toBeCloseTo(ratio, 2);
  });

  test('is accepted exactly if its contrast with each light background is enough, and each derived colour has enough too', () => {
    fc.assert(
      fc.property(colours, (colour) => {
        const onLight = [LIGHT!['paper']!, LIGHT!['raised']!, LIGHT!['tint']!];
        const onDark = [DARK!['paper']!, DARK!['raised']!, DARK!['tint']!];
        const isReadable = onLight.every((background) => contrast(colour, background) >= MIN_CONTRAST);
        const accent = deriveAccent(colour);
        expect(accent !== null).toBe(isReadable);
        if (!accent) return;
        const pairs = [
          ...[accent.light, accent.lightStrong].flatMap((each) =>
            [...onLight, LIGHT!['on-accent']!].map((background) => [each, background] as const),
          ),
          ...[accent.dark, accent.darkStrong].flatMap((each) =>
            [...onDark, DARK!['on-accent']!].map((background) => [each, background] as const),
          ),
        ];
        for (const [one, other] of pairs) expect(contrast(one, other)).toBeGreaterThanOrEqual(MIN_CONTRAST);
      }),
    );
  });

  test('with too little contrast on light pages is refused, and an accepted one is used there unchanged', () => {
    expect(deriveAccent('#1a73e8')).toBeNull();
    expect(deriveAccent('#0b5a73')).toMatchObject({ light: '#0b5a73' });
  });
});
