import { randomUUID } from 'node:crypto';
import { beforeEach, expect, test } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import { until } from '../support/until.js';
import { Fleet } from '../telemetry/fleet-harness.js';
import { focusWindow } from './portal-browser.js';
import { startForBrowser } from './service.js';
import { expectFocus, expectToast, tabTo, expectText } from './steps.js';
import { addAuthenticator, button, dialog, openAs, row } from './support-browser.js';

const { service, origin, browser } = await startForBrowser();

let license: { readonly email: string; readonly license_id: string };
let page: Page;
beforeEach(async () => {
  license = await service.issue({ email: `${randomUUID()}@example.com`, machines_allowed: 2 });
  page = await openAs(browser, origin, service, 'admin', `#license/${license.license_id}`);
  await button(page, 'Change …').waitFor();
});

/** Moves the focus to a button by Tab, and presses it by Enter. */
async function press(target: Locator): Promise<void> {
  await tabTo(target);
  await page.keyboard.press('Enter');
}

/** The link to a view in the header. */
const view = (name: string) => page.getByRole('banner').getByRole('link', { name, exact: true });

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

test('an admin changes a license, makes a new key, copies the texts and erases the holder by keyboard alone', async () => {
  await openDialogTwice('Change …');
  await type('Machines allowed', '4');
  await type('Why?', 'Bought two more');
  await press(button(dialog(page), 'Change'));
  await dialog(page).waitFor({ state: 'detached' });
  await expectText(page, '0 of 4 machines in use');
  await expectFocus(button(page, 'Change …'));

  await openDialogTwice('New key …');
  await type('Why?', 'It leaked');
  await press(button(dialog(page), 'Make a new key'));
  await expectToast(page, `There is a new key, on its way to ${license.email}.`);
  await row(page, /made a new key/).waitFor();
  await expectFocus(button(page, 'New key …'));

  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  for (const [what, text] of [
    ['e-mail', license.email],
    ['license id', license.license_id],
  ]) {
    await press(button(page, `Copy the ${what}`));
    await expectToast(page, `The ${what} is copied.`);
    await expectFocus(button(page, `Copy the ${what}`));
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(text);
  }

  await openDialogTwice('Erase the holder …');
  await type('Type the e-mail', license.email);
  await type('Why?', 'Asked on the telephone');
  await press(button(dialog(page), 'Erase'));
  await expectToast(page, /^The holder is being erased/);
  await until(async () => {
    const [erased] = await service.sql('select email from license where id = $1', [license.license_id]);
    return erased!['email'] === null;
  });
  await focusWindow(page);
  await expectText(page, /^Erased: the e-mail is gone/);
  // The button that opened the dialog is gone with the holder, so the focus is elsewhere.
  await expectFocus(page.getByRole('heading', { level: 1 }));
});

test('an admin downloads the audit trail and resolves a crash group by keyboard alone', async () => {
  const crash = { crash_sig: '0123456789abcdef', crash_label: 'ValueError', crash_app_version: '3.1.0' };
  const fleet = await Fleet.of(service);
  await fleet.receive('2026-11-11', 3, crash);
  await fleet.runRetention('2026-11-16');
  await press(view('Audit trail'));
  const downloaded = page.waitForEvent('download');
  await press(button(page, 'Download as CSV'));
  expect((await downloaded).suggestedFilename()).toMatch(/^audit-.*\.csv$/);
  await expectToast(page, 'The download has begun.');
  await expectFocus(button(page, 'Download as CSV'));

  await press(view('Fleet'));
  await openDialogTwice('Resolve … ValueError');
  await type('Resolved in version', '3.2.0');
  await press(button(dialog(page), 'Fixed'));
  await press(button(dialog(page), 'Resolve'));
  await expectToast(page, 'Resolved: ValueError.');
  // No open group is left that could get the focus.
  await expectFocus(page.getByRole('heading', { level: 1 }));
  await tabTo(page.getByLabel('State', { exact: true }));
  // After a second without a key, a further letter would begin another search among the options.
  await page.keyboard.press('r');
  await expectText(row(page, /^ValueError/), 'Resolved in 3.2.0');
  await expectFocus(page.getByLabel('State', { exact: true }));
});

test('after a crash group that another person changed has left the list, the next one gets the focus', async () => {
  const fleet = await Fleet.of(service);
  await fleet.clear();
  const [first, second] = ['a'.repeat(16), 'b'.repeat(16)] as const;
  for (const [crash_sig, crashes] of [
    [first, 5],
    [second, 3],
  ] as const)
    await fleet.receive('2026-11-11', crashes, { crash_sig, crash_label: crash_sig.slice(0, 1) });
  await fleet.runRetention('2026-11-16');
  await press(view('Fleet'));
  for (const [group, focused] of [
    [first, page.locator(`#row-${second}`)],
    [second, page.getByRole('heading', { level: 1 })],
  ] as const) {
    await press(button(page, `Mute … ${group[0]}`));
    await fleet.changeCrashGroup(group, { state: 'muted' });
    await dialog(page).locator('[name=reason]').fill('Not our code');
    await press(button(dialog(page), 'Mute'));
    await expectText(dialog(page), /^The state of this crash group was changed after/);
    await press(button(dialog(page), 'Cancel'));
    await dialog(page).waitFor({ state: 'detached' });
    await expectFocus(focused);
  }
  await press(view('Audit trail'));
  // The entry does not name `resolved_in`, because this group was never resolved.
  await row(page, new RegExp(`state: open → muted, group: ${second}$`)).waitFor();
});

test('an admin adds, names and removes a passkey by keyboard alone', async () => {
  await addAuthenticator(page);
  await press(view('My account'));
  await press(button(page, 'Add a passkey'));
  await expectFocus(row(page, 'Passkey of 20 November'));
  await openDialogTwice('Rename … Passkey of 20 November');
  await type('Name', 'Blue key');
  await page.keyboard.press('Enter');
  await expectFocus(row(page, 'Blue key'));
  await openDialogTwice('Remove Blue key');
  await press(button(dialog(page), 'Remove'));
  await expectToast(page, 'The passkey is removed.');
  await expectFocus(page.getByRole('heading', { name: 'Passkeys' }));
});

test('shortcuts of a single key are turned off by keyboard, and this browser remembers it', async () => {
  await service.issue({ email: license.email });
  const openHolder = async () => {
    await page.goto(`/support/#holder/${license.license_id}`);
    await page.getByRole('row').nth(2).waitFor();
  };
  const focusedRow = page.locator('tbody tr:focus');
  const hint = page.getByText('By keyboard: J and K');
  const search = page.getByRole('search').getByRole('textbox');
  const toggle = page.getByRole('checkbox', { name: /^Shortcuts of a single key/ });

  await openHolder();
  await hint.waitFor();
  await page.keyboard.press('j');
  await focusedRow.waitFor();

  await press(page.getByRole('link', { name: 'My account' }));
  await tabTo(toggle);
  await page.keyboard.press('Space');
  expect(await toggle.isChecked()).toBe(false);
  await openHolder();
  await page.reload();
  // This person has no passkey, so the page offers one again.
  await press(button(page, 'Later'));
  await page.getByRole('row').nth(2).waitFor();
  for (const key of ['j', '/']) await page.keyboard.press(key);
  // The page handles keys in the order in which they are pressed, so the search is opened by the last one.
  await page.keyboard.press('Control+K');
  await expectFocus(search);
  expect(await search.inputValue()).toBe('');
  expect(await search.getAttribute('aria-keyshortcuts')).toBe('Control+K');
  await expectText(page, 'To search from any view, press Ctrl+K.');
  await page.goBack();
  await page.getByRole('row').nth(2).waitFor();
  expect([await focusedRow.count(), await hint.isVisible()]).toEqual([0, false]);

  // A change in another tab takes effect in each open tab, and is shown by the checkbox of a tab that shows the setting.
  const other = await page.context().newPage();
  await other.goto('/support/#account');
  await button(other, 'Later').click();
  const otherToggle = other.getByRole('checkbox', { name: /^Shortcuts of a single key/ });
  await otherToggle.check();
  await hint.waitFor();
  await expect(view('Find').getAttribute('aria-keyshortcuts')).resolves.toBe('/ Control+K');
  await page.keyboard.press('j');
  await focusedRow.waitFor();
  await press(page.getByRole('link', { name: 'My account' }));
  await toggle.uncheck();
  await until(async () => !(await otherToggle.isChecked()));
  await other.evaluate('localStorage.clear()');
  await until(() => toggle.isChecked());
});
