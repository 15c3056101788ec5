import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { until } from '../erasure/harness.js';
import { Fleet } from '../telemetry/fleet-harness.js';
import type { Service } from '../support/harness.js';
import { Pages } from './browser.js';
import { startForBrowser } from './service.js';
import { button, openAs, row, title } from './support-browser.js';

let service: Service;
let origin: string;
let fleet: Fleet;
beforeAll(async () => {
  ({ service, origin } = await startForBrowser());
  fleet = await Fleet.of(service);
});
afterEach(() => fleet.clear());
afterAll(() => service.close());
const browser = Pages.forThisFile();

const section = (page: Awaited<ReturnType<Pages['page']>>, name: string) =>
  page.getByRole('region', { name, exact: true }).first();

test('the fleet view shows a message while no week is counted yet', async () => {
  const page = await browser.page(origin);
  await openAs(page, origin, service, 'support', '#fleet');
  await title(page, 'Fleet').waitFor();
  await page.getByText(/^No week is counted yet/).waitFor();
  await browser.expectAccessibleLayout(page);
});

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

  const page = await browser.page(origin);
  await openAs(page, origin, service, 'support', '#fleet');
  await page.getByText(/Numbers are heartbeats, never machines/).waitFor();
  await page.getByRole('img', { name: /^Chart: share of each version/ }).waitFor();
  expect(await page.locator('.legend li').first().textContent()).toMatch(/^3\.2\.0 4\d%$/);
  await section(page, 'Chips').getByText('Apple M4').waitFor();
  await section(page, 'Detector compute').getByText('ane → cpu').waitFor();
  await section(page, 'Inference latency by chip').getByText('p50 30 · p90 30 · p95 30 ms').waitFor();
  await row(page, /^ValueError/)
    .getByText('app.run:12')
    .waitFor();
  await row(page, /^ValueError/)
    .getByText('Last week 2, the week before 0')
    .waitFor({ state: 'attached' });
  await browser.expectAccessibleLayout(page);

  for (const summary of await page.locator('summary').all()) await summary.click();
  await until(async () => (await page.locator('.weeks').count()) === 8);
  const versions = page.getByRole('table', { name: 'Versions over time' });
  expect(
    await versions.getByRole('row').filter({ hasText: '3.1.0' }).getByRole('cell').allTextContents(),
  ).toEqual(['400', '900']);
  await browser.expectAccessibleLayout(page);

  await page.getByLabel('Weeks').selectOption('4');
  await page.getByRole('img', { name: /^Chart: share of each version/ }).waitFor();
});

test('of 200 crash groups the largest are shown, and all on request; a hostile label is shown as text', async () => {
  await fleet.receive('2026-11-11', 5, {
    crash_sig: 'ffffffffffffffff',
    crash_label: `<img src=x onerror=alert(1)>${'W'.repeat(80)}`,
    crash_frame: `a.${'x'.repeat(110)}:1`,
  });
  // The service answers with at most 200 groups.
  await service.sql(
    `insert into telemetry_inbox (id, received_on, crash_sig)
     select gen_random_uuid(), '2026-11-11', lpad(to_hex(n), 16, '0') from generate_series(1, 250) n`,
  );
  await fleet.runRetention('2026-11-16');
  const page = await browser.page(origin);
  await openAs(page, origin, service, 'support', '#fleet');
  await page.getByText('200 groups, the most frequent first').waitFor();
  await row(page, /^<img src=x onerror=alert\(1\)>W+/).waitFor();
  await browser.expectAccessibleLayout(page);
  await button(page, 'Show all 200').click();
  expect(await page.getByRole('rowheader').count()).toBe(200);
});
