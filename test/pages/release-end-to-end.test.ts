import { expect, test } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import { codeAfter } from '../license-portal/harness.js';
import { headline, machineRow } from './portal-browser.js';
import { startForBrowser } from './service.js';
import { expectAnnounced, expectFocus, tabTo, type HolderCredentials } from './steps.js';
import {
  addAuthenticator,
  dialog,
  holdUndoTime,
  createSignInLink,
  passUndoTime,
  title,
} from './support-browser.js';

/*
 * The main task of the pages, from end to end: a new machine is refused because of the machine limit, its holder requests the
 * release of the old one, support releases it, and the new machine activates.
 */

const { service, origin, browser } = await startForBrowser();

async function press(control: Locator): Promise<void> {
  await tabTo(control);
  await control.page().keyboard.press('Enter');
}

async function type(field: Locator, text: string): Promise<void> {
  await tabTo(field);
  await field.page().keyboard.type(text);
}

const button = (within: Page | Locator, name: string) => within.getByRole('button', { name, exact: true });

test('by keyboard alone: a holder requests a release, support releases the machine, and a new machine activates', async () => {
  const email = 'grace@example.com';
  const license: HolderCredentials = await service.issue({ email });
  const { token } = (await service.activate(license, 'old', { hostname_hint: 'Old Mac' })).json;
  expect((await service.activate(license, 'new')).json.code).toBe('machine_limit_reached');

  const holder = await browser.openPage(origin);
  await signInByKey(holder, license);
  expect(await headline(holder).textContent()).toBe('1 of 1 machines in use');
  await press(button(holder, 'Ask support to release Old Mac'));
  await type(holder.getByLabel('Reason'), 'The old one was sold.');
  await press(button(holder, 'Send to support'));
  await machineRow(holder, 'Old Mac').getByText('Asked on 20 November').waitFor();

  const staff = await browser.openPage(origin);
  await holdUndoTime(staff);
  await createPasskeyAndSignIn(staff, `support.${email}`);
  await type(staff.getByRole('textbox', { name: 'E-mail, license key' }), email);
  await press(button(staff, 'Find'));
  await staff.getByText('The old one was sold.').waitFor();
  await press(button(staff.getByRole('table', { name: 'Machines in use' }), 'Release Old Mac'));
  await press(button(dialog(staff), 'Sold'));
  await press(button(dialog(staff), 'Release'));
  await dialog(staff).waitFor({ state: 'detached' });
  await passUndoTime(staff);
  await expectAnnounced(staff, 'Released Old Mac.');

  await signInByCode(holder, email);
  expect(await headline(holder).textContent()).toBe('0 of 1 machines in use');
  await machineRow(holder, 'Old Mac').getByText('Released on 20 November').waitFor();
  expect((await service.heartbeat(token)).json).toMatchObject({
    code: 'binding_released',
    client_action: 'stop',
  });
  expect((await service.activate(license, 'new', { hostname_hint: 'New Mac' })).status).toBe(201);
  await holder.reload();
  await machineRow(holder, 'New Mac').waitFor();
  expect(await headline(holder).textContent()).toBe('1 of 1 machines in use');
});

async function signInByKey(page: Page, { email, license_key }: HolderCredentials): Promise<void> {
  await page.goto('/portal/');
  await type(page.getByLabel('E-mail address'), email);
  await type(page.getByLabel('License key'), license_key);
  await press(button(page, 'Show my machines'));
  await headline(page).waitFor();
}

async function signInByCode(page: Page, email: string): Promise<void> {
  await press(button(page, 'Sign out'));
  await press(button(page, 'I lost my key'));
  // A text that is typed while one form replaces the other would be lost.
  await expectFocus(page.getByLabel('E-mail address'));
  await type(page.getByLabel('E-mail address'), email);
  const code = await codeAfter(service, email, () => press(button(page, 'Mail me a code')));
  await type(page.getByLabel('Code'), code);
  await headline(page).waitFor();
}

/** Signs in with a one-time link, creates a passkey, and signs in with the passkey. */
async function createPasskeyAndSignIn(page: Page, email: string): Promise<void> {
  await addAuthenticator(page);
  await page.goto(await createSignInLink(service, 'support', email));
  await press(button(page, 'Sign in with this link'));
  await press(button(page, 'Make a passkey'));
  await press(button(page, 'Sign out'));
  await press(button(page, 'Sign in with a passkey'));
  await title(page, /^Find a license/).waitFor();
}
