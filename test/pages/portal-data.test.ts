import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { beforeEach, expect, test } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import { retryWhileUnavailable, FakeClock } from '../support/harness.js';
import { waitForJobs, sell } from '../erasure/harness.js';
import { LicensesService } from '../../src/licenses/licenses.service.js';
import { Browser, codeAfter } from '../license-portal/harness.js';
import { focusWindow, headline, machineRow, openByCode, openByKey, signInByCode } from './portal-browser.js';
import { endRoute, holdNextAnswer, routeNext } from './routes.js';
import {
  activateMachine,
  expectFocus,
  expectAnnounced,
  type HolderCredentials,
  expectText,
  nextFrame,
  tabTo,
} from './steps.js';
import { startForBrowser } from './service.js';

/** Far in the future, so that no requested erasure runs: the job queue that runs erasures uses the clock of the database. */
const NOW = '2096-02-10T12:00:00Z';

const { service, origin, browser } = await startForBrowser({ clock: new FakeClock(NOW) });

let license: HolderCredentials;
beforeEach(async () => {
  const email = `${randomUUID()}@example.com`;
  const id = await sell(service, email, `pi_${randomUUID()}`);
  license = { email, license_key: (await service.app.get(LicensesService).currentKey(id))! };
  await activateMachine(service, license, 'Studio Mac');
});

/** The number of sign-in codes that an address can be mailed in a day. */
const CODES_PER_ADDRESS_AND_DAY = 10;

/** Counts the waiting erasure requests of the holder. */
const countWaitingErasures = async () =>
  (
    await service.sql('select from erasure_request where email = $1 and cancelled_at is null', [
      license.email,
    ])
  ).length;

/** Moves the focus to a button by Tab, and presses it by Enter. */
async function press(button: Locator): Promise<void> {
  await tabTo(button);
  await button.page().keyboard.press('Enter');
}

test('the data of a holder is downloaded as one file, by keyboard alone', async () => {
  const page = await browser.openPage(origin, { now: NOW });
  await openByCode(page, origin, service, license.email);
  const button = page.getByRole('button', { name: 'Download' });
  const [download] = await Promise.all([page.waitForEvent('download'), press(button)]);
  expect(download.suggestedFilename()).toBe('my-license-data.json');
  const text = await readFile(await download.path(), 'utf8');
  expect(JSON.parse(text)).toMatchObject({ email: license.email });
  expect(text).toContain('Studio Mac');
  await expectAnnounced(page, 'The file is downloaded.');
  await expectFocus(button);
});

test('the message that the device is offline disappears with the next response', async () => {
  const page = await browser.openPage(origin, { now: NOW });
  await page.addInitScript("Object.defineProperty(navigator, 'onLine', { value: false })");
  await openByCode(page, origin, service, license.email);
  const download = page.getByRole('button', { name: 'Download' });
  // The pointer on the button loads a file. Until the page has run it, each click and focus asks whether the service answers, and
  // a later answer would remove the message.
  const [file] = await Promise.all([page.waitForResponse('**/on-demand-*.js'), download.hover()]);
  await page.evaluate(`import(${JSON.stringify(file.url())}).then(() => {})`);
  await page.route('**/portal/api/export', (route) => route.abort('internetdisconnected'));
  await download.click();
  const error = page.getByRole('alert').getByText('You are offline. Nothing is lost');
  await error.waitFor();
  await focusWindow(page);
  await error.waitFor({ state: 'detached' });
});

test('by keyboard alone: the deletion dialog says what ends and what is kept, and a requested deletion can be cancelled', async () => {
  const page = await browser.openPage(origin, { now: NOW });
  await openByCode(page, origin, service, license.email);
  const open = page.getByRole('button', { name: 'Delete my data …' });
  await press(open);
  const dialog = page.getByRole('dialog', { name: 'Delete everything held about you?' });
  await dialog.waitFor();
  expect(await dialog.getByRole('listitem').allTextContents()).toEqual([
    'Your license ends for good, on every machine.',
    'The application stops on 1 machine.',
    'Your e-mail address, and the names and ids of your machines, are erased.',
    expect.stringMatching(/^Of a purchase .* stay until 31 December 2106, because tax law asks for them\./),
    'For 3 days you can take this back here. After that it cannot be undone.',
  ]);
  await expectFocus(dialog.getByRole('button', { name: 'Keep everything' }));
  await browser.expectAccessibleLayout(page);
  for (const key of ['Enter', 'Escape']) {
    await page.keyboard.press(key);
    await expectFocus(open);
    expect(await countWaitingErasures()).toBe(0);
    await page.keyboard.press('Enter');
    await expectFocus(dialog.getByRole('button', { name: 'Keep everything' }));
  }
  await press(dialog.getByRole('button', { name: 'Delete my data' }));
  await expectAnnounced(page, 'Deletion is asked for.');
  const notice = page.getByText('Deletion asked for on 10 February 2096.');
  await expectFocus(page.locator('#erasure'));
  await expectText(page, 'It runs on 13 February 2096 at 12:00 UTC. Until then you can take it back.');
  await browser.expectAccessibleLayout(page);
  expect(await countWaitingErasures()).toBe(1);
  await page.reload();
  await press(page.getByRole('button', { name: 'Take it back' }));
  await expectAnnounced(page, 'Taken back. Nothing is deleted.');
  expect(await notice.count()).toBe(0);
  await expectFocus(headline(page));
  expect(await countWaitingErasures()).toBe(0);
});

async function askForErasure(page: Page): Promise<void> {
  await openByCode(page, origin, service, license.email);
  await page.getByRole('button', { name: 'Delete my data …' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete my data' }).click();
}

/** Asks for the deletion and takes it back, and holds back the answer. @returns a function that passes the answer on */
async function takeBackAndHold(page: Page): Promise<() => Promise<void>> {
  await askForErasure(page);
  const { held } = await holdNextAnswer(page, '**/portal/api/erasure?*');
  await page.getByRole('button', { name: 'Take it back' }).click();
  return held;
}

test('a dialog that is higher than the window begins with its title, which has the focus', async () => {
  const page = await browser.openPage(origin, { now: NOW });
  await openByCode(page, origin, service, license.email);
  await page.setViewportSize({ width: 320, height: 480 });
  await page.getByRole('button', { name: 'Delete my data …' }).click();
  const dialog = page.getByRole('dialog');
  await expectFocus(dialog.getByRole('heading'));
  expect(
    await dialog.evaluate((element) => [element.scrollTop, element.scrollHeight > element.clientHeight]),
  ).toEqual([0, true]);
  await page.keyboard.press('Tab');
  await expectFocus(dialog.getByRole('button', { name: 'Delete my data' }));
});

test('a deletion that was taken back just before the sign-out does not show the holder again', async () => {
  const page = await browser.openPage(origin, { now: NOW });
  const answer = await takeBackAndHold(page);
  await page.getByRole('button', { name: 'Sign out' }).click();
  await expectAnnounced(page, 'You are signed out.');
  await answer();
  await expectAnnounced(page, 'Taken back. Nothing is deleted.');
  await nextFrame(page);
  await page.getByRole('heading', { level: 1, name: 'Where is my license active?' }).waitFor();
  expect(await page.getByText(license.email).count()).toBe(0);
});

test('what the page has read while a deletion is taken back stays', async () => {
  const page = await browser.openPage(origin, { now: NOW });
  const answer = await takeBackAndHold(page);
  await service.sql(
    `update activation a set hostname_hint = 'Renamed' from license l where l.id = a.license_id and email = $1`,
    [license.email],
  );
  await focusWindow(page);
  await machineRow(page, 'Renamed').waitFor();
  await answer();
  await expectAnnounced(page, 'Taken back. Nothing is deleted.');
  await nextFrame(page);
  expect(await machineRow(page, 'Renamed').count()).toBe(1);
});

test('a deletion whose request was stored although the answer was lost is shown, and can be taken back', async () => {
  const page = await browser.openPage(origin, { now: NOW });
  await routeNext(page, '**/portal/api/erasure', async (route) => {
    await route.fetch();
    await route.abort();
  });
  await askForErasure(page);
  await expectAnnounced(page, 'Deletion is asked for.');
  await expectFocus(page.locator('#erasure'));
  await page.getByRole('button', { name: 'Take it back' }).click();
  await expectAnnounced(page, 'Taken back. Nothing is deleted.');
});

test('a deletion that was taken back although the answer was lost is no longer shown', async () => {
  const page = await browser.openPage(origin, { now: NOW });
  await askForErasure(page);
  await routeNext(page, '**/portal/api/erasure?*', async (route) => {
    await route.fetch();
    await route.abort();
  });
  await page.getByRole('button', { name: 'Take it back' }).click();
  await expectAnnounced(page, 'Taken back. Nothing is deleted.');
  await expectFocus(headline(page));
  expect(await page.locator('#erasure').count()).toBe(0);
  expect(await countWaitingErasures()).toBe(0);
});

test('after two lost answers, the next click shows that the deletion was taken back', async () => {
  const page = await browser.openPage(origin, { now: NOW });
  await askForErasure(page);
  await routeNext(page, '**/portal/api/erasure?*', async (route) => {
    await route.fetch();
    await page.route('**/portal/api/session', (read) => read.abort());
    await route.abort();
  });
  await page.getByRole('button', { name: 'Take it back' }).click();
  await expectText(page.getByRole('alert'), 'The service cannot be reached just now.');
  await endRoute(page, '**/portal/api/session');
  await page.getByRole('button', { name: 'Take it back' }).click();
  await expectAnnounced(page, 'Taken back. Nothing is deleted.');
  expect(await page.locator('#erasure').count()).toBe(0);
});

test('a deletion whose cancellation does not reach the service is still shown, with the reason', async () => {
  const page = await browser.openPage(origin, { now: NOW });
  await askForErasure(page);
  await routeNext(page, '**/portal/api/erasure?*', (route) => route.abort());
  await page.getByRole('button', { name: 'Take it back' }).click();
  await expectText(page.getByRole('alert'), 'The service cannot be reached just now.');
  await expectText(page, 'Until then you can take it back.');
  expect(await countWaitingErasures()).toBe(1);
});

test('a deletion is not reported as taken back after another holder has signed in', async () => {
  const page = await browser.openPage(origin, { now: NOW });
  await askForErasure(page);
  const other = await service.issue({ email: `${randomUUID()}@example.com` });
  await signInByCode(page, origin, service, other.email);
  await page.getByRole('button', { name: 'Take it back' }).click();
  await expectText(page.getByRole('alert'), 'This is no longer here.');
  expect(await countWaitingErasures()).toBe(1);
});

test('the data of another holder who has signed in meanwhile is not saved', async () => {
  const page = await browser.openPage(origin, { now: NOW });
  await openByCode(page, origin, service, license.email);
  const downloads: unknown[] = [];
  page.on('download', (download) => downloads.push(download));
  const other = await service.issue({ email: `${randomUUID()}@example.com` });
  await signInByCode(page, origin, service, other.email);
  await page.getByRole('button', { name: 'Download' }).click();
  await expectText(page.getByRole('alert'), 'another person has signed in meanwhile.');
  expect(downloads).toEqual([]);
});

test('with a wrong clock of the device, a deletion can be cancelled, and a license has not expired', async () => {
  await service.sql(`update license set expires_at = '2096-02-12', on_expiry = 'stop' where email = $1`, [
    license.email,
  ]);
  const page = await browser.openPage(origin, { now: '2096-03-01T12:00:00Z' });
  await openByCode(page, origin, service, license.email);
  await page.getByRole('heading', { level: 1, name: '1 of 1 machines in use' }).waitFor();
  await expectText(page, 'Runs through 11 February 2096');
  await page.getByRole('button', { name: 'Delete my data …' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete my data' }).click();
  await expectText(page, 'It runs on 13 February 2096 at 12:00 UTC. Until then you can take it back.');
  await page.getByRole('button', { name: 'Take it back' }).click();
  await expectAnnounced(page, 'Taken back. Nothing is deleted.');
});

test('after a sign-in by license key nothing can be downloaded or deleted, until the holder signs in with a code', async () => {
  // Other callers have used up the daily limit of codes for this address. A session by license key has a limit of its own.
  const askAsOthers = () =>
    new Browser(service, origin).call('POST', '/session/code', { email: license.email });
  for (let times = 0; times < CODES_PER_ADDRESS_AND_DAY; times += 1) await retryWhileUnavailable(askAsOthers);
  expect((await retryWhileUnavailable(askAsOthers)).status).toBe(429);
  await waitForJobs(service, 'mail_sign_in_code');
  const page = await browser.openPage(origin, { now: NOW });
  await openByKey(page, origin, license);
  await expectText(page, 'other people may know that key');
  expect(await page.getByRole('button', { name: /Download|Delete|Send me the key/ }).count()).toBe(0);
  await page.getByRole('button', { name: 'Sign in with a code' }).click();
  const dialog = page.getByRole('dialog', { name: 'Sign in with a code' });
  await browser.expectAccessibleLayout(page);
  const mail = () => dialog.getByRole('button', { name: 'Mail me a code' }).click();
  await dialog.getByLabel('Code', { exact: true }).fill(await codeAfter(service, license.email, mail));
  await page.getByRole('button', { name: 'Download' }).waitFor();
  await page.getByRole('button', { name: 'Delete my data …' }).waitFor();
});

test('a download after the end of the session asks to sign in again', async () => {
  const page = await browser.openPage(origin, { now: NOW });
  await openByCode(page, origin, service, license.email);
  await service.sql('delete from session');
  await page.getByRole('button', { name: 'Download' }).click();
  await page.getByRole('dialog', { name: 'Your session has ended' }).waitFor();
});
