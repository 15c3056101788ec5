import { randomUUID } from 'node:crypto';
import { beforeEach, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { FakeClock } from '../support/harness.js';
import { headline, openByCode } from './portal-browser.js';
import { startForBrowser } from './service.js';
import { activateMachine, expectFocus, expectToast, tabTo, type HolderCredentials } from './steps.js';

/** Far in the future, so that no requested erasure runs: the job queue that runs erasures uses the clock of the database. */
const START = '2096-02-10T12:00:00Z';

const environment = { SELF_RELEASES_PER_YEAR: '1' };
const { service, origin, browser } = await startForBrowser({ environment, clock: new FakeClock(START) });

let license: HolderCredentials;
let page: Page;
beforeEach(async () => {
  license = await service.issue({ email: `${randomUUID()}@example.com`, machines_allowed: 2 });
  await activateMachine(service, license, 'Studio Mac');
  page = await browser.openPage(origin, { now: START });
  await openByCode(page, origin, service, license.email);
});

const button = (name: string) => page.getByRole('button', { name, exact: true });

/** Moves the focus to a button by Tab, and presses it by Enter. */
async function press(name: string): Promise<void> {
  await tabTo(button(name));
  await page.keyboard.press('Enter');
}

/** Opens a dialog with a button, and closes it by Escape, which returns the focus to the button. */
async function openAndCloseDialog(name: string): Promise<void> {
  await press(name);
  await page.getByRole('dialog').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await expectFocus(button(name));
}

test('a holder releases a machine by keyboard alone', async () => {
  await openAndCloseDialog('Release Studio Mac');
  await press('Release Studio Mac');
  await press('Release it');
  await expectToast(page, 'It is released. Its place is free.');
  await expectFocus(headline(page));
  expect(await headline(page).textContent()).toBe('0 of 2 machines in use');
});

test('a holder requests a deletion and cancels it by keyboard alone', async () => {
  const waiting = () =>
    service.sql('select from erasure_request where email = $1 and cancelled_at is null', [license.email]);
  await openAndCloseDialog('Delete my data …');
  await press('Delete my data …');
  await expectFocus(button('Keep everything'));
  await press('Delete my data');
  await expectToast(page, 'Deletion is asked for.');
  await expectFocus(page.locator('#erasure'));
  expect(await waiting()).toHaveLength(1);
  await press('Take it back');
  await expectToast(page, 'Taken back. Nothing is deleted.');
  await expectFocus(headline(page));
  expect(await waiting()).toHaveLength(0);
});

test('a holder downloads the data and signs out by keyboard alone', async () => {
  const downloaded = page.waitForEvent('download');
  await press('Download');
  expect((await downloaded).suggestedFilename()).toBe('my-license-data.json');
  await expectToast(page, 'The file is downloaded.');
  await expectFocus(button('Download'));
  await press('Sign out');
  await expectToast(page, 'You are signed out.');
  await expectFocus(page.getByRole('heading', { level: 1, name: 'Where is my license active?' }));
});

test('a holder prints the license by keyboard alone', async () => {
  await page.evaluate('window.prints = 0; window.print = () => void (prints += 1)');
  await press('Print');
  expect(await page.evaluate('prints')).toBe(1);
  await expectFocus(button('Print'));
});
