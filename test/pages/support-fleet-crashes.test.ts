import { afterEach, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { until } from '../support/until.js';
import { Fleet } from '../telemetry/fleet-harness.js';
import { startForBrowser } from './service.js';
import { expectText } from './steps.js';
import { button, dialog, openAs, row, submitReason } from './support-browser.js';

const { service, origin, browser } = await startForBrowser();
const fleet = await Fleet.of(service);
afterEach(() => fleet.clear());

test('of 200 crash groups the largest are shown, and all on request', async () => {
  // The service answers with at most 200 groups.
  await service.sql(
    `insert into telemetry_inbox (id, received_on, crash_sig)
     select gen_random_uuid(), '2026-11-11', lpad(to_hex(n), 16, '0') from generate_series(1, 250) n`,
  );
  await fleet.runRetention('2026-11-16');
  const page = await openAs(browser, origin, service, 'support', '#fleet');
  await expectText(page, 'The 200 most frequent groups; less frequent ones are not listed');
  await button(page, 'Show all 200').click();
  expect(await page.getByRole('rowheader').count()).toBe(200);
});

const CRASH_SIG = '0123456789abcdef';
const receiveCrashes = (crash_sig: string, crash_label: string, crash_app_version: string) =>
  fleet.receive('2026-11-11', 3, { crash_sig, crash_label, crash_app_version });
const filterByState = (page: Page, state: string) =>
  page.getByLabel('State', { exact: true }).selectOption(state);

test('a crash group is resolved, muted and reopened, and the filter shows the groups of each state', async () => {
  const hostile = `<b>\u202e😀</b>${'W'.repeat(100)}`;
  await receiveCrashes(CRASH_SIG, 'ValueError', '3.1.0');
  await receiveCrashes('f'.repeat(16), hostile, '3.0.0');
  await fleet.runRetention('2026-11-16');
  const page = await openAs(browser, origin, service, 'support', '#fleet');

  await button(page, 'Resolve … ValueError').click();
  const version = dialog(page).getByLabel('Resolved in version');
  await expectText(dialog(page), /^The first version without the crash, .* newer than 3\.1\.0/);
  await version.fill('the next');
  await button(dialog(page), 'Fixed').click();
  await button(dialog(page), 'Resolve').click();
  await expectText(dialog(page), 'One to four numbers with dots, such as 3.2.1.');
  await version.fill('3.1.0');
  await button(dialog(page), 'Resolve').click();
  await expectText(dialog(page), 'It must be newer than the last version in which the group crashed.');
  await browser.expectAccessible(page);
  await version.fill('3.2.0');
  await button(dialog(page), 'Resolve').click();
  await page.getByText('Resolved: ValueError.').first().waitFor();
  await row(page, /^ValueError/).waitFor({ state: 'detached' });

  // The next group has the focus, and is muted by keyboard.
  const hasFocus = `document.activeElement.id === 'row-${'f'.repeat(16)}'`;
  await until(async () => (await page.evaluate(hasFocus)) === true);
  await page.keyboard.press('Tab');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await expectText(dialog(page), hostile);
  await browser.expectAccessibleLayout(page);
  await submitReason(page, 'Not our code', 'Mute');
  await expectText(page, 'No open crash group in these weeks.');

  await filterByState(page, 'resolved');
  await expectText(row(page, /^ValueError/), 'Resolved in 3.2.0');
  await expectText(row(page, /^ValueError/), 'support@example.com');
  await filterByState(page, 'muted');
  await button(page, `Reopen … ${hostile}`).click();
  await submitReason(page, 'Set by mistake', 'Reopen');
  await expectText(page, 'No muted crash group in these weeks.');

  await service.sql(
    `insert into crash_week (week_end, crash_sig, app_version, crashes) values ('2026-11-15', $1, '3.2.0+9', 1)`,
    [CRASH_SIG],
  );
  await filterByState(page, 'open');
  const reopened = row(page, /^ValueError/);
  await reopened.getByText('Reopened', { exact: true }).waitFor();
  await expectText(reopened, '3.1.0 – 3.2.0+9');
  await expectText(reopened, 'It was resolved in 3.2.0, and crashed in that version or a later one.');

  await page.getByRole('link', { name: 'Audit trail' }).click();
  const entry = row(page, /set the state of a crash group.*state: open → resolved/);
  await expectText(entry, 'resolved in: None → 3.2.0');
  await expectText(entry, `group: ${CRASH_SIG}`);
});

test('a change of a crash group whose state was changed meanwhile is refused', async () => {
  await receiveCrashes(CRASH_SIG, 'ValueError', '3.1.0');
  await fleet.runRetention('2026-11-16');
  const page = await openAs(browser, origin, service, 'support', '#fleet');
  await button(page, 'Mute … ValueError').click();
  await fleet.changeCrashGroup(CRASH_SIG, { state: 'resolved', resolved_in: '3.2.0' });
  await dialog(page).locator('[name=reason]').fill('Not our code');
  await button(dialog(page), 'Mute').click();
  await expectText(dialog(page), /^The state of this crash group was changed after it was shown to you/);
  await button(dialog(page), 'Cancel').click();
  await expectText(page, 'No open crash group in these weeks.');
  await filterByState(page, 'resolved');
  await expectText(row(page, /^ValueError/), 'Resolved in 3.2.0');
});

test('the filter of the crash groups is kept when another number of weeks is chosen', async () => {
  await receiveCrashes(CRASH_SIG, 'ValueError', '3.1.0');
  await fleet.runRetention('2026-11-16');
  const page = await openAs(browser, origin, service, 'support', '#fleet');
  await expectText(page, '1 group, the most frequent first');
  await filterByState(page, 'muted');
  await expectText(page, 'No muted crash group in these weeks.');
  await Promise.all([
    page.waitForResponse(/crash-groups\?weeks=26&state=muted$/),
    page.getByLabel('Weeks').selectOption('26 weeks'),
  ]);
  await expectText(page, 'No muted crash group in these weeks.');
});
