import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { until } from '../support/until.js';
import { expectTitle, openByKey } from './portal-browser.js';
import { startForBrowser } from './service.js';
import { temporaryFolder } from '../support/folders.js';

const PRODUCT = 'Fjord “Editor” <b>&amp;';
const VENDOR = 'Example & <img src=x onerror=alert(1)> Söhne';
// As long as a contact may be.
const PRIVACY = 'https://example.com/privacy/'.padEnd(500, 'w');
const RENEWAL = 'https://example.com/renew/'.padEnd(500, 'w');

const folder = temporaryFolder();
const logo = join(folder, 'logo.svg');
writeFileSync(
  logo,
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 60 22" width="60" height="22" onload="document.title=1"><script>top.document.title=1</script><rect width="60" height="22" fill="#7a1fa2"/></svg>',
);
const { service, origin, browser } = await startForBrowser({
  environment: {
    PRODUCT_NAME: PRODUCT,
    VENDOR_NAME: VENDOR,
    SUPPORT_CONTACT: 'help@example.com',
    PRIVACY_CONTACT: PRIVACY,
    SHOP_URL: 'https://example.com/buy',
    RENEWAL_URL: RENEWAL,
    ACCENT_COLOR: '#7a1fa2',
    LOGO_FILE: logo,
  },
});

const readAccent = (page: Page) =>
  page.evaluate(`getComputedStyle(document.documentElement).getPropertyValue('--accent')`);
/** The width in pixels; the logo file has 60. */
const readLogoWidth = (page: Page) => page.evaluate(`document.querySelector('.brand img').naturalWidth`);

/** Expects what a brand could break: the layout, by long names and addresses, and the contrast, by the accent colour. */
async function expectReadable(page: Page): Promise<void> {
  await browser.expectLayout(page);
  for (const colorScheme of ['dark', 'light'] as const) {
    await page.emulateMedia({ colorScheme });
    await browser.expectAccessible(page, 'colours');
  }
}

test.each([
  ['/portal/', 'Where is my license active?'],
  ['/support/', 'Support'],
  ['/privacy/', 'Privacy'],
])(
  '%s shows the product, the vendor, the logo, the accent colour and the support contact',
  async (path, title) => {
    const page = await browser.openPage(origin, { path });
    await page.locator('header').getByText(PRODUCT, { exact: true }).waitFor();
    await page.getByText(`From ${VENDOR}`).waitFor();
    const support = page.locator('footer').getByRole('link', { name: 'help@example.com' });
    expect(await support.getAttribute('href')).toBe('mailto:help@example.com');
    await expectTitle(page, `${title} · ${PRODUCT}`);
    await until(async () => (await readLogoWidth(page)) === 60);
    expect(await readAccent(page)).toBe('#7a1fa2');
    // Neither the name of the vendor nor a script in the logo becomes part of the page.
    expect(await page.locator('footer img').count()).toBe(0);
    await expectReadable(page);
  },
);

test('a logo that is opened as a page runs no script', async () => {
  const page = await browser.openPage(origin, { path: '/brand/logo' });
  expect(await page.evaluate('document.querySelector("rect").getAttribute("fill")')).toBe('#7a1fa2');
  expect(await page.title()).toBe('');
  // Chromium reports each of the two scripts at least once, perhaps after the last answer. Closing the page ends the reports.
  await page.context().close();
  const reports = browser.faults.splice(0);
  expect(reports.length).toBeGreaterThanOrEqual(2);
  for (const report of reports) expect(report).toMatch(/^Blocked script execution/);
});

test('dark pages have an accent colour of their own', async () => {
  const page = await browser.openPage(origin, { colorScheme: 'dark', path: '/portal/' });
  await page.getByText(`From ${VENDOR}`).waitFor();
  const { accent } = (await service.call('GET', '/brand')).json;
  expect(await readAccent(page)).toBe(accent.dark);
  expect(accent.dark).not.toBe(accent.light);
});

test('the privacy page shows the privacy contact', async () => {
  const page = await browser.openPage(origin, { path: '/privacy/' });
  const contact = page.locator('main').getByRole('link', { name: 'example.com/privacy' });
  expect(await contact.getAttribute('href')).toBe(PRIVACY);
  await browser.expectLayout(page);
});

test.each([
  ['stop', 'Ran through 19 November 2026.'],
  ['keep', 'Updates ran through 19 November 2026.'],
] as const)('an expired license with on_expiry %s has a link to its renewal', async (on_expiry, sentence) => {
  const license = await service.issue({
    email: `${on_expiry}@example.com`,
    on_expiry,
    expires_at: new Date('2026-11-20T00:00:00Z'),
  });
  const page = await openByKey(browser, origin, license);
  await page.getByText(sentence).waitFor();
  const renew = page.getByRole('link', { name: 'Renew the license' });
  expect(await renew.getAttribute('href')).toBe(RENEWAL);
  // The link is the main action only if the application stops.
  expect(await page.locator('.license a.primary').count()).toBe(on_expiry === 'stop' ? 1 : 0);
  await expectReadable(page);
});

test('a license that works has no link to the shop, and a suspended one has the support contact', async () => {
  const license = await service.issue({ email: 'works@example.com' });
  const page = await openByKey(browser, origin, license);
  expect(await page.getByRole('link', { name: /Renew|Buy/ }).count()).toBe(0);
  expect(await page.locator('main').getByRole('link', { name: 'help@example.com' }).count()).toBe(0);
  await service.setLicense(license.license_id, { staff_status: 'suspended' });
  await page.reload();
  await page.locator('main').getByRole('link', { name: 'help@example.com' }).waitFor();
});

test('if the brand cannot be loaded, the portal works without it', async () => {
  const page = await browser.openPage(origin);
  await page.route('**/brand', (route) => route.fulfill({ status: 503, body: '' }));
  await page.goto('/portal/');
  await page.locator('header').getByText('License portal').waitFor();
  await page.getByLabel('License key').waitFor();
  await expectTitle(page, 'Where is my license active?');
  await browser.expectLayout(page);
});
