import { randomUUID } from 'node:crypto';
import { beforeEach, expect, test } from '@jest/globals';
import type { Page, Route } from 'playwright-core';
import { ReleaseService } from '../../src/releases/release.service.js';
import { codeAfter } from '../license-portal/harness.js';
import { focusWindow, headline, machineRow, openByCode, openByKey } from './portal-browser.js';
import {
  activateMachine,
  expectAnnounced,
  type HolderCredentials,
  closeByEscape,
  expectApart,
  expectFocus,
  expectToast,
  nextFrame,
} from './steps.js';
import { endRoute, holdNextAnswer, routeNext } from './routes.js';
import { startForBrowser } from './service.js';

const { service, origin, browser } = await startForBrowser();

let license: HolderCredentials;
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

/** Types the reason of a release request, and sends it after the end of the session, so that it is refused. */
async function sendAfterSessionEnd(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Ask support to release Studio Mac' }).click();
  await page.getByLabel('Reason').fill('The old one broke.');
  await service.sql('delete from session');
  await page.getByRole('button', { name: 'Send to support' }).click();
  await page.getByRole('dialog', { name: 'Your session has ended' }).waitFor();
}

const readSentReasons = async () =>
  (
    await service.sql<{ reason: string }>(
      `select r.reason from release_request r join activation a on a.id = r.activation_id
     join license l on l.id = a.license_id where l.email = $1`,
      [license.email],
    )
  ).map(({ reason }) => reason);

test('after the end of a session the typed text is kept, and a dialog asks to sign in again', async () => {
  const page = await openByKey(browser, origin, license);
  await sendAfterSessionEnd(page);
  await browser.expectAccessibleLayout(page);
  const again = page.getByRole('dialog', { name: 'Your session has ended' });
  expect(await again.getByLabel('E-mail address').inputValue()).toBe(license.email);
  await again.getByLabel('License key').fill(license.license_key);
  await again.getByRole('button', { name: 'Show my machines' }).click();
  await expectAnnounced(page, 'You are signed in again.');
  expect(await page.getByLabel('Reason').inputValue()).toBe('The old one broke.');
  await page.getByText('nothing was done').waitFor();
  await page.getByRole('button', { name: 'Send to support' }).click();
  await machineRow(page, 'Studio Mac').getByText('Asked on').waitFor();
  expect(await readSentReasons()).toEqual(['The old one broke.']);
});

test('a holder who had signed in with a code signs in again with another code', async () => {
  const page = await openByCode(browser, origin, service, license.email);
  await sendAfterSessionEnd(page);
  const again = page.getByRole('dialog', { name: 'Your session has ended' });
  const mail = () => again.getByRole('button', { name: 'Mail me a code' }).click();
  await again.getByLabel('Code', { exact: true }).fill(await codeAfter(service, license.email, mail));
  await page.getByRole('button', { name: 'Send to support' }).click();
  await machineRow(page, 'Studio Mac').getByText('Asked on').waitFor();
});

test('signing in again can be postponed, and the page then says that it may be out of date', async () => {
  const page = await openByKey(browser, origin, license);
  await sendAfterSessionEnd(page);
  await page.keyboard.press('Escape');
  expect(await page.getByLabel('Reason').inputValue()).toBe('The old one broke.');
  await page.getByRole('button', { name: 'Cancel' }).click();
  await page.getByText('what you see may be out of date').waitFor();
  await browser.expectAccessibleLayout(page);
  const signInAgain = page.getByRole('button', { name: 'Sign in again' });
  // The notice with this button is removed while the dialog is open, and after the sign-in. So the focus moves to the headline.
  await signInAgain.click();
  await page.getByRole('button', { name: 'Not now' }).click();
  await expectFocus(headline(page));
  await signInAgain.click();
  await page.getByLabel('License key').fill(license.license_key);
  await page.keyboard.press('Enter');
  await expectAnnounced(page, 'You are signed in again.');
  expect(await page.getByText('what you see may be out of date').count()).toBe(0);
  await expectFocus(headline(page));
});

test('after a sign-in with a link, the page no longer says that the session has ended', async () => {
  const page = await openByKey(browser, origin, license);
  await service.sql('delete from session');
  await focusWindow(page);
  const notice = page.getByRole('main').getByText('what you see may be out of date');
  await notice.waitFor();
  const { json } = await service.activate(license, 'new');
  await page.evaluate(`location.hash = ${JSON.stringify(new URL(json['release_url'] as string).hash)}`);
  const mail = () => page.getByRole('button', { name: 'Mail me a code' }).click();
  await page.getByLabel('Code', { exact: true }).fill(await codeAfter(service, license.email, mail));
  await machineRow(page, 'Studio Mac').waitFor();
  await nextFrame(page);
  expect(await notice.count()).toBe(0);
});

test('Escape does not discard a key that is typed to sign in again: the first one only warns', async () => {
  const page = await openByKey(browser, origin, license);
  await sendAfterSessionEnd(page);
  const again = page.getByRole('dialog', { name: 'Your session has ended' });
  await again.getByLabel('License key').fill(license.license_key);
  await page.keyboard.press('Escape');
  await again.getByRole('alert').getByText('What you typed would be lost.').waitFor();
  expect(await again.getByLabel('License key').inputValue()).toBe(license.license_key);
  await closeByEscape(again);
});

test('while a person signs in again, neither Escape nor a button closes the dialog', async () => {
  const page = await openByKey(browser, origin, license);
  await sendAfterSessionEnd(page);
  const again = page.getByRole('dialog', { name: 'Your session has ended' });
  await again.getByLabel('License key').fill(license.license_key);
  const { promise: responseAllowed, resolve: answer } = Promise.withResolvers<void>();
  await page.route('**/portal/api/session', async (route) => {
    await responseAllowed;
    await route.continue();
  });
  await page.keyboard.press('Enter');
  await again.locator('.working').waitFor();
  for (let presses = 0; presses < 3; presses += 1) await page.keyboard.press('Escape');
  // The click is forced, because the button is disabled.
  await again.getByRole('button', { name: 'Not now' }).click({ force: true });
  await again.getByRole('button', { name: 'One moment' }).waitFor();
  expect(await again.getByRole('alert').count()).toBe(0);
  answer();
  await expectAnnounced(page, 'You are signed in again.');
  await again.waitFor({ state: 'detached' });
});

test('after the end of the session, a sign-out succeeds too', async () => {
  const page = await openByKey(browser, origin, license);
  await service.sql('delete from session');
  await page.getByRole('button', { name: 'Sign out' }).click();
  await expectAnnounced(page, 'You are signed out.');
});

test('while the service is unavailable the typed text stays, and can be sent afterwards', async () => {
  const page = await openByKey(browser, origin, license);
  await page.getByRole('button', { name: 'Ask support to release Studio Mac' }).click();
  await page.getByLabel('Reason').fill('The old one broke.');
  await page.route('**/portal/api/**', (route) => route.abort());
  await page.getByRole('button', { name: 'Send to support' }).click();
  await page.getByRole('alert').getByText('What you typed is still here').waitFor();
  await browser.expectAccessibleLayout(page);
  await browser.goOffline(page);
  await page.getByRole('button', { name: 'Send to support' }).click();
  await page.getByRole('alert').getByText('You are offline. Nothing is lost').waitFor();
  await page.context().setOffline(false);
  for (const place of ['.notice', '.offline'])
    await page.locator(place).getByText('You are offline.').waitFor({ state: 'detached' });
  await endRoute(page, '**/portal/api/**');
  await page.getByRole('button', { name: 'Send to support' }).click();
  await machineRow(page, 'Studio Mac').getByText('Asked on').waitFor();
  expect(await readSentReasons()).toEqual(['The old one broke.']);
});

test('without a connection the portal shows a notice that hides no focused link; when it is online again, it says so and shows what has changed', async () => {
  const page = await openByKey(browser, origin, license);
  await browser.goOffline(page);
  const notice = page.getByRole('status').getByText('You are offline. What you see may be out of date.');
  await notice.waitFor();
  await browser.expectAccessibleLayout(page);
  // The notice stays at the bottom of the window, and a focused link is not behind it.
  await page.setViewportSize({ width: 320, height: 400 });
  const last = page.getByRole('link', { name: 'What is stored, why, and for how long' });
  await last.focus();
  const [link, box] = [(await last.boundingBox())!, (await notice.boundingBox())!];
  expect(link.y + link.height).toBeLessThanOrEqual(box.y);
  await page.getByRole('button', { name: 'Sign out' }).click();
  await expectApart(page.locator('.toast'), notice);
  await releaseByStaff();
  await page.context().setOffline(false);
  await notice.waitFor({ state: 'detached' });
  await page.locator('.toast').waitFor({ state: 'detached' });
  await expectAnnounced(page, 'You are online again.');
  await machineRow(page, 'Studio Mac').getByText('Released on 20 November').waitFor();
});

test('a portal that was opened without a connection loads by itself when there is one again', async () => {
  const page = await openByKey(browser, origin, license);
  await page.addInitScript(`
    let online = false;
    Object.defineProperty(navigator, 'onLine', { get: () => online });
    addEventListener('test-online', () => { online = true; dispatchEvent(new Event('online')); });`);
  // The files of the page come from the cache, and only its requests fail.
  for (const path of ['portal/api/session', 'brand'])
    await page.route(`**/${path}`, (route) => route.abort('internetdisconnected'));
  await page.reload();
  await page.getByText('You are offline. Nothing is lost').waitFor();
  for (const path of ['portal/api/session', 'brand']) await endRoute(page, `**/${path}`);
  await page.evaluate('dispatchEvent(new Event("test-online"))');
  await headline(page).waitFor();
});

test('if the connection comes back while the portal renders that there is none, the portal loads by itself', async () => {
  const page = await openByKey(browser, origin, license);
  // An observer runs after a change is rendered, and before the effects of that render.
  await page.addInitScript(`
    let online = false;
    Object.defineProperty(navigator, 'onLine', { get: () => online });
    new MutationObserver(() => {
      if (online || !document.querySelector('main')?.textContent.includes('You are offline.')) return;
      online = true;
      dispatchEvent(new Event('online'));
    }).observe(document, { childList: true, subtree: true });`);
  await routeNext(page, '**/portal/api/session', (route) => route.abort('internetdisconnected'));
  await page.reload();
  await headline(page).waitFor();
});

test('a request that is refused after the sign-out does not ask to sign in again after the next sign-in', async () => {
  const page = await openByCode(browser, origin, service, license.email);
  const held = Promise.withResolvers<Route>();
  await page.route('**/portal/api/export', (route) => held.resolve(route));
  await page.getByRole('button', { name: 'Download' }).click();
  const route = await held.promise;
  await page.getByRole('button', { name: 'Sign out' }).click();
  await expectAnnounced(page, 'You are signed out.');
  const refusal = page.waitForResponse('**/portal/api/export');
  await route.continue();
  expect((await refusal).status()).toBe(401);
  await page.getByLabel('E-mail address').fill(license.email);
  await page.getByLabel('License key').fill(license.license_key);
  await page.getByRole('button', { name: 'Show my machines' }).click();
  await machineRow(page, 'Studio Mac').waitFor();
  expect(await page.getByRole('dialog').count()).toBe(0);
});

test('licenses that were read just before the sign-out are not shown after it', async () => {
  const page = await openByKey(browser, origin, license);
  const signOut = Promise.withResolvers<Route>();
  await routeNext(page, '**/portal/api/session', (route) => signOut.resolve(route));
  await page.getByRole('button', { name: 'Sign out' }).click();
  const signOutRequest = await signOut.promise;
  // The application opens the page again, which then reads the licenses.
  const { held } = await holdNextAnswer(page, '**/portal/api/session');
  await page.evaluate("location.hash = 'release=hint'");
  const answer = await held;
  await signOutRequest.continue();
  await expectAnnounced(page, 'You are signed out.');
  await answer();
  await nextFrame(page);
  expect(await page.getByText(license.email).count()).toBe(0);
});

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
  // Of the events that the page handles, this is the only one after "Back" to a page that the browser has kept.
  await page.evaluate('document.dispatchEvent(new Event("visibilitychange"))');
  await machineRow(page, 'Studio Mac').getByText('Released on 20 November').waitFor();
});

test('an open dialog keeps the typed reason, although support has released its machine meanwhile, and no release request is stored', async () => {
  const page = await openByKey(browser, origin, license);
  await page.getByRole('button', { name: 'Ask support to release Studio Mac' }).click();
  await page.getByLabel('Reason').fill('The old one broke.');
  await releaseByStaff();
  await returnTo(page);
  expect(await page.getByLabel('Reason').inputValue()).toBe('The old one broke.');
  await page.getByRole('button', { name: 'Send to support' }).click();
  await expectToast(page, 'Nothing to do: this machine is no longer in use.');
  await expectFocus(headline(page));
  expect(await headline(page).textContent()).toBe('0 of 1 machines in use');
  await machineRow(page, 'Studio Mac').getByText('Released on 20 November').waitFor();
  expect(await service.sql('select from release_request where activation_id = $1', [activationId])).toEqual(
    [],
  );
});

test('of two returns in quick succession, the answer to the second one is shown', async () => {
  const license = await service.issue({ email: `${randomUUID()}@example.com` });
  const page = await openByKey(browser, origin, license);
  const readAgain = async () => {
    const { held } = await holdNextAnswer(page, '**/portal/api/session');
    await focusWindow(page);
    return held;
  };
  const answerFirst = await readAgain();
  await service.setLicense(license.license_id, { machines_allowed: 7 });
  const answerSecond = await readAgain();
  await answerFirst();
  await answerSecond();
  await headline(page).filter({ hasText: '0 of 7 machines in use' }).waitFor();
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
  const other = await page.context().newPage();
  await openByKey(other, origin, license);
  await focusWindow(page);
  await notice.waitFor({ state: 'detached' });
});
