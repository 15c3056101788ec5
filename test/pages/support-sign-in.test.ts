import { expect, test } from '@jest/globals';
import type { Page, Route } from 'playwright-core';
import type { Role } from '../../src/staff/identity/role.js';
import { focusWindow } from './portal-browser.js';
import { endRoute, fulfillRoute } from './routes.js';
import { startForBrowser } from './service.js';
import {
  addAuthenticator,
  button,
  dialog,
  find,
  createSignInLink,
  openAs,
  openLoaded,
  row,
  signInWithLink,
  title,
  untilAnswered,
} from './support-browser.js';
import { expectFocus, expectAnnounced, expectText } from './steps.js';

const { service, origin, browser } = await startForBrowser();

const SEARCH_TITLE = /^Find a license/;
const ACTION_NOT_DONE = /^This was not done/;

test('with a link a staff member creates a passkey, signs in with it from then on, and renames it by keyboard', async () => {
  const page = await browser.openPage(origin);
  await addAuthenticator(page);
  await page.goto(await createSignInLink(service, 'support', 'alan@example.com'));
  await title(page, 'Sign in with this link').waitFor();
  await browser.expectAccessibleLayout(page);
  await button(page, 'Sign in with this link').click();

  await expectFocus(title(page, 'Make a passkey'));
  await browser.expectAccessibleLayout(page);
  await button(page, 'Make a passkey').click();
  await title(page, SEARCH_TITLE).waitFor();
  await expectAnnounced(page, /^The passkey is made/);

  await button(page, 'Sign out').click();
  await title(page, 'Sign in').waitFor();
  await browser.expectAccessibleLayout(page);
  expect((await page.request.get(`${origin}/support/api/session`)).status()).toBe(204);
  await button(page, 'Sign in with a passkey').click();
  await title(page, SEARCH_TITLE).waitFor();
  await expectText(page, 'Signed in as alan@example.com.');

  await page.getByRole('link', { name: 'My account' }).click();
  let known = 'Passkey of 20 November';
  await row(page, known).getByRole('cell').filter({ hasText: 'Last used 20 November 2026' }).waitFor();
  for (const name of ['Key on the desk', '<img src=x onerror=alert(1)> {name}', 'W'.repeat(100)]) {
    await button(page, `Rename … ${known}`).focus();
    await page.keyboard.press('Enter');
    await dialog(page)
      .getByRole('heading', { name: `Rename ${known}` })
      .waitFor();
    await expectFocus(dialog(page).getByLabel('Name'));
    await page.keyboard.press('Control+a');
    await page.keyboard.type(name);
    await page.keyboard.press('Enter');
    await expectFocus(row(page, name));
    await expectAnnounced(page, 'The passkey has another name now.');
    known = name;
  }
  await button(page, `Rename … ${known}`).click();
  await browser.expectAccessibleLayout(page);
  await dialog(page).getByLabel('Name').fill('');
  await button(dialog(page), 'Rename').click();
  await expectFocus(row(page, 'Passkey of 20 November'));
  expect(await page.locator('main img').count()).toBe(0);
});

test('the secret of a link is removed from the URL at once, also if it is pasted into the open page, and a link works once, after a click', async () => {
  const link = await createSignInLink(service, 'support', 'once@example.com');
  const first = await browser.openPage(origin, { path: link });
  await title(first, 'Sign in with this link').waitFor();
  expect(first.url()).toBe(`${origin}/support/`);

  const second = await browser.openPage(origin, { path: link });
  await button(second, 'Sign in with this link').click();
  await title(second, 'Make a passkey').waitFor();
  await button(first, 'Sign in with this link').click();
  await expectText(first, 'The link was used or is no longer good');
  await button(first, 'Use a passkey instead').click();
  await expectFocus(button(first, 'Sign in with a passkey'));
  await title(first, 'Sign in').waitFor();

  const pasted = await createSignInLink(service, 'support', 'pasted@example.com');
  await first.evaluate(`location.hash = ${JSON.stringify(pasted.slice(pasted.indexOf('#')))}`);
  await title(first, 'Sign in with this link').waitFor();
  expect(first.url()).toBe(`${origin}/support/`);
});

test('a link that has signed in is not sent again if the session could not be read after it', async () => {
  const page = await browser.openPage(origin, {
    path: await createSignInLink(service, 'support', 'read-again@example.com'),
  });
  await title(page, 'Sign in with this link').waitFor();
  const session = '**/support/api/session';
  await page.route(session, (route) => route.fulfill({ status: 503 }));
  await button(page, 'Sign in with this link').click();
  await page.getByRole('alert').waitFor();
  await endRoute(page, session);
  await button(page, 'Sign in with this link').click();
  await title(page, 'Make a passkey').waitFor();
});

test('a staff member who has no passkey in this browser, or cancels, gets a message and can try again', async () => {
  const page = await browser.openPage(origin);
  const { session, authenticatorId } = await addAuthenticator(page);
  await page.goto('/support/');
  await button(page, 'Sign in with a passkey').click();
  await expectText(page, /^No passkey was used/);

  // Only the fragment of the URL changes, so the page is not loaded again.
  await page.goto(await createSignInLink(service, 'support', 'cancels@example.com'));
  await button(page, 'Sign in with this link').click();
  await session.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: false });
  await button(page, 'Make a passkey').click();
  await expectText(page, /^No passkey was made/);
  await session.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: true });
  await button(page, 'Make a passkey').click();
  await title(page, SEARCH_TITLE).waitFor();
});

test('after too many wrong passkeys the page says when the next attempt is possible', async () => {
  const page = await browser.openPage(origin);
  await addAuthenticator(page);
  await page.goto('/support/');
  await page.route('**/support/api/session/options', (route) =>
    route.fulfill({
      status: 429,
      json: { code: 'too_many_requests' },
      contentType: 'application/problem+json',
    }),
  );
  await button(page, 'Sign in with a passkey').click();
  await expectText(page.getByRole('alert'), 'Too many attempts. Try again in 15 minutes.');
});

test('in a browser without passkeys the page says so', async () => {
  const page = await browser.openPage(origin);
  await page.addInitScript('delete window.PublicKeyCredential');
  await page.goto('/support/');
  await button(page, 'Sign in with a passkey').click();
  await expectText(page, /^This browser does not support passkeys/);
});

test('after the end of a session a dialog asks to sign in again, and the typed text is kept', async () => {
  const page = await browser.openPage(origin);
  await addAuthenticator(page);
  await page.goto(await createSignInLink(service, 'admin', 'grace@example.com'));
  await button(page, 'Sign in with this link').click();
  await button(page, 'Make a passkey').click();
  const license = await service.issue({ email: 'kept@example.com', machines_allowed: 2 });
  await find(page, 'kept@example.com');
  await button(page, 'Change …').click();
  await dialog(page).getByLabel('Machines allowed').fill('7');
  await dialog(page).getByLabel('Why?').fill('They bought five more');

  await service.sql('delete from session');
  await button(dialog(page), 'Change').click();
  const again = page.getByRole('dialog', { name: 'Your session has ended' });
  await browser.expectAccessibleLayout(page);
  await button(again, 'I have signed in in another tab').click();
  await expectText(again, 'There is no new session yet.');
  const { promise: responseAllowed, resolve: answer } = Promise.withResolvers<void>();
  await page.route('**/support/api/session/options', async (route) => {
    await responseAllowed;
    await route.continue();
  });
  await button(again, 'Sign in with a passkey').click();
  await again.locator('.working').waitFor();
  // Browsers let a page prevent their own handling of Escape only once. At the second Escape they would close the dialog.
  for (let presses = 0; presses < 4; presses += 1) await page.keyboard.press('Escape');
  // The click is forced, because the button is disabled.
  await button(again, 'Leave').click({ force: true });
  await again.locator('.working').waitFor();
  answer();
  await again.waitFor({ state: 'detached' });

  await expectText(dialog(page), ACTION_NOT_DONE);
  expect(await dialog(page).getByLabel('Machines allowed').inputValue()).toBe('7');
  expect(await dialog(page).getByLabel('Why?').inputValue()).toBe('They bought five more');
  await button(dialog(page), 'Change').click();
  await expectText(page, '0 of 7 machines in use');
  const [stored] = await service.sql('select machines_allowed from license where id = $1', [
    license.license_id,
  ]);
  expect(stored).toEqual({ machines_allowed: 7 });
});

test('the dialog to sign in again keeps its message when further requests are refused', async () => {
  const page = await openLoaded(browser, origin, service, 'support', '#audit', ['audit', 'filters']);
  await service.sql('delete from session');
  await page.evaluate('void (location.hash = "service")');
  const again = page.getByRole('dialog', { name: 'Your session has ended' });
  await button(again, 'I have signed in in another tab').click();
  const message = again.getByText('There is no new session yet.');
  await message.waitFor();
  const refusal = page.waitForResponse('**/support/api/release-requests');
  await focusWindow(page);
  expect((await refusal).status()).toBe(401);
  await waitForFrame(page);
  expect(await message.count()).toBe(1);
  // A browser may close a dialog by itself.
  await again.evaluate('(element) => element.close()');
  await again.waitFor();
});

test('a page that was opened without a connection continues by itself when there is one again', async () => {
  const page = await browser.openPage(origin);
  await page.addInitScript(`
    let online = false;
    Object.defineProperty(navigator, 'onLine', { get: () => online });
    addEventListener('test-online', () => { online = true; dispatchEvent(new Event('online')); });`);
  for (const path of ['support/api/session', 'brand'])
    await page.route(`**/${path}`, (route) => route.abort('internetdisconnected'));
  await page.goto('/support/');
  await expectText(page, 'You are offline. Nothing is lost');
  for (const path of ['support/api/session', 'brand']) await endRoute(page, `**/${path}`);
  await page.evaluate('dispatchEvent(new Event("test-online"))');
  await title(page, 'Sign in').waitFor();
});

test('the page reports that the service is unavailable, and works when it is available again', async () => {
  const page = await browser.openPage(origin);
  await page.route('**/support/api/session', (route) => route.abort());
  await page.goto('/support/');
  await expectText(page, /^The service cannot be reached/);
  await browser.expectAccessibleLayout(page);
  await endRoute(page, '**/support/api/session');
  await button(page, 'Try again').click();
  await title(page, 'Sign in').waitFor();
});

test('a staff member adds a passkey to the account, and removes it again', async () => {
  const page = await browser.openPage(origin);
  await addAuthenticator(page);
  await openAs(page, origin, service, 'support', '#account');
  await expectFocus(title(page, 'My account'));
  await expectText(page, /^You have no passkey/);
  await browser.expectAccessibleLayout(page);
  await button(page, 'Add a passkey').click();
  await expectFocus(row(page, 'Passkey of 20 November'));
  await expectText(row(page, 'Passkey of 20 November'), 'Not yet');

  await button(page, 'Add a passkey').click();
  await expectText(page, /^There is a passkey of yours/);
  await button(page, 'Remove Passkey of 20 November').click();
  await expectText(dialog(page), /^It is your last one/);
  await browser.expectAccessibleLayout(page);
  await button(dialog(page), 'Remove').click();
  await expectText(page, /^You have no passkey/);
  await expectAnnounced(page, 'The passkey is removed.');
});

test('the view and the typed text stay after the last passkey was removed in another tab', async () => {
  const page = await browser.openPage(origin);
  await addAuthenticator(page);
  await page.goto(await createSignInLink(service, 'admin', 'last-passkey@example.com'));
  await button(page, 'Sign in with this link').click();
  await button(page, 'Make a passkey').click();
  await service.issue({ email: 'stays@example.com' });
  await find(page, 'stays@example.com');
  await button(page, 'Change …').click();
  await dialog(page).getByLabel('Why?').fill('They bought five more');

  const tab = await page.context().newPage();
  await tab.goto('/support/#account');
  await button(tab, 'Remove Passkey of 20 November').click();
  await button(dialog(tab), 'Remove').click();
  await expectText(tab, /^You have no passkey/);

  await reloadSession(page);
  await waitForFrame(page);
  expect(await dialog(page).count()).toBe(1);
  expect(await dialog(page).getByLabel('Why?').inputValue()).toBe('They bought five more');
});

test('a tab shows who is signed in after another person has signed in in another tab, in whatever order the responses arrive', async () => {
  const page = await openAs(browser, origin, service, 'admin');
  await expectText(page, 'Signed in as admin@example.com.');
  await signInElsewhere(page, 'other@example.com');
  // When a person returns to a tab, some browsers dispatch this event and no `focus`.
  await page.evaluate('document.dispatchEvent(new Event("visibilitychange"))');
  await expectText(page, 'Signed in as other@example.com.');
  await button(page, 'Later').click();
  await title(page, SEARCH_TITLE).waitFor();
  await page.getByRole('link', { name: 'Staff', exact: true }).waitFor({ state: 'detached' });

  // The response to an earlier request does not replace that to a later one.
  const call = await holdNextCall(page, 'session');
  await focusWindow(page);
  const route = await call.held;
  const response = await route.fetch();
  await signInElsewhere(page, 'third@example.com');
  await focusWindow(page);
  await expectText(page, 'Signed in as third@example.com.');
  await fulfillRoute(page, route, response);
  await waitForFrame(page);
  expect(await page.getByText('Signed in as third@example.com.').count()).toBe(1);

  // A response is used while a later request has none.
  await signInElsewhere(page, 'fourth@example.com');
  const routes: Route[] = [];
  for (let i = 0; i < 2; i += 1) {
    const call = await holdNextCall(page, 'session');
    await focusWindow(page);
    routes.push(await call.held);
  }
  await routes[0]!.continue();
  await expectText(page, 'Signed in as fourth@example.com.');
  await routes[1]!.abort();
});

test('the dialog to sign in again disappears when the page learns that another person has signed in', async () => {
  const page = await openAs(browser, origin, service, 'admin');
  const sendHeldCall = await holdCall(page, 'manifests', () =>
    page.getByRole('link', { name: 'Service' }).click(),
  );
  await signInElsewhere(page, 'other@example.com');
  const session = await holdNextCall(page, 'session');
  await focusWindow(page);
  const sessionRequest = await session.held;
  await sendHeldCall();
  await dialog(page).waitFor();
  await sessionRequest.continue();
  await button(page, 'Later').click();
  await expectText(page, 'Nothing is published yet.');
});

test('a refusal that arrives after the same or another person has signed in in another tab opens no dialog to sign in again', async () => {
  const page = await openAs(browser, origin, service, 'support');
  for (const email of ['support@example.com', 'other@example.com']) {
    await page.goto('/support/#find');
    await title(page, SEARCH_TITLE).waitFor();
    const sendHeldCall = await holdCall(page, 'manifests', () =>
      page.getByRole('link', { name: 'Service' }).click(),
    );
    await signInElsewhere(page, email);
    await reloadSession(page);
    if (email !== 'support@example.com') await button(page, 'Later').click();
    await sendHeldCall();
    await expectText(page, 'Nothing is published yet.');
    await waitForFrame(page);
    expect(await dialog(page).count()).toBe(0);
  }
});

test('an action that is refused after a sign-in in another tab is not repeated, and the page explains it', async () => {
  const { license_id } = await service.issue({ email: 'action@example.com', machines_allowed: 2 });
  // A request of the page that is refused later would open the dialog to sign in again.
  const paths = [license_id, 'mails'];
  const page = await openLoaded(browser, origin, service, 'admin', `#license/${license_id}`, paths);
  await button(page, 'Change …').click();
  await dialog(page).getByLabel('Machines allowed').fill('7');
  await dialog(page).getByLabel('Why?').fill('They bought five more');
  let sent = 0;
  page.on('request', (request) => void (sent += Number(request.method() === 'PATCH')));
  const sendHeldCall = await holdCall(page, `licenses/${license_id}`, () =>
    button(dialog(page), 'Change').click(),
  );
  await signInElsewhere(page, 'admin@example.com', 'admin');
  const answered = ['session', 'release-requests', 'erasures', license_id];
  await Promise.all([...answered.map((path) => untilAnswered(page, path)), focusWindow(page)]);
  // The session is now that of another person, which the page does not know yet.
  await signInElsewhere(page, 'other@example.com', 'admin');
  await sendHeldCall();
  await expectText(dialog(page), ACTION_NOT_DONE);
  await waitForFrame(page);
  expect(sent).toBe(1);
  const change = "select actor from audit_event where action = 'license.set' and license_id = $1";
  expect(await service.sql(change, [license_id])).toEqual([]);
});

test('a sign-out that arrives late does not end a session that began meanwhile', async () => {
  const page = await openAs(browser, origin, service, 'support');
  const sendHeldCall = await holdCall(page, 'session', () => button(page, 'Sign out').click());
  await signInElsewhere(page, 'other@example.com');
  await focusWindow(page);
  await button(page, 'Later').click();
  const sessionRequest = page.waitForEvent(
    'requestfinished',
    (request) => request.url().endsWith('/support/api/session') && request.method() === 'GET',
  );
  await sendHeldCall();
  expect((await (await sessionRequest).response())!.status()).toBe(200);
  await waitForFrame(page);
  expect(await page.getByText('Signed in as other@example.com.').count()).toBe(1);
});

test('after a sign-in of the same person in another tab, this tab continues with the new session', async () => {
  // If a request at the start of the page were refused, the dialog would open, and the page would stay at the audit trail.
  const page = await openLoaded(browser, origin, service, 'support', '#audit', ['audit', 'filters']);
  await service.sql('delete from session');
  await page.getByRole('link', { name: 'Service', exact: true }).click();
  const again = page.getByRole('dialog', { name: 'Your session has ended' });
  await again.waitFor();
  await signInElsewhere(page, 'support@example.com');
  await focusWindow(page);
  await again.waitFor({ state: 'detached' });
  await expectAnnounced(page, /^Signed in again/);
  await expectText(page, 'Nothing is published yet.');
});

/**
 * Ends all sessions and signs in a person in another tab of the same browser. A person without a passkey is then asked to add one,
 * which the button `Later` postpones.
 */
async function signInElsewhere(page: Page, email: string, role: Role = 'support'): Promise<void> {
  const link = await createSignInLink(service, role, email);
  await service.sql('delete from session');
  await signInWithLink(page, origin, link);
}

const waitForFrame = (page: Page) =>
  page.evaluate('new Promise((done) => requestAnimationFrame(() => setTimeout(done)))');

/** Makes the page request its session again, and waits for the response. */
async function reloadSession(page: Page): Promise<void> {
  await Promise.all([untilAnswered(page, 'session'), focusWindow(page)]);
}

/** Holds back the next call to this path of the staff API. @returns `held`, which resolves with the call when it is made */
async function holdNextCall(page: Page, path: string): Promise<{ held: Promise<Route> }> {
  const held = Promise.withResolvers<Route>();
  let isFirst = true;
  await page.route(`**/support/api/${path}`, (route) => {
    if (!isFirst) return route.continue();
    isFirst = false;
    held.resolve(route);
    return undefined;
  });
  return { held: held.promise };
}

/**
 * Holds back the call that `makeCall` makes to this path. @returns a function that sends it with the cookies from before the call,
 * so that it belongs to the session of that time
 */
async function holdCall(
  page: Page,
  path: string,
  makeCall: () => Promise<void>,
): Promise<() => Promise<void>> {
  const cookies = await page.context().cookies();
  const call = await holdNextCall(page, path);
  await makeCall();
  const route = await call.held;
  const cookie = cookies.map(({ name, value }) => `${name}=${value}`).join('; ');
  const headers = { ...route.request().headers(), cookie };
  return async () => route.fulfill({ response: await route.fetch({ headers }) });
}
