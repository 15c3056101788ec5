import { expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { codeAfter } from '../license-portal/harness.js';
import { expectTitle, headline, openByKey } from './portal-browser.js';
import { endRoute, holdNextAnswer } from './routes.js';
import { activateMachine, expectFocus, expectAnnounced, expectText, tabTo } from './steps.js';
import { startForBrowser } from './service.js';
import { NOW } from '../support/harness.js';

const { service, origin, browser } = await startForBrowser();
const license = await service.issue();
await activateMachine(service, license, 'Studio Mac');

const email = (page: Page) => page.getByLabel('E-mail address');
const key = (page: Page) => page.getByLabel('License key');
const code = (page: Page) => page.getByLabel('Code', { exact: true });
const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click();

async function open(): Promise<Page> {
  const page = await browser.openPage(origin, { path: '/portal/' });
  await key(page).waitFor();
  return page;
}

test('a holder signs in by e-mail address and license key, by keyboard alone, and the headline counts the machines', async () => {
  const page = await open();
  await expectTitle(page, 'Where is my license active? · com.example.app');
  await page.keyboard.press('Tab');
  await expectFocus(page.getByRole('link', { name: 'Skip to the content' }));
  await page.keyboard.press('Enter');
  await page.keyboard.press('Tab');
  await expectFocus(email(page));
  await page.keyboard.type(license.email);
  await page.keyboard.press('Tab');
  await page.keyboard.type(` ${license.license_key.toLowerCase()} `);
  await page.keyboard.press('Enter');
  await headline(page).waitFor();
  expect(await headline(page).textContent()).toBe('1 of 1 machines in use');
  await expectFocus(headline(page));
  await expectTitle(page, '1 of 1 machines in use · com.example.app');
});

test('a missing or wrong value is reported at its field, which gets the focus', async () => {
  const page = await open();
  await press(page, 'Show my machines');
  await expectText(page, 'Enter your e-mail address.');
  await expectText(page, 'Enter your license key.');
  await expectFocus(email(page));
  expect(await email(page).getAttribute('aria-invalid')).toBe('true');
  await email(page).fill(license.email);
  await key(page).fill('not a key');
  await press(page, 'Show my machines');
  await expectText(page, 'This does not look like a license key.');
  await expectFocus(key(page));
  expect(await email(page).getAttribute('aria-invalid')).toBeNull();
  const last = license.license_key.at(-1);
  await key(page).fill(license.license_key.slice(0, -1) + (last === 'A' ? 'B' : 'A'));
  await press(page, 'Show my machines');
  await expectText(page, /^One character looks mistyped, or the beginning is missing\./);
  await expectFocus(key(page));
  await browser.expectAccessibleLayout(page);
});

test('an error at the field that has the focus is announced, because the focus does not move to it', async () => {
  const page = await open();
  await email(page).press('Enter');
  await expectAnnounced(page, 'Enter your e-mail address.');
  await email(page).fill(license.email);
  await key(page).fill('not a key');
  await key(page).press('Enter');
  await expectAnnounced(page, 'This does not look like a license key.');
  await expectFocus(key(page));
});

test('a license key with a wrong e-mail address is refused, and the typed text stays', async () => {
  const page = await open();
  await email(page).fill('unknown@example.com');
  await key(page).fill(license.license_key);
  await press(page, 'Show my machines');
  await expectText(page.getByRole('alert'), 'No license has this key together with this e-mail address.');
  expect([await email(page).inputValue(), await key(page).inputValue()]).toEqual([
    'unknown@example.com',
    license.license_key,
  ]);
});

test('"I lost my key": a mailed code, pasted with a dash, is sent when its eighth digit is entered', async () => {
  const page = await open();
  await email(page).fill(license.email);
  const { x, width } = (await email(page).boundingBox())!;
  await press(page, 'I lost my key');
  await expectFocus(email(page));
  // The address typed in one form is kept in the other, at the same place.
  expect(await email(page).inputValue()).toBe(license.email);
  expect((await email(page).boundingBox())!).toMatchObject({ x, width });
  await browser.expectAccessibleLayout(page);
  const mailed = await codeAfter(service, license.email, () => press(page, 'Mail me a code'));
  await expectText(page.getByRole('main'), `If we know ${license.email}, a code is on its way there.`);
  await expectFocus(code(page));
  expect(await code(page).getAttribute('autocomplete')).toBe('one-time-code');
  // The field is as wide as eight digits.
  expect((await code(page).boundingBox())!.width).toBeLessThan(200);
  await browser.expectAccessibleLayout(page);
  await code(page).fill('1234');
  await press(page, 'Sign in');
  await expectText(page, 'The code has 8 digits.');
  await code(page).fill(mailed === '00000000' ? '11111111' : '00000000');
  await expectText(page.getByRole('alert'), 'This code is wrong or no longer good');
  await code(page).fill(` ${mailed.slice(0, 4)}-${mailed.slice(4)}`);
  await headline(page).waitFor();
  expect(await headline(page).textContent()).toBe('1 of 1 machines in use');
  await page.getByRole('button', { name: 'Send me the key' }).waitFor();
});

test('a reload while a mailed code is awaited, as by a telephone that had no memory for the page, keeps the form for the code', async () => {
  const page = await open();
  await press(page, 'I lost my key');
  await expectFocus(email(page));
  await email(page).fill(license.email);
  const mailed = await codeAfter(service, license.email, () => press(page, 'Mail me a code'));
  const sentence = `If we know ${license.email}, a code is on its way there.`;
  for (let reloads = 0; reloads < 2; reloads += 1) {
    await page.reload();
    await expectText(page.getByRole('main'), sentence);
  }
  await code(page).fill(mailed);
  await headline(page).waitFor();
  // A person who signs out leaves neither the form nor the address to the next one.
  await press(page, 'Sign out');
  await key(page).waitFor();
  expect(await email(page).inputValue()).toBe('');
  await page.reload();
  await key(page).waitFor();
});

test('after a reload the form for a code is not shown once the code has expired, nor after the choice of another way to sign in', async () => {
  const page = await open();
  const askForCode = async () => {
    await press(page, 'I lost my key');
    await expectFocus(email(page));
    await email(page).fill(license.email);
    await press(page, 'Mail me a code');
    await code(page).waitFor();
  };
  await askForCode();
  await browser.setTime(page, Date.parse(NOW) + 10 * 60_000);
  await page.reload();
  // Another code can be requested for the same address.
  await page.getByRole('button', { name: 'Mail me a code' }).waitFor();
  expect(await email(page).inputValue()).toBe(license.email);
  await press(page, 'Mail me a code');
  await code(page).waitFor();
  await page.reload();
  await code(page).waitFor();
  // What is kept is removed with the form, not a frame later, when the page may already be gone.
  const stateAfterPress = await page.evaluate(`(async () => {
    [...document.querySelectorAll('button')].find(({ textContent }) => textContent === 'Use another address').click();
    await undefined;
    return history.state;
  })()`);
  expect(stateAfterPress).toBeNull();
  for (const other of ['I have my key', 'Use another address']) {
    await page.goto('/portal/');
    await key(page).waitFor();
    await askForCode();
    await press(page, other);
    await expectFocus(email(page));
    await page.reload();
    await key(page).waitFor();
  }
});

test('a further code removes the error of the typed one, and the page says where a code was mailed and which one works', async () => {
  const page = await open();
  await press(page, 'I lost my key');
  await expectFocus(email(page));
  await email(page).fill('unknown@example.com');
  await press(page, 'Mail me a code');
  await expectAnnounced(page, 'If we know unknown@example.com, a code is on its way there.');
  await code(page).fill('1234');
  await press(page, 'Sign in');
  await expectText(page, 'The code has 8 digits.');
  await press(page, 'Mail me another code');
  await expectAnnounced(page, 'Another code is on its way. Only that one works.');
  await page.getByText('The code has 8 digits.').waitFor({ state: 'detached' });
  expect(await code(page).getAttribute('aria-invalid')).toBeNull();
});

test('an address without a license gets the same response as one with a license, and can be changed', async () => {
  const page = await open();
  await press(page, 'I lost my key');
  // A text that is typed while one form replaces the other would be lost.
  await expectFocus(email(page));
  await email(page).fill('unknown@example.com');
  await press(page, 'Mail me a code');
  await expectText(page.getByRole('main'), 'If we know unknown@example.com');
  await press(page, 'Use another address');
  await expectFocus(email(page));
  expect(await email(page).inputValue()).toBe('unknown@example.com');
  await press(page, 'I have my key');
  expect(await email(page).inputValue()).toBe('unknown@example.com');
});

test('after ten codes in a day the page says when the next one can be requested', async () => {
  const page = await open();
  const request = { data: { email: 'often@example.com' }, headers: { origin } };
  for (let codes = 0; codes < 10; codes += 1) {
    const answer = await page.request.post(`${origin}/portal/api/session/code`, request);
    expect(answer.status()).toBe(202);
  }
  await press(page, 'I lost my key');
  await expectFocus(email(page));
  await email(page).fill('often@example.com');
  await press(page, 'Mail me a code');
  await expectText(page.getByRole('alert'), 'Too many attempts. Try again in 24 hours.');
});

test('the page names the address of a mailed code with its domain in Unicode, which the browser converts to ASCII', async () => {
  const page = await open();
  await press(page, 'I lost my key');
  await expectFocus(email(page));
  await email(page).pressSequentially('ada@bücher.example');
  await press(page, 'Mail me a code');
  await expectText(page.getByRole('main'), 'If we know ada@bücher.example, a code is on its way there.');
});

test('while a code is requested, its address cannot be changed, so the page names the address to which the code is mailed', async () => {
  const page = await open();
  await press(page, 'I lost my key');
  await expectFocus(email(page));
  await email(page).fill('ada@example.com');
  const { held } = await holdNextAnswer(page, '**/portal/api/session/code');
  await press(page, 'Mail me a code');
  const answer = await held;
  await email(page).press('End');
  await email(page).press('x');
  expect(await email(page).inputValue()).toBe('ada@example.com');
  await answer();
  await expectText(page.getByRole('main'), 'If we know ada@example.com, a code is on its way there.');
});

test('after a sign-out by keyboard the page shows no data of the holder, also after a reload', async () => {
  const page = await openByKey(browser, origin, license);
  await tabTo(page.getByRole('button', { name: 'Sign out' }));
  await page.keyboard.press('Enter');
  await expectAnnounced(page, 'You are signed out.');
  await expectFocus(page.getByRole('heading', { level: 1, name: 'Where is my license active?' }));
  expect(await page.getByText(license.email).count()).toBe(0);
  await page.reload();
  await key(page).waitFor();
  expect(await page.getByText('Studio Mac').count()).toBe(0);
});

test('while the service is unavailable the page says so, and works when it is available again', async () => {
  const page = await browser.openPage(origin);
  await page.route('**/portal/api/**', (route) => route.abort());
  await page.goto('/portal/');
  await expectText(page.getByRole('alert'), 'The service cannot be reached just now.');
  await browser.expectAccessibleLayout(page);
  const heading = page.getByRole('heading', { level: 1, name: 'Where is my license active?' });
  await press(page, 'Try again');
  await expectFocus(heading);
  await expectText(page.getByRole('alert'), 'The service cannot be reached just now.');
  await endRoute(page, '**/portal/api/**');
  await press(page, 'Try again');
  await key(page).waitFor();
  await expectFocus(heading);
  await email(page).fill(license.email);
  await key(page).fill(license.license_key);
  // The first answer is that of a proxy that cannot reach the service, the others are those of captive portals.
  for (const answer of [
    { status: 502, body: '<h1>Bad gateway</h1>' },
    { status: 200, body: '<h1>Welcome</h1>' },
    { status: 200, body: '' },
  ]) {
    await page.route('**/portal/api/**', (route) => route.fulfill(answer));
    await press(page, 'Show my machines');
    await expectText(page.getByRole('alert'), 'What you typed is still here');
    await endRoute(page, '**/portal/api/**');
  }
  await press(page, 'Show my machines');
  await headline(page).waitFor();
});

test('the page shows that it is loading before any response has come', async () => {
  const page = await browser.openPage(origin);
  let sendResponse = () => {};
  const responseAllowed = new Promise<void>((resolve) => (sendResponse = resolve));
  await page.route('**/portal/api/session', async (route) => {
    await responseAllowed;
    await route.continue();
  });
  await page.goto('/portal/');
  await expectText(page, 'Looking for your license …');
  sendResponse();
  await key(page).waitFor();
});
