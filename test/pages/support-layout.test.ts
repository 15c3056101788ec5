import { expect, test } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import { until } from '../support/until.js';
import { startForBrowser } from './service.js';
import { activateMachine, expectApart, expectToast, tabTo } from './steps.js';
import { button, dialog, insertReleaseRequest, openAs, row, submitReason } from './support-browser.js';

const HOLDER = 'a.holder.with.a.long.address@department.university.example';

const { service, origin, browser } = await startForBrowser({
  environment: { PRODUCT_NAME: 'Tidewater Studio' },
});
const license = await service.issue({ email: HOLDER, machines_allowed: 2 });
const licenseId = license.license_id;
for (const label of ['Studio', 'Laptop'])
  await insertReleaseRequest(
    service,
    await activateMachine(service, license, label, HOLDER),
    'The disk is broken, and the machine does not start any more.',
  );

const boxOf = async (element: Locator) => (await element.boundingBox())!;

test('at any width of a desktop window the tabs are in one line, and no view is wider than the window', async () => {
  const page = await openAs(browser, origin, service, 'admin');
  for (const width of [760, 1120, 1280]) {
    await page.setViewportSize({ width, height: 800 });
    for (const view of ['Release requests', 'Audit trail', 'Staff', 'Service', 'Erasure requests']) {
      await page.getByRole('link', { name: new RegExp(`^${view}`) }).click();
      await page.getByRole('heading', { level: 1, name: view }).waitFor();
      const tabs = await page.getByRole('navigation', { name: 'Views' }).getByRole('link').all();
      const tops = await Promise.all(tabs.map(async (tab) => (await boxOf(tab)).y));
      expect([width, view, new Set(tops).size]).toEqual([width, view, 1]);
    }
    for (const hash of ['#requests', `#license/${licenseId}`]) {
      await page.goto(`/support/${hash}`);
      await row(page, 'Laptop').first().waitFor();
      const scrollWidth = await page.evaluate('document.documentElement.scrollWidth');
      expect([hash, scrollWidth]).toEqual([hash, width]);
      const title = await boxOf(page.getByRole('heading', { level: 1 }));
      const table = await boxOf(page.getByRole('table').first());
      expect([width, hash, table.x + table.width <= width - title.x]).toEqual([width, hash, true]);
    }
  }
});

test('at a width of 320 pixels the header has two lines, and a button shows the tabs until a view is chosen', async () => {
  const page = await browser.openPage(origin, { viewport: { width: 320, height: 640 } });
  await openAs(page, origin, service, 'support', '#requests');
  const header = page.getByRole('banner');
  const isCollapsed = async () => (await boxOf(header)).height < 60;
  await button(header, 'Menu 2 wait').waitFor();
  await until(isCollapsed);
  const [product, view] = await Promise.all(
    ['.brand bdi', '.brand .quiet'].map((part) => boxOf(header.locator(part))),
  );
  expect(view!.y).toBeGreaterThan(product!.y);
  expect(view!.x).toBeCloseTo(product!.x, 0);
  await tabTo(button(header, 'Menu 2 wait'));
  await page.keyboard.press('Enter');
  await button(header, 'Sign out').waitFor();
  await browser.expectAccessible(page);
  await tabTo(page.getByRole('link', { name: 'Service' }));
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'Service' }).waitFor();
  await until(isCollapsed);
  expect(await button(header, 'Menu 2 wait').getAttribute('aria-expanded')).toBe('false');
  expect(await button(header, 'Sign out').count()).toBe(0);
});

test('the label of a machine is on one line with the other cells of its row', async () => {
  const page = await openAs(browser, origin, service, 'support', '#requests');
  const laptop = row(page, 'Laptop');
  const label = await boxOf(laptop.getByText('Laptop', { exact: true }));
  const time = await boxOf(laptop.locator('.age time'));
  const checkbox = await boxOf(laptop.getByRole('checkbox'));
  // The fonts differ in weight, so their boxes may differ by two pixels.
  expect(Math.abs(label.y - time.y)).toBeLessThan(3);
  expect(Math.abs(label.y + label.height / 2 - checkbox.y - checkbox.height / 2)).toBeLessThan(2);
});

test('at each width the headings of Staff and of Fleet, which is beside a field, are at the same height', async () => {
  const page = await openAs(browser, origin, service, 'admin');
  for (const width of [320, 760, 1280]) {
    await page.setViewportSize({ width, height: 800 });
    const headings: Record<string, number> = {};
    for (const [hash, name] of Object.entries({ staff: 'Staff', fleet: 'Fleet' })) {
      await page.goto(`/support/#${hash}`);
      headings[name] = (await boxOf(page.getByRole('heading', { level: 1, name }))).y;
    }
    expect([width, headings['Fleet']]).toEqual([width, expect.closeTo(headings['Staff']!, 0)]);
  }
});

test('the buttons of the search stay on the line of the field when an error is shown under it', async () => {
  const page = await openAs(browser, origin, service, 'support');
  await button(page, 'Find').click();
  await page.getByText('Type what the person gave you.').waitFor();
  const field = await boxOf(page.getByRole('search').getByRole('textbox'));
  const find = await boxOf(button(page, 'Find'));
  expect([find.y, find.height]).toEqual([field.y, field.height]);
});

test('the download of the audit trail is on one line with the caption of the entries', async () => {
  const page = await openAs(browser, origin, service, 'support', '#audit');
  for (const width of [760, 1280]) {
    await page.setViewportSize({ width, height: 800 });
    const download = await boxOf(button(page, 'Download as CSV'));
    // The box of the caption is wider and higher than its text.
    const caption = (await page
      .getByRole('table')
      .locator('caption')
      .evaluate((element) => {
        const range = element.ownerDocument.createRange();
        range.selectNodeContents(element);
        const { y, height } = range.getBoundingClientRect();
        return { y, height };
      })) as { y: number; height: number };
    expect(Math.abs(download.y + download.height / 2 - caption.y - caption.height / 2)).toBeLessThan(2);
  }
});

test.each([320, 760, 1280])(
  'at a width of %d pixels a toast does not cover a dialog, and its button is reached by keyboard',
  async (width) => {
    const page = await browser.openPage(origin, { viewport: { width, height: 640 } });
    await openAs(page, origin, service, 'support', '#requests');
    await button(page, 'Release Studio, as asked').click();
    await submitReason(page, 'Sold', 'Release');
    await expectToast(page, 'Releases in 10 seconds: Studio');
    await button(page, 'Release Laptop, as asked').click();
    await expectApart(page.locator('.toast'), dialog(page));
    const { y } = await boxOf(dialog(page));
    await tabTo(button(dialog(page), 'Undo: release Studio'));
    await page.keyboard.press('Enter');
    await expectToast(page, 'Not released: Studio.');
    await expectApart(page.locator('.toast'), dialog(page));
    expect((await boxOf(dialog(page))).y).toBe(y);
  },
);

const USUAL_ADDRESS = 'ada.lovelace@university.example';
const LONG_ADDRESS = `${'long'.repeat(14)}@department.of.letters.university.example`;

/** Makes a license with a request for a machine in use, and a machine whose activation has ended. @returns the license id */
async function insertLongTexts(email: string): Promise<string> {
  const license = await service.issue({ email, machines_allowed: 3 });
  const id = await activateMachine(service, license, 'Studio of the second floor');
  await insertReleaseRequest(service, id, `First line\n${'reason'.repeat(30)}\nlast line`);
  const ended = await activateMachine(service, license, 'A machine that has ended');
  await service.sql("update activation set ended_at = $2, ended_reason = 'released' where id = $1", [
    ended,
    service.clock.now(),
  ]);
  return license.license_id;
}

/** The cells of a table whose content goes beyond them. */
const OVERFLOWING_CELLS = `[...document.querySelectorAll('.requests td')]
  .filter((cell) => [...cell.querySelectorAll('*')].some(
    (part) => part.getBoundingClientRect().right > cell.getBoundingClientRect().right + 1))
  .map(({ textContent }) => textContent)`;

/** The distance by which the widest table goes beyond the view, and by which the page scrolls sideways. */
const OVERFLOWS = `({
  page: document.documentElement.scrollWidth - document.documentElement.clientWidth,
  tables: Math.max(...[...document.querySelectorAll('table')].map(
    (table) => table.getBoundingClientRect().right - document.querySelector('main .flow').getBoundingClientRect().right)),
})`;

/** Returns how many lines each part of an address takes. An address may wrap between its parts. */
const linesOfParts = (page: Page, email: string) =>
  page
    .locator('.email-address', { hasText: email })
    .first()
    .evaluate((address) =>
      [...address.firstChild!.childNodes]
        .filter(({ nodeName }) => nodeName === '#text')
        .map((part) => {
          const range = part.ownerDocument!.createRange();
          range.selectNodeContents(part);
          return range.getClientRects().length;
        }),
    );

test('at any width no address, reason or ended machine makes a table wider than the view', async () => {
  const ids = await Promise.all([USUAL_ADDRESS, LONG_ADDRESS].map(insertLongTexts));
  // At this time the age of a request has its longest text.
  const page = await browser.openPage(origin, { now: '2026-11-20T13:59:30Z' });
  await openAs(page, origin, service, 'admin');
  for (const hash of ['#requests', ...ids.map((id) => `#license/${id}`)]) {
    await page.goto(`/support/${hash}`);
    await page.getByText('First line').first().waitFor();
    await page.evaluate("for (const details of document.querySelectorAll('details')) details.open = true");
    for (const width of [660, 700, 768, 1024, 1279, 1280, 1440, 1920]) {
      await page.setViewportSize({ width, height: 800 });
      expect([hash, width, await page.evaluate(OVERFLOWS)]).toEqual([hash, width, { page: 0, tables: 0 }]);
      expect([hash, width, await page.evaluate(OVERFLOWING_CELLS)]).toEqual([hash, width, []]);
    }
  }
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.goto('/support/#requests');
  expect(await linesOfParts(page, USUAL_ADDRESS)).toEqual([1, 1, 1, 1]);
  expect(await linesOfParts(page, LONG_ADDRESS)).toEqual([2, 1, 1, 1, 1, 1]);
  const reason = page.getByText('First line').first();
  const { height } = await boxOf(reason);
  // The reason keeps its three lines, each at least 20 pixels high.
  expect(height).toBeGreaterThan(3 * 20);
});

test('a printed view has no tabs, and nothing that can only be clicked or typed', async () => {
  const page = await openAs(browser, origin, service, 'admin', `#license/${licenseId}`);
  await row(page, 'Laptop').first().waitFor();
  const count = page.getByText('1 selected');
  await page
    .getByRole('checkbox', { name: /Laptop/ })
    .first()
    .check();
  await count.waitFor();
  await page.emulateMedia({ media: 'print' });
  await count.waitFor({ state: 'hidden' });
  const controls = page.locator('nav, .who, button, input, kbd').filter({ visible: true });
  expect(await controls.allInnerTexts()).toEqual([]);
  expect(await page.getByText('By keyboard:').filter({ visible: true }).count()).toBe(0);
  await row(page, 'Laptop').first().waitFor();
});
