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
 * release of the old one, support releases it, and the new machine activates. It is done with a mouse and by keyboard alone.
 */

const { service, origin, browser } = await startForBrowser();

/** A way to operate a page. */
interface InputDevice {
  press(control: Locator): Promise<void>;
  type(field: Locator, text: string): Promise<void>;
}

const mouse: InputDevice = {
  press: (control) => control.click(),
  type: (field, text) => field.fill(text),
};

const keyboard: InputDevice = {
  async press(control) {
    await tabTo(control);
    await control.page().keyboard.press('Enter');
  },
  async type(field, text) {
    await tabTo(field);
    await field.page().keyboard.type(text);
  },
};

const button = (within: Page | Locator, name: string) => within.getByRole('button', { name, exact: true });

test.each([
  ['with a mouse', mouse, 'ada@example.com'],
  ['by keyboard alone', keyboard, 'grace@example.com'],
])(
  '%s: a holder requests a release, support releases the machine, and a new machine activates',
  async (_how, device, email) => {
    const license: HolderCredentials = await service.issue({ email });
    const { token } = (await service.activate(license, 'old', { hostname_hint: 'Old Mac' })).json;
    expect((await service.activate(license, 'new')).json.code).toBe('machine_limit_reached');

    const holder = await browser.openPage(origin);
    await signInByKey(holder, device, license);
    expect(await headline(holder).textContent()).toBe('1 of 1 machines in use');
    await device.press(button(holder, 'Ask support to release Old Mac'));
    await device.type(holder.getByLabel('Reason'), 'The old one was sold.');
    await device.press(button(holder, 'Send to support'));
    await machineRow(holder, 'Old Mac').getByText('Asked on 20 November').waitFor();

    const staff = await browser.openPage(origin);
    await holdUndoTime(staff);
    await createPasskeyAndSignIn(staff, device, `support.${email}`);
    await device.type(staff.getByRole('textbox', { name: 'E-mail, license key' }), email);
    await device.press(button(staff, 'Find'));
    await staff.getByText('The old one was sold.').waitFor();
    await device.press(button(staff.getByRole('table', { name: 'Machines in use' }), 'Release Old Mac'));
    await device.press(button(dialog(staff), 'Sold'));
    await device.press(button(dialog(staff), 'Release'));
    await dialog(staff).waitFor({ state: 'detached' });
    await passUndoTime(staff);
    await expectAnnounced(staff, 'Released Old Mac.');

    await signInByCode(holder, device, email);
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
  },
);

async function signInByKey(
  page: Page,
  device: InputDevice,
  { email, license_key }: HolderCredentials,
): Promise<void> {
  await page.goto('/portal/');
  await device.type(page.getByLabel('E-mail address'), email);
  await device.type(page.getByLabel('License key'), license_key);
  await device.press(button(page, 'Show my machines'));
  await headline(page).waitFor();
}

async function signInByCode(page: Page, device: InputDevice, email: string): Promise<void> {
  await device.press(button(page, 'Sign out'));
  await device.press(button(page, 'I lost my key'));
  // A text that is typed while one form replaces the other would be lost.
  await expectFocus(page.getByLabel('E-mail address'));
  await device.type(page.getByLabel('E-mail address'), email);
  const code = await codeAfter(service, email, () => device.press(button(page, 'Mail me a code')));
  await device.type(page.getByLabel('Code'), code);
  await headline(page).waitFor();
}

/** Signs in with a one-time link, creates a passkey, and signs in with the passkey. */
async function createPasskeyAndSignIn(page: Page, device: InputDevice, email: string): Promise<void> {
  await addAuthenticator(page);
  await page.goto(await createSignInLink(service, 'support', email));
  await device.press(button(page, 'Sign in with this link'));
  await device.press(button(page, 'Make a passkey'));
  await device.press(button(page, 'Sign out'));
  await device.press(button(page, 'Sign in with a passkey'));
  await title(page, /^Find a license/).waitFor();
}
