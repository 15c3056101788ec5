import { expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { expectTitle } from './portal-browser.js';
import { startForBrowser } from './service.js';
import { expectAnnounced, expectFocus, expectText, expectToast, nextFrame } from './steps.js';
import { button, dialog, factValue, find, openAs, openLoaded, row, title } from './support-browser.js';

const { service, origin, browser } = await startForBrowser();

const searchField = (page: Page) => page.getByRole('textbox', { name: 'E-mail, license key' });
const licenseRows = (page: Page) => page.getByRole('table').locator('tbody > tr');

/** Issues this number of licenses to a holder; the first one expires, and about a third is suspended. @returns the first id */
async function issueMany(email: string, count: number): Promise<string> {
  const { license_id } = await service.issue({ email, expires_at: new Date('2027-01-04Z') });
  await service.sql(
    `insert into license (id, key_hash, key_hint, email, staff_status, machines_allowed, on_expiry, created_at)
     select ('01980000-0000-7000-8000-' || left(md5(n || $1), 12))::uuid, sha256((n || $1)::bytea), 'X6', $1,
       case when n % 3 = 0 then 'suspended' else 'active' end, n, 'keep', timestamptz '2026-01-01Z' + n * interval '1 minute'
     from generate_series(1, $2 - 1) n`,
    [email, count],
  );
  return license_id;
}

test('a search by e-mail with several licenses leads to their list, which has a link to each, and no URL contains the address', async () => {
  await service.issue({ email: 'many@example.com' });
  const second = await service.issue({ email: 'many@example.com', machines_allowed: 5 });
  await service.setLicense(second.license_id, { staff_status: 'suspended' });
  const page = await browser.openPage(origin);
  const urls: string[] = [];
  page.on('request', (request) => urls.push(request.url()));
  page.on('framenavigated', (frame) => urls.push(frame.url()));
  await openAs(page, origin, service, 'support');
  await find(page, 'many@example.com');
  await expectFocus(title(page, 'Licenses of many@example.com'));
  await page.getByText('1 active, 1 suspended').waitFor();
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await button(page, 'Copy the e-mail').click();
  await expectToast(page, 'The e-mail is copied.');
  expect(await page.evaluate('navigator.clipboard.readText()')).toBe('many@example.com');

  await page.getByRole('row').filter({ hasText: '0 of 5 in use' }).getByRole('link').click();
  await page.getByText('by staff', { exact: true }).waitFor();
  await page.getByRole('link', { name: 'All licenses of this holder' }).click();
  await title(page, 'Licenses of many@example.com').waitFor();
  await page.getByRole('link', { name: 'Back to the search' }).click();
  await page.getByRole('link', { name: 'All licenses of this e-mail' }).click();
  await title(page, 'Licenses of many@example.com').waitFor();
  expect(urls.filter((url) => /many|%40|@/.test(url))).toEqual([]);
  await expectTitle(page, 'Holder · Support · com.example.app');
});

test('a search by transaction lists its licenses, also those of other holders', async () => {
  const ids: string[] = [];
  for (const email of ['colleague@example.com', 'buyer@example.com', 'former@example.com']) {
    const { license_id } = await service.issue({ email });
    ids.push(license_id);
  }
  const [, bought, erased] = ids;
  await service.setPurchase(bought!, 'paid', 'order-with-three-keys');
  await service.sql('update license set purchase_id = $1 where id = any($2)', [bought, ids]);
  await service.sql('update license set email = null where id = $1', [erased]);
  const page = await openAs(browser, origin, service, 'support');
  await find(page, 'order-with-three-keys');
  await expectAnnounced(page, '3 licenses. Found by transaction id.');
  const holders = licenseRows(page).locator('td:nth-child(2)');
  expect(await holders.allTextContents()).toEqual([
    'Holder Erased',
    'Holder buyer@example.com',
    'Holder colleague@example.com',
  ]);
  await browser.expectAccessibleLayout(page);
  await licenseRows(page).last().getByRole('link').click();
  await expectText(factValue(page, 'Holder'), /^colleague@example.com/);

  const newest = await issueMany('bulk@example.com', 60);
  await service.setPurchase(newest, 'paid', 'order-with-sixty-keys');
  await service.sql("update license set purchase_id = $1 where email = 'bulk@example.com'", [newest]);
  await page.goto('/support/#find');
  await find(page, 'order-with-sixty-keys');
  await page.getByRole('table', { name: 'The 50 newest licenses. Found by transaction id.' }).waitFor();
  expect(await licenseRows(page).count()).toBe(50);
});

test('a long list is filtered, sorted and read page by page, by keyboard, and going back shows the same page', async () => {
  const id = await issueMany('reseller@example.com', 120);
  const page = await openAs(browser, origin, service, 'support', `#holder/${id}`);
  await page.getByRole('table', { name: '50 of 120 licenses' }).waitFor();
  await page.getByLabel('Order').focus();
  await page.getByLabel('Order').selectOption('Next to expire first');
  await licenseRows(page).first().getByText('Updates through 3 January 2027').waitFor();
  await expectFocus(page.getByLabel('Order'));
  await page.getByLabel('Show only').selectOption('Suspended');
  await page.getByRole('status').getByText('39 licenses').waitFor({ state: 'attached' });
  await page.getByLabel('Show only').selectOption('Refunded');
  await page.getByText('No license of this holder has this status.').waitFor();
  await page.getByLabel('Show only').selectOption('Active');
  await page.getByRole('table', { name: '50 of 81 licenses' }).waitFor();

  await page.getByRole('link', { name: 'Next page' }).focus();
  await page.keyboard.press('Enter');
  await page.getByRole('table', { name: '31 of 81 licenses' }).waitFor();
  await expectFocus(title(page, 'Licenses of reseller@example.com'));
  await browser.expectAccessibleLayout(page);
  const texts = await licenseRows(page).allTextContents();
  await licenseRows(page).nth(7).getByRole('link').click();
  await title(page, /^License ending in/).waitFor();
  await page.goBack();
  await page.getByRole('table', { name: '31 of 81 licenses' }).waitFor();
  expect(await licenseRows(page).allTextContents()).toEqual(texts);
  expect(await page.getByLabel('Show only').inputValue()).toBe('active');
  await page.getByRole('link', { name: 'First page' }).click();
  await page.getByRole('table', { name: '50 of 81 licenses' }).waitFor();
});

test('if the license gets another address between two pages, the next page says so, and leads to the first page; after an erasure there is no list', async () => {
  const id = await issueMany('sells@example.com', 60);
  const page = await openAs(browser, origin, service, 'support', `#holder/${id}`);
  await page.getByRole('table', { name: '50 of 60 licenses' }).waitFor();
  await service.setLicense(id, { email: 'buys@example.com' });
  await page.getByRole('link', { name: 'Next page' }).click();
  await page.getByText('This page is no longer in the list.').waitFor();
  expect(await button(page, 'Try again').count()).toBe(0);
  await page.getByRole('link', { name: 'First page' }).click();
  await title(page, 'Licenses of buys@example.com').waitFor();
  await page.getByRole('table', { name: '1 license' }).waitFor();

  await service.sql('update license set email = null where id = $1', [id]);
  await page.goto(`/support/#license/${id}`);
  await title(page, /^License ending in/).waitFor();
  expect(await page.getByRole('link', { name: 'All licenses of this holder' }).count()).toBe(0);
  await page.goto(`/support/#holder/${id}`);
  await page.getByText('There is no license with this id any more').waitFor();
  await browser.expectAccessibleLayout(page);
});

test('a long address with an ampersand is shown in full, and does not widen the page', async () => {
  const email = `b&email${'w'.repeat(50)}@${'w'.repeat(60)}.${'x'.repeat(60)}.example`;
  const { license_id } = await service.issue({ email });
  const page = await openAs(browser, origin, service, 'support', `#holder/${license_id}`);
  await title(page, `Licenses of ${email}`).waitFor();
  await browser.expectLayout(page);
});

test('a slash and Ctrl+K open the search from each view, but not while a person types, an input method handles the key or a dialog is open', async () => {
  const { license_id } = await service.issue({ email: 'keys@example.com' });
  const page = await openAs(browser, origin, service, 'admin');
  for (const view of [
    'requests',
    'erasures',
    'fleet',
    'service',
    'audit',
    'staff',
    'account',
    `license/${license_id}`,
    `holder/${license_id}`,
  ])
    for (const key of ['/', 'Control+k']) {
      await page.goto(`/support/#${view}`);
      await page.getByRole('heading', { level: 1 }).and(page.locator(':focus')).waitFor();
      await page.keyboard.press(key);
      await expectFocus(searchField(page));
    }
  await page.goto('/support/#account');
  const keyOfInputMethod = `{ key: 'Process', code: 'KeyK', ctrlKey: true, isComposing: true, bubbles: true }`;
  await page.evaluate(`document.body.dispatchEvent(new KeyboardEvent('keydown', ${keyOfInputMethod}))`);
  expect(page.url()).toMatch(/#account$/);
  await page.goto('/support/#find');
  await expectFocus(searchField(page));
  // Typing replaces the text of an earlier search.
  await page.keyboard.type('first');
  await page.getByRole('link', { name: 'Find', exact: true }).focus();
  await page.keyboard.press('/');
  await page.keyboard.type('second');
  expect(await searchField(page).inputValue()).toBe('second');
  // In the search field the slash is a character, and Ctrl+K selects the text.
  await page.keyboard.type('/');
  expect(await searchField(page).inputValue()).toBe('second/');
  await page.keyboard.press('Control+k');
  await page.keyboard.type('third');
  expect(await searchField(page).inputValue()).toBe('third');

  await button(page, 'Issue a license').click();
  const email = dialog(page).getByLabel('E-mail of the holder');
  await button(dialog(page), 'Cancel').focus();
  for (const key of ['/', 'Control+k']) {
    await page.keyboard.press(key);
    await expectFocus(button(dialog(page), 'Cancel'));
  }
  await email.focus();
  await page.keyboard.press('Control+k');
  await expectFocus(email);
  await button(dialog(page), 'Cancel').click();
  // The keys are shown in the page, and screen readers read them.
  await page.getByText('To search from any view, press / or Ctrl+K.').waitFor();
  expect(await searchField(page).getAttribute('aria-keyshortcuts')).toBe('/ Control+K');
  const tab = page.getByRole('link', { name: 'Find', exact: true });
  expect(await tab.getAttribute('aria-keyshortcuts')).toBe('/ Control+K');
  expect(await tab.locator('kbd').isVisible()).toBe(true);
});

test('without a connection the page says so once, keeps what it shows, and loads the rest when there is one again', async () => {
  const { license_id } = await service.issue({ email: 'offline@example.com' });
  // A response that arrives after the loss of the connection would tell the page that the connection is back.
  const paths = [license_id, 'mails'];
  const page = await openLoaded(browser, origin, service, 'admin', `#license/${license_id}`, paths);
  await page.getByText('0 of 1 machine in use').waitFor();
  await nextFrame(page);
  await browser.goOffline(page);
  const notice = page.getByRole('status').getByText('You are offline. What you see may be out of date.');
  await notice.waitFor();
  await browser.expectAccessibleLayout(page);
  // The page cannot read the data again, and shows the earlier data without a further message.
  const failed = page.waitForEvent('requestfailed');
  await page.evaluate('dispatchEvent(new Event("focus"))');
  await failed;
  await nextFrame(page);
  expect(await page.getByText('You are offline.').count()).toBe(1);
  await page.getByText('0 of 1 machine in use').waitFor();
  expect(await page.getByRole('alert').count()).toBe(0);
  // An action reports that the device is offline.
  await button(page, 'Change …').click();
  await dialog(page).getByLabel('Machines allowed').fill('3');
  await dialog(page).getByLabel('Why?').fill('Bought two');
  await button(dialog(page), 'Change').click();
  await dialog(page).getByRole('alert').getByText('You are offline. Nothing is lost').waitFor();
  await button(dialog(page), 'Cancel').click();
  await page.getByRole('link', { name: 'Staff', exact: true }).click();
  await page.getByRole('button', { name: 'Try again' }).first().waitFor();

  await page.context().setOffline(false);
  await notice.waitFor({ state: 'detached' });
  await expectAnnounced(page, 'You are online again.');
  await row(page, /^admin@example.com/).waitFor();
});

test('if only the service does not answer, the page does not say that the device is offline', async () => {
  const page = await openAs(browser, origin, service, 'support');
  await page.route('**/support/api/audit*', (route) => route.abort());
  await page.getByRole('link', { name: 'Audit trail' }).click();
  await page.getByRole('alert').getByText('The service cannot be reached just now.').waitFor();
  expect(await page.getByText('You are offline.').count()).toBe(0);
});

test('the page does not say that the device is offline while it gets responses, even if navigator.onLine is false', async () => {
  const page = await browser.openPage(origin);
  await page.addInitScript("Object.defineProperty(navigator, 'onLine', { value: false })");
  await openAs(page, origin, service, 'support');
  expect(await page.getByText('You are offline.').count()).toBe(0);
});
