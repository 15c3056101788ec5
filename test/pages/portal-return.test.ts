import { randomUUID } from 'node:crypto';
import { beforeEach, expect, test } from '@jest/globals';
import type { Page, Route } from 'playwright-core';
import { ReleaseService } from '../../src/releases/release.service.js';
import { focusWindow, headline, machineRow, openByKey } from './portal-browser.js';
import {
  activateMachine,
  expectAnnounced,
  expectFocus,
  expectToast,
  type HolderCredentials,
  nextFrame,
} from './steps.js';
import { routeNext } from './routes.js';
import { startForBrowser } from './service.js';

const { service, origin, browser } = await startForBrowser();

let license: HolderCredentials & { license_id: string };
let activationId: string;
beforeEach(async () => {
  license = await service.issue({ email: `${randomUUID()}@example.com` });
  activationId = await activateMachine(service, license, 'Studio Mac');
});

const releaseByStaff = () =>
  service.app.get(ReleaseService).release(activationId, { actor: 'support@example.com', reason: 'Sold.' });

/** Returns to the page, and waits until it has received the data again. */
async function returnTo(page: Page): Promise<void> {
  const answer = page.waitForResponse('**/portal/api/session');
  await focusWindow(page);
  await (await answer).finished();
  await nextFrame(page);
}

test('a release by support appears when the holder returns, and the focus of its removed button moves to the headline', async () => {
  const page = await openByKey(browser, origin, license);
  expect(await headline(page).textContent()).toBe('1 of 1 machines in use');
  await machineRow(page, 'Studio Mac').getByRole('button').focus();
  await releaseByStaff();
  await focusWindow(page);
  await machineRow(page, 'Studio Mac').getByText('Released on 20 November').waitFor();
  expect(await headline(page).textContent()).toBe('0 of 1 machines in use');
  await expectFocus(headline(page));
});

test('a return that the browser reports without a focus is noticed', async () => {
  const page = await openByKey(browser, origin, license);
  await releaseByStaff();
  // This is the only event after "Back" to a page that the browser has kept.
  await page.evaluate('document.dispatchEvent(new Event("visibilitychange"))');
  await machineRow(page, 'Studio Mac').getByText('Released on 20 November').waitFor();
});

test('the focus and what was typed into the filter stay when the holder returns', async () => {
  await service.setLicense(license.license_id, { machines_allowed: 11 });
  for (let each = 0; each < 10; each += 1) await activateMachine(service, license, `Node ${each}`);
  const page = await openByKey(browser, origin, license);
  const filter = page.getByLabel('Find a machine');
  await filter.fill('Node');
  await releaseByStaff();
  await focusWindow(page);
  await page.getByRole('heading', { name: '10 of 11 machines in use' }).waitFor();
  expect(await filter.inputValue()).toBe('Node');
  await expectFocus(filter);
});

test('an open dialog keeps the typed reason, although support has released its machine meanwhile', async () => {
  const page = await openByKey(browser, origin, license);
  await page.getByRole('button', { name: 'Ask support to release Studio Mac' }).click();
  await page.getByLabel('Reason').fill('The old one broke.');
  await releaseByStaff();
  await returnTo(page);
  expect(await page.getByLabel('Reason').inputValue()).toBe('The old one broke.');
  await page.getByRole('button', { name: 'Send to support' }).click();
  await expectToast(page, 'Nothing to do: this machine is no longer in use.');
});

test('an answer that is older than what the page shows is ignored', async () => {
  const page = await openByKey(browser, origin, license);
  const held = Promise.withResolvers<Route>();
  await routeNext(page, '**/portal/api/session', (route) => held.resolve(route));
  await focusWindow(page);
  const route = await held.promise;
  const response = await route.fetch();
  await page.getByRole('button', { name: 'Ask support to release Studio Mac' }).click();
  await page.getByRole('button', { name: 'Send to support' }).click();
  const asked = machineRow(page, 'Studio Mac').getByText('Asked on 20 November');
  await asked.waitFor();
  const answer = page.waitForResponse('**/portal/api/session');
  await route.fulfill({ response });
  await (await answer).finished();
  await nextFrame(page);
  expect(await asked.count()).toBe(1);
});

test('a sign-out in another tab is noticed when the holder returns, and after a sign-in there nothing is out of date', async () => {
  const page = await openByKey(browser, origin, license);
  await page.context().clearCookies();
  await focusWindow(page);
  const notice = page.getByRole('main').getByText('Your session has ended: what you see may be out of date.');
  await notice.waitFor();
  await expectAnnounced(page, 'Your session has ended: what you see may be out of date.');
  await browser.expectAccessibleLayout(page);
  const other = await page.context().newPage();
  await openByKey(other, origin, license);
  await returnTo(page);
  expect(await notice.count()).toBe(0);
});

test('when a portal without a connection has one again, it shows what has changed meanwhile', async () => {
  const page = await openByKey(browser, origin, license);
  await browser.goOffline(page);
  await page.getByRole('status').getByText('You are offline.').waitFor();
  await releaseByStaff();
  await page.context().setOffline(false);
  await machineRow(page, 'Studio Mac').getByText('Released on 20 November').waitFor();
});
