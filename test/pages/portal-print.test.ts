import { expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { until } from '../support/until.js';
import { openByCode, openByKey } from './portal-browser.js';
import { startForBrowser } from './service.js';
import { activateMachine, expectFocus, readExactTime, tabTo } from './steps.js';

const { service, origin, browser } = await startForBrowser({
  environment: {
    PRODUCT_NAME: 'Example <App>',
    VENDOR_NAME: 'Example & <b>Sons</b>',
    SUPPORT_CONTACT: 'help@vendor.example',
  },
});

async function countPages(page: Page, format: 'A4' | 'Letter'): Promise<number> {
  const pdf = await page.pdf({ format, preferCSSPageSize: false });
  return pdf.toString('latin1').match(/\/Type \/Page\b/g)?.length ?? 0;
}

test('a license with ten machines is printed on one page of A4 and of Letter', async () => {
  const license = await service.issue({ email: 'ten@example.com', machines_allowed: 12 });
  for (let i = 0; i < 10; i += 1) await activateMachine(service, license, `Studio Mac ${i}`);
  const page = await openByKey(browser, origin, license);
  for (const format of ['A4', 'Letter'] as const)
    expect([format, await countPages(page, format)]).toEqual([format, 1]);
});

test('the printed page has a title, the day, product, vendor, key ending, holder, terms, machines and contact, in black and without controls', async () => {
  const email = 'printed@example.com';
  const license = await service.issue({ email, machines_allowed: 3, expires_at: new Date('2027-01-05Z') });
  await activateMachine(service, license, '<b>Studio</b> \u05d0\u05d1\u05d2 😀');
  const page = await browser.openPage(origin, { colorScheme: 'dark' });
  await openByCode(page, origin, service, email);
  await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
  const text = await page.evaluate('document.body.innerText');
  for (const part of [
    'Example <App>',
    'From Example & <b>Sons</b>',
    'Support: help@vendor.example',
    `License key ending in ${license.license_key.slice(-2)}`,
    'Active',
    'License for Example <App>',
    'Printed on 20 November 2026.',
    `Licensed to ${email}: 1 of 3 machines in use.`,
    'Updates through 4 January 2027',
    '<b>Studio</b> \u05d0\u05d1\u05d2 😀',
    '3.2.0',
  ])
    expect(text).toContain(part);
  for (const part of ['Sign out', 'Send me the key', 'Your data', 'Release', 'What is stored'])
    expect(text).not.toContain(part);
  const visible = page
    .locator('button, input, select, textarea, a.button, [role=dialog]')
    .filter({ visible: true });
  expect(await visible.count()).toBe(0);
  // The printed day of the activation has its year.
  expect(await readExactTime(page, '.details time')).toBe('"20 November 2026 at 13:00 UTC"');
  const colours = await page.evaluate(
    `[...new Set([...document.querySelectorAll('body, body *')].map((element) => {
       const { color, backgroundColor } = getComputedStyle(element);
       return color + ' on ' + backgroundColor;
     }))]`,
  );
  expect(colours).toEqual(['rgb(0, 0, 0) on rgba(0, 0, 0, 0)']);
});

test('the printed day is in the time zone of the reader, as the days of the activations are', async () => {
  const license = await service.issue({ email: 'far-east@example.com' });
  const page = await browser.openPage(origin, { timezoneId: 'Pacific/Kiritimati' });
  await openByKey(page, origin, license);
  await page.emulateMedia({ media: 'print' });
  expect(await page.evaluate('document.body.innerText')).toContain('Printed on 21 November 2026.');
});

test('what remains to be done for a refused machine is not printed', async () => {
  const license = await service.issue({ email: 'refused@example.com' });
  await activateMachine(service, license, 'Studio Mac');
  const { json } = await service.activate(license, 'new');
  const page = await openByKey(browser, origin, license, new URL(json['release_url'] as string).hash);
  const notice = page.getByText('Ask support to release the machine that you no longer use.');
  await notice.waitFor();
  await page.emulateMedia({ media: 'print' });
  await notice.waitFor({ state: 'hidden' });
});

test('a filter hides machines on the screen only: all of them are printed', async () => {
  const license = await service.issue({ email: 'filtered@example.com', machines_allowed: 11 });
  for (let i = 0; i < 11; i += 1) await activateMachine(service, license, `Mac ${i}.`);
  const page = await openByKey(browser, origin, license);
  const machines = page.getByText(/^Mac \d+\.$/).filter({ visible: true });
  const message = page.getByText('No machine in use has this').filter({ visible: true });
  for (const width of [320, 1280]) {
    await page.setViewportSize({ width, height: 800 });
    for (const [text, count] of Object.entries({ 'Mac 3.': 1, 'none of them': 0 })) {
      await page.emulateMedia({ media: 'screen' });
      await page.getByLabel('Find a machine').fill(text);
      await until(async () => (await machines.count()) === count);
      expect(await message.count()).toBe(count === 0 ? 1 : 0);
      await page.emulateMedia({ media: 'print' });
      expect(await machines.count()).toBe(11);
      expect(await message.count()).toBe(0);
    }
  }
});

test('several licenses are printed together, and each after the first avoids a page break inside it', async () => {
  const email = 'several@example.com';
  for (let i = 0; i < 3; i += 1) {
    const license = await service.issue({ email, machines_allowed: 2 });
    await activateMachine(service, license, `Mac ${i}`);
  }
  const page = await openByCode(browser, origin, service, email);
  await page.emulateMedia({ media: 'print' });
  expect(await page.locator('.license').filter({ visible: true }).count()).toBe(3);
  const breaks = await page.evaluate(
    "[...document.querySelectorAll('.license + .license')].map((element) => getComputedStyle(element).breakInside)",
  );
  expect(new Set(breaks as string[])).toEqual(new Set(['avoid']));
});

test('a holder prints the license by keyboard alone', async () => {
  const page = await openByKey(browser, origin, await service.issue({ email: 'keyboard@example.com' }));
  await page.evaluate('window.prints = 0; window.print = () => void (prints += 1)');
  const print = page.getByRole('button', { name: 'Print', exact: true });
  await tabTo(print);
  await page.keyboard.press('Enter');
  expect(await page.evaluate('prints')).toBe(1);
  await expectFocus(print);
});
