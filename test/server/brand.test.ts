import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { Logo } from '../../src/brand/logo.js';
import { Config } from '../../src/core/config.js';
import { Service } from '../support/harness.js';
import { temporaryFolder } from '../support/folders.js';

const SVG = '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>';
const DOCTYPE = '<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "svg11.dtd" [ <!ENTITY a "b"> ]>';
const PNG = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(20)]);

const folder = temporaryFolder();

function logoFile(name: string, content: string | Buffer): string {
  const file = join(folder, name);
  writeFileSync(file, content);
  return file;
}

test('the brand and its logo are public, and an SVG logo that is opened as a page runs no script', async () => {
  const service = await Service.start({
    environment: {
      PRODUCT_NAME: 'Example Editor',
      VENDOR_NAME: 'Example & Sons',
      SUPPORT_CONTACT: 'help@example.com',
      SHOP_URL: 'https://example.com/buy',
      RENEWAL_URL: 'https://example.com/renew',
      ACCENT_COLOR: '#7A1FA2',
      LOGO_FILE: logoFile('logo.svg', SVG),
    },
  });
  const contact = { text: 'help@example.com', url: 'mailto:help@example.com' };
  const brand = await service.call('GET', '/brand');
  expect(brand.json).toEqual({
    product_name: 'Example Editor',
    vendor_name: 'Example & Sons',
    support_contact: contact,
    privacy_contact: contact,
    shop_url: 'https://example.com/buy',
    renewal_url: 'https://example.com/renew',
    accent: {
      light: '#7a1fa2',
      light_strong: expect.stringMatching(/^#/),
      dark: expect.stringMatching(/^#/),
      dark_strong: expect.stringMatching(/^#/),
    },
    has_logo: true,
  });
  const logo = await service.call('GET', '/brand/logo');
  expect([logo.status, logo.text]).toEqual([200, SVG]);
  expect(logo.headers).toMatchObject({
    'content-type': 'image/svg+xml',
    'content-security-policy': expect.stringMatching(/^default-src 'none'; .*sandbox$/),
    'x-content-type-options': 'nosniff',
    'cache-control': 'public, max-age=300',
  });
});

test('without brand settings the product name is the value of PRODUCT, and there is no logo', async () => {
  const service = await Service.start();
  expect((await service.call('GET', '/brand')).json).toMatchObject({
    product_name: 'com.example.app',
    vendor_name: null,
    accent: null,
    has_logo: false,
  });
  const { status, json } = await service.call('GET', '/brand/logo');
  expect([status, json.code]).toEqual([404, 'not_found']);
});

test.each([
  ['a PNG image', 'logo.png', PNG, 'image/png'],
  [
    'an SVG image with an XML declaration',
    'declared.svg',
    `\uFEFF<?xml version="1.0"?>\n${SVG}`,
    'image/svg+xml',
  ],
  [
    'an SVG image with a document type and a comment',
    'typed.svg',
    `${DOCTYPE}\n<!-- > -->\n${SVG}`,
    'image/svg+xml',
  ],
])('%s is accepted as a logo', (_what, name, content, type) => {
  const { image } = new Logo(new Config({ LOGO_FILE: logoFile(name, content) }));
  expect(image).toEqual({ type, bytes: Buffer.from(content) });
});

const WRONG_FORMAT = /^LOGO_FILE must be a PNG or SVG image\.$/;
test.each([
  ['missing', () => join(folder, 'nowhere.png'), /^LOGO_FILE cannot be read: .*nowhere\.png \(ENOENT\)\.$/],
  ['a web page', () => logoFile('page.svg', '<!doctype html>'), WRONG_FORMAT],
  ['a web page with an image', () => logoFile('image.svg', `<!doctype html>${SVG}`), WRONG_FORMAT],
  ['a web page after a comment', () => logoFile('comment.svg', `<!-- ${SVG} --><html>${SVG}`), WRONG_FORMAT],
  [
    'another XML document',
    () => logoFile('feed.svg', `<?xml version="1.0"?><feed>${SVG}</feed>`),
    WRONG_FORMAT,
  ],
  ['a long prolog without an image', () => logoFile('long.svg', '<!-- -->'.repeat(10_000)), WRONG_FORMAT],
  ['empty', () => logoFile('empty.png', ''), WRONG_FORMAT],
  [
    'too large',
    () => logoFile('large.svg', SVG.padEnd(100 * 1024 + 1)),
    /^LOGO_FILE must have at most 100 KiB\.$/,
  ],
  // A device that never ends, such as /dev/zero, would fill the memory, so no device is read.
  ['a device', () => '/dev/null', /^LOGO_FILE cannot be read: \/dev\/null \(it is not a file\)\.$/],
])('a logo that is %s is refused with one sentence', (_what, makeFile, sentence) => {
  const config = new Config({ LOGO_FILE: makeFile() });
  expect(() => new Logo(config)).toThrow(sentence);
});
