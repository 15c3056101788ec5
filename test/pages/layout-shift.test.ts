import { expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import type { Locator, Page, Request, Route } from 'playwright-core';
import { ErasureService } from '../../src/erasure/erasure.service.js';
import { Fleet } from '../telemetry/fleet-harness.js';
import { publishVersions } from './fleet-publications.js';
import { headline, machineRow, openByKey } from './portal-browser.js';
import { startForBrowser } from './service.js';
import { activateMachine, expectFocus } from './steps.js';
import { createSignInLink, insertReleaseRequest, row, signInWithLink } from './support-browser.js';

/** The goal of `npm run bench:pages`. A layout shift of 0.1 is what most people notice. */
const MAX_SHIFT = 0.02;
const WIDTHS = [320, 1280];

/** Runs before the scripts of the page, and records what moves without an input. */
const RECORD_SHIFTS = `
  globalThis.layoutShifts = [];
  new PerformanceObserver((list) => {
    for (const { value, hadRecentInput, sources } of list.getEntries())
      if (!hadRecentInput) layoutShifts.push({ value, moved: sources.map(({ node }) => node?.outerHTML?.slice(0, 100)) });
  }).observe({ type: 'layout-shift', buffered: true });`;

/** Resolves when what is rendered now has been painted, and its layout shift was recorded. */
const PAINTED = `new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))`;

/**
 * Waits until what is rendered now has been painted. During a navigation Chromium may end the old document while the script runs in
 * it. The script is then run again, in the new document.
 */
async function waitForPaint(page: Page): Promise<void> {
  for (;;)
    try {
      return await page.evaluate(PAINTED);
    } catch (error) {
      if (!String(error).includes('Execution context was destroyed')) throw error;
    }
}

const { service, origin, browser } = await startForBrowser();
const license = await service.issue({ email: 'ada@example.com', machines_allowed: 2 });
// The search finds two licenses of this address, so it lists them.
const largeLicense = await service.issue({ email: 'ada@example.com', machines_allowed: 20 });
const activation = await activateMachine(service, license, 'Studio Mac');
await activateMachine(service, license, 'MacBook Air');
for (let each = 0; each < 12; each += 1) await activateMachine(service, largeLicense, `Render node ${each}`);
await insertReleaseRequest(service, activation, 'I sold it');
await service.app.get(ErasureService).request('other@example.com');
await fillFleet();

async function fillFleet(): Promise<void> {
  const fleet = await Fleet.of(service);
  await publishVersions(service);
  const values = { soc_name: 'Apple M4', mac_model: 'Mac16,1', recent_inference_ms: 9 };
  for (const day of ['2026-11-04', '2026-11-11'])
    await fleet.receive(day, 600, { app_version: '3.1.0', os_version: 'macOS 15.7', ...values });
  const crash = { crash_sig: '0123456789abcdef', crash_label: 'ValueError', crash_app_version: '3.1.0' };
  await fleet.receive('2026-11-11', 5, crash);
  await fleet.runRetention('2026-11-16');
}

/** Waits until a request is answered, or is cancelled because the page is left. */
const untilEnded = (page: Page, request: Request): Promise<unknown> =>
  Promise.race([
    page.waitForEvent('requestfinished', (each) => each === request),
    page.waitForEvent('requestfailed', (each) => each === request),
  ]);

/** Which of the waiting requests is answered next: the first one or the last one. */
type Order = 'first' | 'last';

/**
 * Delays each response, except documents and style sheets, until the page was painted without it. The responses (script files,
 * images, answers of the API) arrive one by one, in the order that `orderOf` returns. So neither the speed of the machine nor
 * chance decides what is painted.
 * @returns a function that waits until all requests are answered, and their answers are painted
 */
async function answerAfterPaint(page: Page, orderOf: () => Order): Promise<() => Promise<void>> {
  const waiting: Route[] = [];
  let answering: Promise<void> | undefined;
  const answer = async () => {
    while (waiting.length > 0) {
      await waitForPaint(page);
      const next = orderOf() === 'first' ? waiting.shift()! : waiting.pop()!;
      await Promise.all([untilEnded(page, next.request()), next.continue()]);
    }
    answering = undefined;
  };
  await page.addInitScript(RECORD_SHIFTS);
  await page.route('**/*', async (route) => {
    const type = route.request().resourceType();
    if (['document', 'stylesheet'].includes(type)) return route.continue();
    waiting.push(route);
    await (answering ??= answer());
  });
  return async () => {
    // What the page renders after the last answer, and the effects of that, may request more.
    for (let paints = 0; paints < 2;) {
      await waitForPaint(page);
      paints = answering ? 0 : paints + 1;
      await answering;
    }
  };
}

/** A width of the window, and an order of answers. */
type Loading = readonly [width: number, order: Order];

const LOADINGS: readonly Loading[] = WIDTHS.flatMap((width) => [
  [width, 'first'],
  [width, 'last'],
]);

/** Each width and each order once. The frame of the support page, which all views have, is loaded in all combinations. */
const LOADINGS_OF_VIEWS: readonly Loading[] = [
  [320, 'first'],
  [1280, 'last'],
];

/** Loads a page in each way, by default all, and expects that nothing moves until it is complete. */
async function expectStill(
  page: Page,
  path: string,
  expectComplete: () => Promise<unknown>,
  loadings = LOADINGS,
): Promise<void> {
  let order: Order = 'first';
  const untilAnswered = await answerAfterPaint(page, () => order);
  for (const [width, nextOrder] of loadings) {
    order = nextOrder;
    await page.goto('about:blank');
    await page.setViewportSize({ width, height: 800 });
    await page.goto(path);
    await expectComplete();
    await untilAnswered();
    await expectNoShift(page);
  }
}

async function expectNoShift(page: Page): Promise<void> {
  await waitForPaint(page);
  const shifts = (await page.evaluate('layoutShifts')) as { value: number }[];
  const total = shifts.reduce((sum, { value }) => sum + value, 0);
  expect(total < MAX_SHIFT ? [] : shifts).toEqual([]);
}

test('the portal does not move while it loads, signed out', async () => {
  const page = await browser.openPage(origin);
  await expectStill(page, '/portal/', () => page.getByLabel('License key').waitFor());
});

test.each([
  ['two machines', () => license, 'MacBook Air'],
  ['twelve machines and their filter', () => largeLicense, 'Render node 7'],
] as const)('the portal does not move while it loads, signed in with %s', async (_what, holder, machine) => {
  const page = await openByKey(browser, origin, holder());
  await expectStill(page, '/portal/', async () => {
    await headline(page).waitFor();
    await machineRow(page, machine).waitFor();
  });
});

test('the header of the portal is as high before the sign-in as after it', async () => {
  const holder = await service.issue({ email: 'ada.lovelace@university.example' });
  const page = await browser.openPage(origin);
  const heights = async () => {
    const all: number[] = [];
    for (const width of [320, 641, 700, 768, 1024, 1280]) {
      await page.setViewportSize({ width, height: 800 });
      all.push((await page.getByRole('banner').boundingBox())!.height);
    }
    return all;
  };
  await page.goto('/portal/');
  await page.getByLabel('License key').waitFor();
  const before = await heights();
  await openByKey(page, origin, holder);
  expect(await heights()).toEqual(before);
});

test('the privacy page does not move while it loads', async () => {
  const page = await browser.openPage(origin);
  await expectStill(page, '/privacy/', () => page.getByRole('table').first().waitFor());
});

/** Signs out while the service does not answer, by a script, because Chromium does not count what moves shortly after a click. */
async function expectStillWhenSignOutFails(page: Page, complete: readonly Locator[]): Promise<void> {
  await answerAfterPaint(page, () => 'first');
  await page.reload();
  // What appears later would be counted as moved by the sign-out.
  for (const part of complete) await part.waitFor();
  const signOut = page.getByRole('button', { name: 'Sign out' });
  await signOut.focus();
  await page.evaluate(`${PAINTED}.then(() => layoutShifts.splice(0))`);
  await page.route('**/api/session', (route) => route.abort());
  await signOut.dispatchEvent('click');
  await page.getByRole('alert').getByText('cannot be reached').waitFor();
  await page.locator('.working').waitFor({ state: 'detached' });
  expect(await page.evaluate(`${PAINTED}.then(() => layoutShifts)`)).toEqual([]);
  await expectFocus(signOut);
}

test('the portal does not move when a sign-out fails', async () => {
  const page = await openByKey(browser, origin, license);
  await expectStillWhenSignOutFails(page, [machineRow(page, 'MacBook Air')]);
});

/** Opens a page for an admin who has a passkey, so that the support page does not ask for one. */
async function openSupport(): Promise<Page> {
  const page = await browser.openPage(origin);
  const email = `${randomUUID()}@example.com`;
  await signInWithLink(page, origin, await createSignInLink(service, 'admin', email));
  await service.sql(
    `insert into passkey (id, staff_id, credential_id, public_key, sign_count, transports, created_at)
     select gen_random_uuid(), id, uuid_send(id), '\\x01', 0, '{}', $2 from staff where email = $1`,
    [email, service.clock.now()],
  );
  return page;
}

test('the support page does not move when a sign-out fails', async () => {
  const page = await openSupport();
  await page.goto('/support/');
  await page.getByRole('button', { name: 'Find' }).waitFor();
  const counts = ['Release requests 1 waits', 'Erasure requests 1 waits'];
  await expectStillWhenSignOutFails(
    page,
    counts.map((name) => page.getByRole('link', { name })),
  );
});

test.each<[view: string, hash: () => string, complete: (page: Page) => Promise<unknown>]>([
  ['search', () => 'find', (page) => page.getByRole('button', { name: 'Find' }).waitFor()],
  ['license', () => `license/${license.license_id}`, (page) => row(page, 'MacBook Air').waitFor()],
  ['release requests', () => 'requests', (page) => row(page, 'Studio Mac').waitFor()],
  ['erasure requests', () => 'erasures', (page) => page.getByText('other@example.com').first().waitFor()],
  ['audit trail', () => 'audit', (page) => page.getByRole('table').first().waitFor()],
  ['service', () => 'service', (page) => page.getByRole('table').first().waitFor()],
  ['fleet', () => 'fleet', (page) => row(page, /^ValueError/).waitFor()],
])('the support page does not move while it loads: %s', async (view, hash, complete) => {
  const page = await openSupport();
  const loadings = view === 'search' ? LOADINGS : LOADINGS_OF_VIEWS;
  await expectStill(page, `/support/#${hash()}`, () => complete(page), loadings);
});

test('the support page does not move when the search lists its results', async () => {
  const page = await openSupport();
  const untilAnswered = await answerAfterPaint(page, () => 'first');
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 800 });
    await page.goto('/support/#find');
    await untilAnswered();
    await page.reload();
    await untilAnswered();
    await page.getByRole('textbox').fill('ada@example.com');
    // A script submits the form, because Chromium does not count what moves shortly after a click.
    await page.evaluate(`document.querySelector('form').requestSubmit()`);
    await page.getByRole('row').filter({ hasText: '12 of 20 in use' }).waitFor();
    await expectNoShift(page);
  }
});
