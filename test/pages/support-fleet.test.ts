import { afterEach, expect, test } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import { until } from '../support/until.js';
import { Fleet } from '../telemetry/fleet-harness.js';
import { publishVersions } from './fleet-publications.js';
import { endRoute } from './routes.js';
import { startForBrowser } from './service.js';
import { expectText, nextFrame } from './steps.js';
import { button, openAs, openLoaded, row, title } from './support-browser.js';

const { service, origin, browser } = await startForBrowser();
const fleet = await Fleet.of(service);
await publishVersions(service);
afterEach(() => fleet.clear());

const section = (page: Page, name: string) => page.getByRole('region', { name, exact: true }).first();

const headline = (page: Page) => page.locator('.headline').textContent();
const rowHeader = (page: Page, name: string) => page.getByRole('rowheader', { name, exact: true });

/** Measures which part of its track a bar fills. */
async function measureFilledShare(item: Locator): Promise<number> {
  const [bar, track] = [await item.locator('.bar').boundingBox(), await item.locator('.track').boundingBox()];
  return bar!.width / track!.width;
}

test('the fleet view shows the telemetry counts as charts, each with a table', async () => {
  const m4 = { mac_model: 'Mac16,1', soc_name: 'Apple M4', ram_gb_bucket: '16' };
  const m1 = { mac_model: 'MacBookPro18,1', soc_name: 'Apple M1 Pro', ram_gb_bucket: '32' };
  const ane = { detector_compute: 'ane', detector_compute_units_resolved: 'ane' };
  const cpu = { detector_compute: 'ane', detector_compute_units_resolved: 'cpu' };
  await fleet.receive('2026-11-04', 900, {
    app_version: '3.1.0',
    os_version: 'macOS 15.7',
    ...m4,
    ...ane,
    recent_inference_ms: 9,
  });
  await fleet.receive('2026-11-04', 300, {
    app_version: '3.2.0',
    os_version: 'macOS 26.1',
    ...m1,
    ...cpu,
    recent_inference_ms: 30,
  });
  await fleet.receive('2026-11-11', 400, {
    app_version: '3.1.0',
    os_version: 'macOS 15.7',
    ...m4,
    ...ane,
    recent_inference_ms: 9,
  });
  await fleet.receive('2026-11-11', 600, {
    app_version: '3.2.0',
    os_version: 'macOS 26.1',
    ...m1,
    ...cpu,
    recent_inference_ms: 30,
  });
  await fleet.receive('2026-11-11', 290, { os_version: 'rare' });
  await fleet.receive('2026-11-11', 2, {
    crash_sig: '0123456789abcdef',
    crash_label: 'ValueError',
    crash_frame: 'app.run:12',
    crash_app_version: '3.1.0',
  });
  await fleet.runRetention('2026-11-16');

  const page = await openAs(browser, origin, service, 'support', '#fleet');
  await expectText(page, /The numbers are heartbeats; machines are only estimated/);
  expect(await headline(page)).toBe('46% on 3.2.0, 21 points more than the week before; about 46 machines.');
  await page
    .getByText(/^Week to 15 November 2026\. The number of machines that send telemetry is an estimate/)
    .waitFor();
  await page.getByRole('img', { name: /^Chart: share of each version/ }).waitFor();
  expect(await page.locator('.legend li').first().textContent()).toMatch(/^3\.2\.0 4\d%$/);
  await expectText(section(page, 'Chips'), 'Apple M4');
  await expectText(section(page, 'Detector compute'), 'ane → cpu');
  await expectText(section(page, 'Inference latency by chip'), 'p50 30 · p90 30 · p95 30 ms');
  await expectText(row(page, /^ValueError/), 'app.run:12');
  await expectText(row(page, /^ValueError/), 'Rising: last week 2, the week before 0');
  const chip = section(page, 'Chips').getByRole('listitem').filter({ hasText: 'Apple M1 Pro' });
  expect(await chip.locator('.share').textContent()).toBe('46%');
  // A bar fills its track if it has all 1,292 heartbeats of the week, not if it is the largest one.
  expect(await measureFilledShare(chip)).toBeCloseTo(600 / 1_292, 2);

  for (const summary of await page.locator('summary').all()) await summary.click();
  await until(async () => (await page.locator('.weeks').count()) === 8);
  const versions = page.getByRole('table', { name: 'Versions over time' });
  expect(
    await versions
      .getByRole('row')
      .filter({ has: rowHeader(page, '3.1.0') })
      .getByRole('cell')
      .allTextContents(),
  ).toEqual(['400', '900']);
  const published = versions.getByRole('row').filter({ has: rowHeader(page, 'Published in this week') });
  expect(await published.getByRole('cell').allTextContents()).toEqual(['3.2.0', '3.1.0']);
  await browser.expectAccessibleLayout(page);

  await page.getByLabel('Weeks').selectOption('4');
  await page.getByRole('img', { name: /^Chart: share of each version/ }).waitFor();
});

test('shares in whole percent add up to 100, and a value in use never has 0 %', async () => {
  const week = '2026-11-15';
  await service.sql('insert into fleet_week values ($1)', [week]);
  for (const [dimension, value, heartbeats] of [
    ['os_version', 'macOS 14.7', 1_000],
    ['os_version', 'macOS 15.6', 1_000],
    ['os_version', 'macOS 26.1', 1_000],
    ['ram_gb_bucket', '16', 99_600],
    ['ram_gb_bucket', '8', 400],
    ['app_version', '3.1.0', 400],
    ['app_version', '3.2.0', 99_600],
  ])
    await service.sql(
      'insert into fleet_cell (week_end, dimension, value, is_other, heartbeats) values ($1, $2, $3, false, $4)',
      [week, dimension, value, heartbeats],
    );
  const page = await openAs(browser, origin, service, 'support', '#fleet');
  const shares = section(page, 'macOS versions').locator('.share');
  await shares.first().waitFor();
  expect(await shares.allTextContents()).toEqual(['34%', '33%', '33%']);
  expect(await section(page, 'Memory').locator('.share').allTextContents()).toEqual(['100%', '< 1%']);
  expect(await page.locator('.legend li').allTextContents()).toEqual(['3.2.0 100%', '3.1.0 < 1%']);
});

test('models are shown with their names; an unknown identifier is shown unchanged', async () => {
  for (const mac_model of ['MacBookAir10,1', 'constructor', 'Mac99,9'])
    await fleet.receive('2026-11-11', 300, { mac_model });
  await fleet.runRetention('2026-11-16');
  const page = await openAs(browser, origin, service, 'support', '#fleet');
  const models = section(page, 'Models');
  const labels = models.getByRole('listitem').locator(':scope > span:first-child');
  await models.getByRole('listitem').first().waitFor();
  expect((await labels.allTextContents()).toSorted()).toEqual(
    ['MacBook Air (M1, 2020) MacBookAir10,1', 'constructor', 'Mac99,9'].toSorted(),
  );
  await models.locator('summary').click();
  await models.getByRole('rowheader', { name: 'MacBook Air (M1, 2020) MacBookAir10,1' }).waitFor();
});

test('the charts and the names of models are loaded only after sign-in and only with the fleet view', async () => {
  const page = await browser.openPage(origin);
  const bodies: Promise<string>[] = [];
  page.on('response', (response) => {
    if (new URL(response.url()).pathname.endsWith('.js')) bodies.push(response.text());
  });
  const loaded = async (text: string) => (await Promise.all(bodies)).some((body) => body.includes(text));
  await page.goto('/support/#fleet');
  await title(page, 'Sign in').waitFor();
  // The browser drops the bodies when the page is left.
  await Promise.all(bodies);
  await page.goto('about:blank');
  await openAs(page, origin, service, 'support', '#find');
  expect([bodies.length > 0, await loaded('uplot'), await loaded('MacBookAir10,1')]).toEqual([
    true,
    false,
    false,
  ]);
  await page.getByRole('link', { name: 'Fleet' }).click();
  await title(page, 'Fleet').waitFor();
  expect([await loaded('uplot'), await loaded('MacBookAir10,1')]).toEqual([true, true]);
});

test('the fleet view that is opened without a connection says so, and is shown when there is one again', async () => {
  // A response that arrives after the loss of the connection would tell the page that the connection is back.
  const page = await openLoaded(browser, origin, service, 'support', '#find');
  await title(page, /^Find a license/).waitFor();
  await nextFrame(page);
  const search = page.getByRole('search').getByRole('textbox');
  await search.fill('half typed');
  await browser.goOffline(page);
  await page.getByRole('link', { name: 'Fleet' }).click();
  await title(page, 'Fleet').and(page.locator(':focus')).waitFor();
  const offline = page.getByText('You are offline. Nothing is lost');
  await offline.waitFor();
  // Without a connection the button does not load the page again.
  await Promise.all([page.waitForEvent('requestfailed'), button(page, 'Try again').click()]);
  await button(page, 'Try again').and(page.locator('[aria-busy=false]')).waitFor();
  await offline.waitFor();

  await page.context().setOffline(false);
  // This person has no passkey, so the page offers one again.
  await button(page, 'Later').click();
  await expectText(page, /^No week is counted yet/);
  expect(page.url()).toBe(`${origin}/support/#fleet`);
  // The page was loaded again. It has kept the text that was typed in the search, and removed it from the storage of the browser.
  expect(await page.evaluate('sessionStorage.length')).toBe(0);
  await page.getByRole('link', { name: 'Find', exact: true }).click();
  await search.waitFor();
  expect(await search.inputValue()).toBe('half typed');
});

test('after the modules of the fleet view could not be loaded, the button loads them again, and a message is shown while no week is counted', async () => {
  const page = await openAs(browser, origin, service, 'support', '#find');
  await page.route('**/*fleet-view*', (route) => route.abort());
  await page.getByRole('link', { name: 'Fleet' }).click();
  await expectText(page.getByRole('alert'), 'The service cannot be reached just now.');
  await endRoute(page);
  await button(page, 'Try again').click();
  await button(page, 'Later').click();
  await expectText(page, /^No week is counted yet/);
  await browser.expectAccessibleLayout(page);
});
