import { expect, test } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import { until } from '../support/until.js';
import { openByCode } from './portal-browser.js';
import { endRoute } from './routes.js';
import { startForBrowser } from './service.js';
import { activateMachine, expectFocus } from './steps.js';
import { openAs } from './support-browser.js';

const { service, origin, browser } = await startForBrowser({ environment: { SELF_RELEASES_PER_YEAR: '1' } });

/** A button whose request takes long. */
interface BusyButton {
  /** The part of the URL after `#`. */
  readonly hash?: string;
  /** The button that opens the dialog, if the button is in one. */
  readonly opener?: string;
  /** What to type first, by the names of the fields. */
  readonly values?: Readonly<Record<string, string>>;
  readonly name: string;
  /** The request of the button: its method, and the end of its path. */
  readonly request: readonly [method: string, path: string];
}

/** A script that returns the labels of all buttons, and where all controls and headings are. */
const PLACES = `[...document.querySelectorAll('a, button, input, textarea, h1, h2')]
  .map((element) => [element.querySelector('.label')?.textContent, element.getBoundingClientRect().toJSON()])`;

/** A script that returns what the busy button shows when its animations have ended. */
const BUSY_TEXT = `(() => {
  const [label, working] = document.querySelectorAll('[aria-busy=true] > span');
  for (const animation of document.getAnimations()) animation.finish();
  const opacity = (element) => Number(getComputedStyle(element).opacity);
  return [opacity(label) ? label.textContent : '', opacity(working) ? working.textContent.trim() : ''].join('');
})()`;

/** Presses a button three times, and expects only one request, which fails in the end. */
async function expectBusy(page: Page, { hash, opener, values = {}, name, request }: BusyButton) {
  const button = (within: Page | Locator, label: string) =>
    within.getByRole('button', { name: label, exact: true });
  if (hash) await page.goto(`/support/#${hash}`);
  if (opener) await button(page, opener).click();
  const form = opener ? page.getByRole('dialog') : page.locator('body');
  for (const [field, value] of Object.entries(values)) await form.locator(`[name=${field}]`).fill(value);
  let requests = 0;
  const { promise: isOver, resolve: end } = Promise.withResolvers<void>();
  await page.route(
    ({ pathname }) => pathname.endsWith(request[1]),
    async (route) => {
      if (route.request().method() !== request[0]) return route.continue();
      requests += 1;
      await isOver;
      await route.abort();
    },
  );
  const pressed = button(form, name);
  await pressed.focus();
  // What is still being loaded would move the controls when it appears.
  await until(async () => (await page.locator('.loading').count()) === 0);
  const places = await page.evaluate(PLACES);
  await page.keyboard.press('Enter');
  await page.locator('.working').waitFor();
  expect([name, await page.evaluate(BUSY_TEXT)]).toEqual([name, 'One moment …']);
  expect(await page.evaluate(PLACES)).toEqual(places);
  await page.keyboard.press('Enter');
  // The click is forced, because the button is disabled.
  await page.locator('.working').click({ force: true });
  await until(async () => requests > 0);
  end();
  await page.locator('.working').waitFor({ state: 'detached' });
  expect([name, requests]).toEqual([name, 1]);
  await expectFocus(pressed);
  await endRoute(page);
  if (opener) while (await form.isVisible()) await page.keyboard.press('Escape');
}

test('a busy button of the portal says so, moves nothing, keeps the focus and cannot be pressed again', async () => {
  const license = await service.issue({ email: 'ada@example.com' });
  await activateMachine(service, license, 'Studio Mac');
  const page = await browser.openPage(origin, { path: '/portal/' });
  const values = { email: license.email, license_key: license.license_key };
  await expectBusy(page, { values, name: 'Show my machines', request: ['POST', 'session'] });
  await page.getByRole('button', { name: 'I lost my key' }).click();
  // The page moves the focus to the address after it has rendered the form.
  await expectFocus(page.getByLabel('E-mail address'));
  await expectBusy(page, { name: 'Mail me a code', request: ['POST', 'code'] });
  await openByCode(page, origin, service, license.email);
  for (const button of [
    { opener: 'Release Studio Mac', name: 'Release it', request: ['POST', 'release'] },
    { opener: 'Delete my data …', name: 'Delete my data', request: ['POST', 'erasure'] },
    { name: 'Send me the key', request: ['POST', 'send-key'] },
    { name: 'Download', request: ['GET', 'export'] },
    { name: 'Sign out', request: ['DELETE', 'session'] },
  ] as const)
    await expectBusy(page, button);
});

test('a busy button of the support page says so, moves nothing, keeps the focus and cannot be pressed again', async () => {
  const { license_id } = await service.issue({ email: 'holder@example.com' });
  const page = await openAs(browser, origin, service, 'admin');
  const hash = `license/${license_id}`;
  const values = { reason: 'Asked for it' };
  const email = 'holder@example.com';
  const buttons: readonly BusyButton[] = [
    { values: { query: 'ada@example.com' }, name: 'Find', request: ['POST', 'search'] },
    { opener: 'Issue a license', values: { email }, name: 'Issue', request: ['POST', 'licenses'] },
    { hash, opener: 'Send the key', name: 'Send', request: ['POST', 'send-key'] },
    { opener: 'New key …', values, name: 'Make a new key', request: ['POST', 'rekey'] },
    {
      opener: 'Change …',
      values: { ...values, machines_allowed: '7' },
      name: 'Change',
      request: ['PATCH', license_id],
    },
    {
      opener: 'Erase the holder …',
      values: { ...values, email },
      name: 'Erase',
      request: ['POST', 'erasures'],
    },
    { hash: 'staff', opener: 'Add a person …', values: { email }, name: 'Add', request: ['POST', 'staff'] },
    { name: 'Mail a link to admin@example.com', request: ['POST', 'link'] },
    // Before a download, the page requests the session.
    { hash: 'audit', name: 'Download as CSV', request: ['GET', 'session'] },
    { name: 'Sign out', request: ['DELETE', 'session'] },
  ];
  for (const button of buttons) await expectBusy(page, button);
});
