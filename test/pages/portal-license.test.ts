import { randomBytes, randomUUID } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { sell } from '../erasure/harness.js';
import type { Page } from 'playwright-core';
import { until } from '../support/until.js';
import type { LicenseChange } from '../../src/licenses/licenses.service.js';
import { LicensesService } from '../../src/licenses/licenses.service.js';
import { PurchasesService } from '../../src/purchases/purchases.service.js';
import { focusWindow, headline, openByCode, openByKey } from './portal-browser.js';
import { codeAfter } from '../license-portal/harness.js';
import { activateMachine, expectFocus, expectToast, expectText, readExactTime, tabTo } from './steps.js';
import { startForBrowser } from './service.js';

const { service, origin, browser } = await startForBrowser({
  environment: {
    PRODUCT_NAME: 'Example <App>',
    VENDOR_NAME: 'Example & <b>Sons</b>',
    SUPPORT_CONTACT: 'help@vendor.example',
  },
});

const randomEmail = () => `${randomUUID()}@example.com`;

const LAST_YEAR = new Date('2025-01-04T00:00:00Z');
const NEXT_YEAR = new Date('2027-01-04T00:00:00Z');

test('the headline and a sentence describe the state of a license', async () => {
  const license = await service.issue({ email: randomEmail() });
  const page = await openByKey(browser, origin, license);
  const release = page.getByRole('button', { name: 'Ask support to release' });
  const states: readonly [LicenseChange, releasable: number, headline: string, sentence: string][] = [
    [{}, 0, '0 of 1 machines in use', 'Not active anywhere yet.'],
    [{}, 1, '1 of 1 machines in use', 'this one has to be released first'],
    [{}, 1, '1 of 1 machines in use', 'No expiry'],
    [{ expires_at: NEXT_YEAR }, 1, '1 of 1 machines in use', 'Updates through 3 January 2027'],
    [{ on_expiry: 'stop' }, 1, '1 of 1 machines in use', 'Runs through 3 January 2027'],
    [{ expires_at: LAST_YEAR }, 1, 'This license has expired', 'Ran through 3 January 2025.'],
    [{ on_expiry: 'keep' }, 1, '1 of 1 machines in use', 'Updates ran through 3 January 2025.'],
    [{ machines_allowed: 3 }, 1, '1 of 3 machines in use', 'You can use it on 2 more machines'],
    [{}, 3, '3 of 3 machines in use', 'one of these has to be released first'],
    [{ machines_allowed: 1 }, 3, '3 of 1 machines in use', '3 of these have to be released first'],
    [{ staff_status: 'suspended' }, 3, 'This license is suspended', 'It is suspended for now'],
    // The place of a machine of a revoked license is of no use to another machine.
    [{ staff_status: 'revoked' }, 0, 'This license was revoked', 'It was withdrawn'],
  ];
  let activated = 0;
  for (const [change, releasable, heading, sentence] of states) {
    for (; activated < releasable; activated += 1)
      await activateMachine(service, license, `Mac ${activated}`);
    await service.setLicense(license.license_id, change);
    await focusWindow(page);
    await expectText(page, sentence);
    expect([sentence, await headline(page).textContent()]).toEqual([sentence, heading]);
    await expectText(page, 'When a machine was last used is not shown, because it is not stored.');
    expect([sentence, await release.count()]).toEqual([sentence, releasable]);
  }
});

test('an expired license leads to support if the settings name no place to renew it', async () => {
  const license = await service.issue({ email: randomEmail(), expires_at: LAST_YEAR, on_expiry: 'stop' });
  const page = await openByKey(browser, origin, license);
  const section = page.locator('.license');
  await expectText(section, 'Once it is renewed, the application works again.');
  await section.getByRole('link', { name: 'help@vendor.example' }).waitFor();
  // The footer does not repeat the address.
  expect(await page.getByText('help@vendor.example').filter({ visible: true }).count()).toBe(1);
});

test('a refunded license shows when it was refunded and that its activation has ended, and does not offer to mail its key', async () => {
  const email = randomEmail();
  const id = await sell(service, email, 'pi_refunded');
  const license_key = (await service.app.get(LicensesService).currentKey(id))!;
  await activateMachine(service, { email, license_key }, 'Studio Mac');
  await service.app.get(PurchasesService).record({ transaction_id: 'pi_refunded', status: 'refunded' });
  const page = await openByCode(browser, origin, service, email);
  expect(await headline(page).textContent()).toBe('This license was refunded');
  for (const day of ['20 November 2026', '20 November'])
    await page.getByText(`Refunded on ${day}`, { exact: true }).waitFor();
  // The key of this license activates no machine.
  expect(await page.getByText('Enter your key in the application').count()).toBe(0);
  expect(await page.getByRole('button', { name: 'Send me the key' }).count()).toBe(0);
});

test('an imported license explains that its key cannot be mailed, in place of the button', async () => {
  const license = await service.issue({ email: randomEmail() });
  await service.sql('update license set key_hash = $2 where id = $1', [license.license_id, randomBytes(32)]);
  const page = await openByCode(browser, origin, service, license.email);
  await expectText(page, /^The service cannot make this key again, so it cannot be mailed\./);
  expect(await page.getByRole('button', { name: 'Send me the key' }).count()).toBe(0);
});

test('the sections of licenses in all states are accessible', async () => {
  const email = randomEmail();
  const changes: readonly LicenseChange[] = [
    { machines_allowed: 1 },
    { machines_allowed: 3 },
    { expires_at: LAST_YEAR },
    { expires_at: LAST_YEAR, on_expiry: 'stop' },
    { staff_status: 'suspended' },
    { staff_status: 'revoked' },
  ];
  for (const change of changes) {
    const license = await service.issue({ email, machines_allowed: 2 });
    for (const label of ['Studio Mac', 'MacBook Air']) await activateMachine(service, license, label);
    await service.setLicense(license.license_id, change);
  }
  await sell(service, email, 'pi_also_refunded');
  await service.app.get(PurchasesService).record({ transaction_id: 'pi_also_refunded', status: 'refunded' });
  const page = await openByCode(browser, origin, service, email);
  const tags = page.locator('.license > header > .tag');
  expect(new Set(await tags.allTextContents())).toEqual(
    new Set(['Active', 'Expired', 'Suspended', 'Revoked', 'Refunded']),
  );
  await browser.expectAccessibleLayout(page);
});

test('with several licenses the headline counts the valid ones', async () => {
  const email = randomEmail();
  const [one, two, revoked] = [
    await service.issue({ email, machines_allowed: 2 }),
    await service.issue({ email, expires_at: NEXT_YEAR }),
    await service.issue({ email }),
  ];
  const hint = ({ license_key }: { license_key: string }) => license_key.slice(-2);
  await activateMachine(service, one, 'Studio Mac');
  await activateMachine(service, two, 'MacBook Air');
  await activateMachine(service, revoked, 'Old iMac');
  await service.setLicense(revoked.license_id, { staff_status: 'revoked' });
  const page = await openByCode(browser, origin, service, email);
  expect(await headline(page).textContent()).toBe('2 of 3 machines in use with licenses that work');
  // The license that does not work comes last.
  const tags = page.locator('.license > header > .tag');
  expect(await tags.allTextContents()).toEqual(['Active', 'Active', 'Revoked']);
  // A license for one machine has no drawing of its place.
  expect(await page.locator('.license .places').count()).toBe(1);
  await expectText(page, `You can use 1 more machine: enter the key that ends in ${hint(one)} there.`);
  await service.setLicense(two.license_id, { machines_allowed: 2 });
  await page.reload();
  await expectText(page, /You can use 2 more machines: enter one of the keys that end in \w\w, \w\w there\./);
  expect(await page.getByRole('heading', { level: 2, name: /^License key ending in/ }).count()).toBe(3);
  expect(await page.getByRole('button', { name: 'Send me the key' }).count()).toBe(2);
});

test('of many licenses with a free place, the sentence below the headline names the first keys only', async () => {
  const email = randomEmail();
  await activateMachine(service, await service.issue({ email, machines_allowed: 2 }), 'Studio Mac');
  for (let more = 0; more < 6; more += 1) await service.issue({ email });
  const page = await openByCode(browser, origin, service, email);
  await expectText(
    page,
    /^You can use 7 more machines: enter one of the keys that end in (\w\w, ){5}… there\.$/,
  );
});

test('after a sign-in by key the page says that it shows one license, and a sign-in by code shows all', async () => {
  const email = randomEmail();
  const [one] = [await service.issue({ email }), await service.issue({ email })];
  const page = await openByKey(browser, origin, one);
  await expectText(page, 'You see the license of the key that you entered.');
  await page.getByRole('button', { name: `Show all licenses of ${email}` }).click();
  const mail = () => page.getByRole('button', { name: 'Mail me a code' }).click();
  const code = await codeAfter(service, email, mail);
  await page.getByLabel('Code', { exact: true }).fill(code);
  await expectToast(page, 'You are signed in with a code.');
  await expectFocus(headline(page));
  expect(await page.getByRole('heading', { level: 2, name: /^License key ending in/ }).count()).toBe(2);
  expect(await page.getByText('You see the license of the key that you entered.').count()).toBe(0);
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
