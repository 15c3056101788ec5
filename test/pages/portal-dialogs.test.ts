import { beforeEach, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import type { Page, Route } from 'playwright-core';
import { headline, openByKey } from './portal-browser.js';
import { endRoute, routeNext } from './routes.js';
import { startForBrowser } from './service.js';
import { activateMachine, expectFocus, expectToast, type HolderCredentials } from './steps.js';

const ON_DEMAND = '**/assets/on-demand-*.js';

const { service, origin, browser } = await startForBrowser();

let license: HolderCredentials;
beforeEach(async () => {
  license = await service.issue({ email: `${randomUUID()}@example.com` });
  await activateMachine(service, license, 'Studio Mac');
});

const askButton = (page: Page) => page.getByRole('button', { name: 'Ask support to release Studio Mac' });
const dialog = (page: Page) => page.getByRole('dialog', { name: 'Ask support to release Studio Mac?' });

test.each([
  ['the pointer', (page: Page) => askButton(page).hover()],
  ['the focus', (page: Page) => askButton(page).focus()],
])('the dialogs are loaded once %s reaches a button that opens one, and not before', async (_by, reach) => {
  const page = await browser.openPage(origin);
  const requested: string[] = [];
  page.on('request', (request) => requested.push(request.url()));
  await openByKey(page, origin, license);
  await page.waitForLoadState('networkidle');
  expect(requested.filter((url) => url.includes('on-demand'))).toEqual([]);
  await Promise.all([page.waitForResponse(ON_DEMAND), reach(page)]);
});

test('while the dialogs are loaded, the button is busy', async () => {
  const page = await openByKey(browser, origin, license);
  const { promise: held, resolve: hold } = Promise.withResolvers<Route>();
  await page.route(ON_DEMAND, hold);
  await askButton(page).click();
  await page.locator('[aria-busy=true]').filter({ hasText: 'Ask support' }).waitFor();
  await (await held).continue();
  await dialog(page).waitFor();
  await page.keyboard.press('Escape');
  await expectFocus(askButton(page));
});

test('without a connection a dialog that was not loaded yet says so, and opens after the next click', async () => {
  const page = await openByKey(browser, origin, license);
  await browser.goOffline(page);
  await askButton(page).click();
  await page.getByRole('alert').getByText('You are offline. Nothing is lost').waitFor();
  await page.context().setOffline(false);
  await expect(askButton(page).getAttribute('aria-busy')).resolves.toBe('false');
  await askButton(page).click();
  await dialog(page).waitFor();
});

test('a click loads the page again if an update of the service has removed the file of the dialogs', async () => {
  const page = await openByKey(browser, origin, license);
  await page.route(ON_DEMAND, (route) => route.fulfill({ status: 404, body: '' }));
  await Promise.all([page.waitForEvent('load'), askButton(page).click()]);
  await endRoute(page, ON_DEMAND);
  await headline(page).waitFor();
  await askButton(page).click();
  await dialog(page).waitFor();
  expect(browser.faults.splice(0)).toEqual([expect.stringContaining('status of 404')]);
});

test('what was typed before an update of the service is kept while the page loads itself again, once', async () => {
  const page = await browser.openPage(origin);
  // After the page has loaded itself again, it does not do so once more for a minute. By this clock the minute does not end.
  await page.addInitScript("Object.defineProperty(performance, 'now', { value: () => 59_999 })");
  await page.goto('/portal/');
  const email = page.getByLabel('E-mail');
  const key = page.getByLabel('License key');
  await email.fill('ada');
  await key.fill('MOOR_1871-SJ');
  await page.route(ON_DEMAND, (route) => route.fulfill({ status: 404, body: '' }));
  const lostKey = page.getByRole('button', { name: 'I lost my key' });
  // After the failure the page requests the session, to see whether the service answers. This request is held, so that the button
  // stays busy: what is typed then is kept too.
  const { promise: held, resolve: hold } = Promise.withResolvers<Route>();
  await routeNext(page, '**/portal/api/session', hold);
  await lostKey.click();
  const request = await held;
  await email.fill(license.email);
  await Promise.all([page.waitForEvent('load'), request.continue()]);
  await expectToast(page, 'This page has just been updated. Please click once more.');
  expect(await key.inputValue()).toBe('MOOR_1871-SJ');
  expect(await email.inputValue()).toBe(license.email);
  // The page does not load itself again and again.
  await lostKey.click();
  await page.getByRole('alert').getByText('The service cannot be reached just now.').waitFor();
  // What was typed is not shown again after a sign-out.
  await key.fill(license.license_key);
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Sign out' }).click();
  await key.waitFor();
  expect([await email.inputValue(), await key.inputValue()]).toEqual(['', '']);
  await endRoute(page, ON_DEMAND);
  // The browser keeps a failed module until the page is loaded again.
  await page.reload();
  await email.fill(license.email);
  await lostKey.click();
  await page.getByRole('button', { name: 'Mail me a code' }).waitFor();
  // The page keeps what was typed only when it loads itself again, not when the user reloads it.
  await page.reload();
  expect(await email.inputValue()).toBe('');
  expect(browser.faults.splice(0)).toEqual(Array(2).fill(expect.stringContaining('status of 404')));
});

test('while the service is unavailable a dialog that was not loaded says so, and opens after one more click, or two if the page loads itself again', async () => {
  const page = await openByKey(browser, origin, license);
  for (const path of ['**/portal/api/session', ON_DEMAND]) await page.route(path, (route) => route.abort());
  await askButton(page).click();
  await page.getByRole('alert').getByText('The service cannot be reached just now.').waitFor();
  await endRoute(page);
  // The browser requests the file again, or keeps the failed module, and then the page loads itself again.
  const isLoadedAgain = page.waitForEvent('load').then(
    () => true,
    () => false,
  );
  await askButton(page).click();
  if (await Promise.race([isLoadedAgain, dialog(page).waitFor()])) await askButton(page).click();
  await dialog(page).waitFor();
});
