import { expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { expectTitle, openByKey } from './portal-browser.js';
import { startForBrowser } from './service.js';
import { activateMachine, expectApart, expectToast } from './steps.js';
import { button, dialog, openAs, row, submitReason } from './support-browser.js';

/** Texts that a page could take for markup, for a placeholder or for no value, or that could leave their box. */
const HOSTILE = [
  '<img src=x onerror=alert(1)>',
  `"' onmouseover="alert(1)`,
  '{{constructor}} {machine} &amp; ${x} $&',
  '\u202E\u05d7\u05e9\u05d1',
  'zero\u200Bwidth\u200D',
  '👩🏽‍💻'.repeat(20),
  'null',
  'constructor',
  '=HYPERLINK("http://x.example")',
  'W'.repeat(500),
];
const URL_500 = 'https://example.com/'.padEnd(500, 'w');
const PRODUCT = `<img src=x>${'W'.repeat(49)}`;
const VENDOR = `"' onclick="x${'W'.repeat(47)}`;

const { service, origin, browser } = await startForBrowser({
  environment: {
    PRODUCT_NAME: PRODUCT,
    VENDOR_NAME: VENDOR,
    SUPPORT_CONTACT: URL_500,
    SHOP_URL: URL_500,
    RENEWAL_URL: URL_500,
  },
});
const license = await service.issue({ email: 'hostile@example.com', machines_allowed: 20 });

/** Lists the elements that are beyond an edge of the window, or that cut off their text. */
const OUTSIDE = `[...document.querySelectorAll('bdi, td, th, dd, h1, h2, p, li, a, button, .toast')]
  .filter((element) => element.checkVisibility() && !element.closest('.unseen, .skip, thead'))
  .filter((element) => {
    const { left, right } = element.getBoundingClientRect();
    const isCut = getComputedStyle(element).overflowX !== 'visible' && element.scrollWidth > element.clientWidth;
    return left < 0 || right > innerWidth || isCut;
  })
  .map(({ outerHTML }) => outerHTML.slice(0, 200))`;

/** Expects that no text became an element, and that each is in its box. */
async function expectOnlyText(page: Page): Promise<void> {
  expect(await page.locator('img[src=x], [onmouseover], [onclick]').count()).toBe(0);
  await browser.expectLayout(page);
  for (const width of [320, 1280]) {
    await page.setViewportSize({ width, height: 800 });
    expect([width, await page.evaluate(OUTSIDE)]).toEqual([width, []]);
  }
}

/** Expects that the page shows each of the texts as it is. */
const expectUnchanged = async (page: Page) =>
  expect(await page.locator('main bdi').allTextContents()).toEqual(expect.arrayContaining(HOSTILE));

/** Answers requests for a path of the staff API with this body, as if the service had stored its texts. */
const answer = (page: Page, path: string, json: object) =>
  page.route(`**/support/api/${path}`, (route) => route.fulfill({ json }));

test('the fleet shows hostile crash labels, frames, versions and models as text', async () => {
  await service.sql(`insert into fleet_week values ('2026-11-15')`);
  for (const [index, text] of HOSTILE.entries()) {
    await service.sql(
      `insert into crash_week (week_end, crash_sig, app_version, crash_label, crash_frame, crashes)
       values ('2026-11-15', $1, $2, $2, $2, $3)`,
      [String(index).padStart(16, '0'), text, HOSTILE.length - index],
    );
    for (const dimension of ['app_version', 'os_version', 'hardware', 'ram_gb_bucket', 'detector_compute'])
      await service.sql(
        `insert into fleet_cell (week_end, dimension, value, value_2, is_other, heartbeats)
         values ('2026-11-15', $1, $2, $2, false, 300)`,
        [dimension, text],
      );
    await service.sql(`insert into fleet_latency values ('2026-11-15', $1, 9, 12, 15)`, [text]);
  }
  const page = await openAs(browser, origin, service, 'support', '#fleet');
  await button(page, `Mute … ${HOSTILE[0]}`).waitFor();
  await expectUnchanged(page);
  await expectOnlyText(page);
  await button(page, `Mute … ${HOSTILE[0]}`).click();
  await submitReason(page, HOSTILE.slice(0, 5).join(' ').padEnd(500, 'W'), 'Mute');
  await page.locator('.toast').getByText(HOSTILE[0]!).waitFor();
  await expectOnlyText(page);
  await page.getByLabel('State', { exact: true }).selectOption('muted');
  await button(page, `Reopen … ${HOSTILE[0]}`).waitFor();
  await expectOnlyText(page);
});

test('the erasure requests and their dialog show a hostile reason and address as text', async () => {
  const erasures = HOSTILE.map((text, index) => ({
    id: `0198f3c2-7b1a-7c3d-9e4f-a1b2c3d4e5f${index}`,
    email: text,
    state: 'waiting',
    asked_by: 'staff',
    reason: text,
    received_on: '2026-11-19',
    days_left: index,
    runs_at: '2026-11-22T13:00:00Z',
    honoured_at: null,
    cancelled_at: null,
  }));
  const page = await browser.openPage(origin);
  await answer(page, 'erasures', { erasures });
  await openAs(page, origin, service, 'admin', '#erasures');
  await row(page, HOSTILE[0]!).waitFor();
  await expectUnchanged(page);
  await expectOnlyText(page);
  await button(page, `Run now: the erasure of ${HOSTILE.at(-1)}`).click();
  await dialog(page).waitFor();
  await expectOnlyText(page);
});

test('the view of the service shows hostile warnings, reasons, subjects and jobs as text', async () => {
  const page = await browser.openPage(origin);
  const failing = HOSTILE.map((text) => ({
    kind: 'release_done',
    about: text,
    reason: text,
    attempts: 1,
    waiting_since: '2026-11-20T12:00:00Z',
    next_attempt_at: null,
  }));
  await answer(page, 'service', {
    warnings: HOSTILE,
    mail: { waiting: 10, untried: 0, late: 0, failed: 10, failing },
    events: {
      is_recording: true,
      waiting: 2,
      failing: 1,
      given_up: 0,
      attempts: 3,
      reason: HOSTILE[0],
      oldest_waiting: '2026-11-20T12:00:00Z',
    },
    jobs: HOSTILE.map((task) => ({ task, waiting: 1, late: 0, failing: 0 })),
  });
  await openAs(page, origin, service, 'support', '#service');
  await page.getByRole('listitem').getByText(HOSTILE[0]!, { exact: true }).waitFor();
  await expectUnchanged(page);
  await expectOnlyText(page);
});

test('the account shows hostile names of passkeys as text', async () => {
  const page = await browser.openPage(origin);
  const passkeys = HOSTILE.map((name) => ({
    id: name,
    created_at: '2026-11-20T12:00:00Z',
    transports: ['usb'],
    name,
    last_used_on: null,
  }));
  await answer(page, 'passkeys', { passkeys });
  await openAs(page, origin, service, 'support', '#account');
  await row(page, HOSTILE[0]!).waitFor();
  await expectUnchanged(page);
  await expectOnlyText(page);
  for (const name of [HOSTILE[0]!, HOSTILE.at(-1)!]) {
    await button(page, `Remove ${name}`).click();
    await dialog(page).waitFor();
    await expectOnlyText(page);
    await button(dialog(page), 'Cancel').click();
  }
});

test('a message about a machine with a long label stays in the window, and apart from a dialog', async () => {
  const labels = ['W'.repeat(100), '<img src=x onerror=alert(1)>'];
  for (const label of labels) await activateMachine(service, license, label);
  const page = await browser.openPage(origin, { viewport: { width: 320, height: 640 } });
  await openAs(page, origin, service, 'admin', `#license/${license.license_id}`);
  for (const label of labels) {
    await button(page, `Release ${label}`).click();
    await submitReason(page, 'Sold', 'Release');
    await expectToast(page, `Releases in 10 seconds: ${label}`);
  }
  await expectOnlyText(page);
  await page.setViewportSize({ width: 320, height: 640 });
  await button(page, 'Change …').click();
  await expectApart(page.locator('.toasts'), dialog(page));
  await button(dialog(page), 'Cancel').click();
  // The key Z undoes the latest pending release, so no release is sent.
  for (let left = labels.length; left > 0; left -= 1) await page.keyboard.press('z');
});

test('header, title, footer and the printed license show hostile names and long addresses in their boxes', async () => {
  await service.setLicense(license.license_id, {
    on_expiry: 'stop',
    expires_at: new Date('2026-11-20T00:00:00Z'),
  });
  const page = await openByKey(browser, origin, license);
  await page.getByText(`From ${VENDOR}`).waitFor();
  await expectTitle(page, `This license has expired · ${PRODUCT}`);
  expect(await page.getByRole('link', { name: 'Renew the license' }).getAttribute('href')).toBe(URL_500);
  await expectOnlyText(page);
  await page.emulateMedia({ media: 'print' });
  await page.setViewportSize({ width: 680, height: 900 });
  expect(await page.evaluate(OUTSIDE)).toEqual([]);
});
