import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, test } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import { until } from '../erasure/harness.js';
import type { Service } from '../support/harness.js';
import { TestBrowser } from './browser.js';
import { startForBrowser } from './service.js';
import { expectFocus, expectToast, tabTo } from './steps.js';
import { button, dialog, openAs, row } from './support-browser.js';

let service: Service;
let origin: string;
beforeAll(async () => void ({ service, origin } = await startForBrowser()));
afterAll(() => service.close());
const browser = TestBrowser.startForFile();

let license: { readonly email: string; readonly license_id: string };
let page: Page;
beforeEach(async () => {
  license = await service.issue({ email: `${randomUUID()}@example.com`, machines_allowed: 2 });
  page = await browser.openPage(origin);
  await openAs(page, origin, service, 'admin', `#license/${license.license_id}`);
  await button(page, 'Change …').waitFor();
});

/** Moves the focus to a button by Tab, and presses it by Enter. */
async function press(target: Locator): Promise<void> {
  await tabTo(target);
  await page.keyboard.press('Enter');
}

/** Moves the focus to a field by Tab, and replaces its text. */
async function type(label: string, text: string): Promise<void> {
  await tabTo(dialog(page).getByLabel(label));
  await page.keyboard.press('ControlOrMeta+A');
  await page.keyboard.type(text);
}

/** Opens a dialog with a button, and closes it by Escape, which returns the focus to the button. Then opens it again. */
async function openDialogTwice(name: string): Promise<void> {
  await press(button(page, name));
  await dialog(page).waitFor();
  await page.keyboard.press('Escape');
  await dialog(page).waitFor({ state: 'detached' });
  await expectFocus(button(page, name));
  await page.keyboard.press('Enter');
  await dialog(page).waitFor();
}

test('an admin changes a license by keyboard alone', async () => {
  await openDialogTwice('Change …');
  await type('Machines allowed', '4');
  await type('Why?', 'Bought two more');
  await press(button(dialog(page), 'Change'));
  await dialog(page).waitFor({ state: 'detached' });
  await page.getByText('0 of 4 machines in use').waitFor();
  await expectFocus(button(page, 'Change …'));
});

test('an admin makes a new key by keyboard alone', async () => {
  await openDialogTwice('New key …');
  await type('Why?', 'It leaked');
  await press(button(dialog(page), 'Make a new key'));
  await expectToast(page, `There is a new key, on its way to ${license.email}.`);
  await row(page, /made a new key/).waitFor();
  await expectFocus(button(page, 'New key …'));
});

test('an admin erases a holder by keyboard alone', async () => {
  await openDialogTwice('Erase the holder …');
  await type('Type the e-mail', license.email);
  await type('Why?', 'Asked on the telephone');
  await press(button(dialog(page), 'Erase'));
  await expectToast(page, /^The holder is being erased/);
  await until(async () => {
    const [erased] = await service.sql('select email from license where id = $1', [license.license_id]);
    return erased!['email'] === null;
  });
  await page.evaluate(`dispatchEvent(new Event('focus'))`);
  await page.getByText(/^Erased: the e-mail is gone/).waitFor();
  // The button that opened the dialog is gone with the holder, so the focus is elsewhere.
  await expectFocus(page.getByRole('heading', { level: 1 }));
});
