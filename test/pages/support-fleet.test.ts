import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import { until } from '../erasure/harness.js';
import { publish } from '../manifest/publish.js';
import { Fleet } from '../telemetry/fleet-harness.js';
import type { Service } from '../support/harness.js';
import { Pages } from './browser.js';
import { startForBrowser } from './service.js';
import { button, dialog, openAs, row, submitReason, title } from './support-browser.js';

/** Before the shown weeks, in the first one and in the second one. */
const PUBLICATIONS = [
  ['2026-10-30', '3.0.0'],
  ['2026-11-03', '3.1.0'],
  ['2026-11-10', '3.2.0'],
] as const;

let service: Service;
let origin: string;
let fleet: Fleet;
beforeAll(async () => {
  ({ service, origin } = await startForBrowser());
  fleet = await Fleet.of(service);
  const now = service.clock.now();
  for (const [day, version] of PUBLICATIONS) {
    service.clock.set(`${day}T10:00:00Z`);
    await publish(service, version);
  }
  service.clock.set(now);
});
afterEach(() => fleet.clear());
afterAll(() => service.close());
const browser = Pages.forThisFile();

const section = (page: Page, name: string) => page.getByRole('region', { name, exact: true }).first();

const headline = (page: Page) => page.locator('.headline').textContent();
const rowHeader = (page: Page, name: string) => page.getByRole('rowheader', { name, exact: true });

/** The part of a track that its bar fills. */
async function filledShare(item: Locator): Promise<number> {
  const [bar, track] = [await item.locator('.bar').boundingBox(), await item.locator('.track').boundingBox()];
  return bar!.width / track!.width;
}

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
  expect(await headline(page)).toBe('46% on 3.2.0, 21 points more than the week before; about 46 machines.');
  await page.getByText(/^Week to 15 November 2026\. The number of machines is an estimate/).waitFor();
  await page.getByRole('img', { name: /^Chart: share of each version/ }).waitFor();
  expect(await page.locator('.legend li').first().textContent()).toMatch(/^3\.2\.0 4\d%$/);
  await section(page, 'Chips').getByText('Apple M4').waitFor();
  await section(page, 'Detector compute').getByText('ane → cpu').waitFor();
  await section(page, 'Inference latency by chip').getByText('p50 30 · p90 30 · p95 30 ms').waitFor();
  await row(page, /^ValueError/)
    .getByText('app.run:12')
    .waitFor();
  await row(page, /^ValueError/)
    .getByText('Rising: last week 2, the week before 0')
    .waitFor();
  const chip = section(page, 'Chips').getByRole('listitem').filter({ hasText: 'Apple M1 Pro' });
  expect(await chip.locator('.share').textContent()).toBe('46%');
  // The whole is the track, not the largest bar.
  expect(await filledShare(chip)).toBeCloseTo(600 / 1_292, 2);
  await browser.expectAccessibleLayout(page);

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

/** The answer of the service with these counts of versions by week, newest first. */
const fleetAnswer = (...weeks: readonly Record<string, number>[]) => ({
  threshold: 280,
  publications: [
    { version: '3.2.0', published_at: '2026-11-10T10:00:00Z', withdrawal: false },
    { version: '3.1.0', published_at: '2026-11-03T10:00:00Z', withdrawal: false },
  ],
  weeks: weeks.map((counts, index) => ({
    week_end: new Date(Date.UTC(2026, 10, 15 - 7 * index)).toISOString().slice(0, 10),
    app_version: Object.entries(counts).map(([value, heartbeats]) =>
      value === 'other'
        ? { other: true, heartbeats }
        : { value: value === 'null' ? null : value, heartbeats },
    ),
    os_version: [],
    hardware: [],
    ram_gb_bucket: [],
    detector_compute: [],
    latency: [],
  })),
});

test('the headline fits each kind of week', async () => {
  const cases: readonly [answer: ReturnType<typeof fleetAnswer>, expected: string][] = [
    [
      fleetAnswer({ '3.2.0': 99_000, '3.1.0': 18_600 }, { '3.2.0': 73_000, '3.1.0': 27_000 }),
      '84% on 3.2.0, 11 points more than the week before; about 4,200 machines.',
    ],
    [
      fleetAnswer({ '3.2.0': 5_000, '3.1.0': 5_000 }, { '3.2.0': 5_100, '3.1.0': 4_900 }),
      '50% on 3.2.0, 1 point fewer than the week before; about 360 machines.',
    ],
    [
      fleetAnswer({ '3.2.0': 5_000, '3.1.0': 5_000 }, { '3.2.0': 500, '3.1.0': 500 }),
      '50% on 3.2.0, as in the week before; about 360 machines.',
    ],
    [fleetAnswer({ '3.2.0': 5_000, '3.1.0': 5_000 }), '50% on 3.2.0; about 360 machines.'],
    [fleetAnswer({ '3.2.0': 5_000, '3.1.0': 5_000 }, {}), '50% on 3.2.0; about 360 machines.'],
    [
      fleetAnswer({ '3.1.0': 8_000, '3.2.0': 2_000 }, { '3.1.0': 9_000, other: 300 }),
      '20% on 3.2.0, which had too few heartbeats to be shown the week before; about 360 machines.',
    ],
    [
      fleetAnswer({ null: 6_000, '3.1.0': 3_600, other: 400 }, { '3.1.0': 10_000 }),
      '36% on 3.1.0, 64 points fewer than the week before; about 360 machines.',
    ],
    [
      fleetAnswer({ null: 600, other: 400 }, { '3.1.0': 10_000 }),
      'No version has enough heartbeats to be shown; about 36 machines.',
    ],
    [
      fleetAnswer({}, { '3.1.0': 10_000 }),
      'In the week to 15 November 2026 there were fewer than 280 heartbeats: too few to show any share.',
    ],
  ];
  const page = await browser.page(origin);
  let answer = fleetAnswer({});
  await page.route(/\/api\/fleet\?/, (route) => route.fulfill({ json: answer }));
  await openAs(page, origin, service, 'support');
  for (const [given, expected] of cases) {
    answer = given;
    await page.goto('/support/#find');
    await page.goto('/support/#fleet');
    await page.locator('.headline').waitFor();
    expect(await headline(page)).toBe(expected);
    const isLiveMissing = /^(36%|No version)/.test(expected);
    const notShown = '3.2.0, published on 10 November 2026, has too few heartbeats to be shown yet.';
    expect(await page.getByText(notShown).count()).toBe(isLiveMissing ? 1 : 0);
  }
  await browser.expectAccessibleLayout(page);
});

test('the chart has a scale from 0 to 100 % and marks publications, which buttons select, also in forced colours', async () => {
  await fleet.receive('2026-11-04', 600, { app_version: '3.1.0' });
  await fleet.receive('2026-11-11', 600, { app_version: '3.1.0' });
  await fleet.receive('2026-11-11', 300, { app_version: '3.2.0', soc_name: 'Apple M4' });
  await fleet.runRetention('2026-11-16');
  const page = await browser.page(origin);
  // Records each text that a canvas shows, with its colour.
  await page.addInitScript({
    content: `globalThis.texts = [];
      const { fillText } = CanvasRenderingContext2D.prototype;
      CanvasRenderingContext2D.prototype.fillText = function (text, ...place) {
        texts.push(text + ' ' + this.fillStyle);
        fillText.call(this, text, ...place);
      };`,
  });
  const drawn = (pattern: RegExp) =>
    until(async () => {
      const texts = (await page.evaluate('texts')) as string[];
      return texts.some((text) => pattern.test(text));
    });
  await openAs(page, origin, service, 'support', '#fleet');
  for (const text of ['0%', '25%', '50%', '75%', '100%', '3.1.0', '3.2.0'])
    await drawn(new RegExp(`^${text} `));
  expect((await page.evaluate('texts')) as string[]).not.toContainEqual(expect.stringMatching(/^3\.0\.0 /));

  const marks = page.getByRole('group', { name: 'Published' }).getByRole('button');
  expect(await marks.allTextContents()).toEqual(['3.2.0, 10 Nov', '3.1.0, 3 Nov']);
  const legend = page.locator('figcaption');
  await legend.getByText('Week to 15 November 2026').waitFor();
  await marks.last().focus();
  await page.keyboard.press('Enter');
  await legend.getByText('Week to 8 November 2026').waitFor();
  expect(await marks.last().getAttribute('aria-pressed')).toBe('true');
  await browser.expectAccessibleLayout(page);
  await page.keyboard.press('Enter');
  await legend.getByText('Week to 15 November 2026').waitFor();

  await page.emulateMedia({ forcedColors: 'active', colorScheme: 'light' });
  await drawn(/^3\.2\.0 #000000$/);
  const track = section(page, 'Chips').locator('.track').first();
  const styles = await track.evaluate(`(track) => {
    const background = (element) => getComputedStyle(element).backgroundColor;
    return [background(track.querySelector('.bar')), background(document.body), getComputedStyle(track).outlineStyle];
  }`);
  expect(styles).toEqual(['rgb(0, 0, 0)', 'rgb(255, 255, 255)', 'solid']);
});

test('models are shown with their names; an unknown identifier is shown as it is', async () => {
  const hostile = `\u202e<img src=x onerror=alert(1)>😀${'W'.repeat(80)}`;
  for (const mac_model of ['MacBookAir10,1', 'constructor', 'Mac99,9', hostile])
    await fleet.receive('2026-11-11', 300, { mac_model });
  await fleet.runRetention('2026-11-16');
  const page = await browser.page(origin);
  await openAs(page, origin, service, 'support', '#fleet');
  const models = section(page, 'Models');
  const labels = models.getByRole('listitem').locator(':scope > span:first-child');
  await models.getByRole('listitem').first().waitFor();
  expect((await labels.allTextContents()).toSorted()).toEqual(
    ['MacBook Air (M1, 2020) MacBookAir10,1', 'constructor', 'Mac99,9', hostile].toSorted(),
  );
  await models.locator('summary').click();
  await models.getByRole('rowheader', { name: 'MacBook Air (M1, 2020) MacBookAir10,1' }).waitFor();
  await browser.expectAccessibleLayout(page);
});

test('the charts and the names of models are loaded only after sign-in and only with the fleet view', async () => {
  const page = await browser.page(origin);
  const bodies: Promise<string>[] = [];
  page.on('response', (response) => {
    if (new URL(response.url()).pathname.endsWith('.js')) bodies.push(response.text());
  });
  const loaded = async (text: string) => (await Promise.all(bodies)).some((body) => body.includes(text));
  await page.goto('/support/#fleet');
  await title(page, 'Sign in').waitFor();
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

const SIG = '0123456789abcdef';
const crash = (crash_sig: string, crash_label: string, crash_app_version: string) =>
  fleet.receive('2026-11-11', 3, { crash_sig, crash_label, crash_app_version });
const filter = (page: Page, state: string) => page.getByLabel('State', { exact: true }).selectOption(state);

test('a crash group is resolved, muted and reopened, and the filter has the groups of each state', async () => {
  const hostile = `<b>\u202e😀</b>${'W'.repeat(100)}`;
  await crash(SIG, 'ValueError', '3.1.0');
  await crash('f'.repeat(16), hostile, '3.0.0');
  await fleet.runRetention('2026-11-16');
  const page = await browser.page(origin);
  await openAs(page, origin, service, 'support', '#fleet');

  await button(page, 'Resolve … ValueError').click();
  const version = dialog(page).getByLabel('Resolved in version');
  await dialog(page)
    .getByText(/^The first version without the crash, .* newer than 3\.1\.0/)
    .waitFor();
  await version.fill('the next');
  await button(dialog(page), 'Fixed').click();
  await button(dialog(page), 'Resolve').click();
  await dialog(page).getByText('One to four numbers with dots, such as 3.2.1.').waitFor();
  await version.fill('3.1.0');
  await button(dialog(page), 'Resolve').click();
  await dialog(page)
    .getByText('It must be newer than the last version in which the group crashed.')
    .waitFor();
  await browser.expectAccessible(page);
  await version.fill('3.2.0');
  await button(dialog(page), 'Resolve').click();
  await page.getByText('Resolved: ValueError.').first().waitFor();
  await row(page, /^ValueError/).waitFor({ state: 'detached' });

  // The next group has the focus. From it, the keyboard mutes the group.
  const hasFocus = `document.activeElement.id === 'row-${'f'.repeat(16)}'`;
  await until(async () => (await page.evaluate(hasFocus)) === true);
  await page.keyboard.press('Tab');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await dialog(page).getByText(hostile).waitFor();
  await browser.expectAccessibleLayout(page);
  await submitReason(page, 'Not our code', 'Mute');
  await page.getByText('No open crash group in these weeks.').waitFor();

  await filter(page, 'resolved');
  await row(page, /^ValueError/)
    .getByText('Resolved in 3.2.0')
    .waitFor();
  await row(page, /^ValueError/)
    .getByText('support@example.com')
    .waitFor();
  await filter(page, 'muted');
  await button(page, `Reopen … ${hostile}`).click();
  await submitReason(page, 'Set by mistake', 'Reopen');
  await page.getByText('No muted crash group in these weeks.').waitFor();

  await service.sql(
    `insert into crash_week (week_end, crash_sig, app_version, crashes) values ('2026-11-15', $1, '3.2.0+9', 1)`,
    [SIG],
  );
  await filter(page, 'open');
  const reopened = row(page, /^ValueError/);
  await reopened.getByText('Reopened', { exact: true }).waitFor();
  await reopened.getByText('3.1.0 – 3.2.0+9').waitFor();
  await reopened.getByText('It was resolved in 3.2.0, and crashed in that version or a later one.').waitFor();
  await browser.expectAccessibleLayout(page);

  await page.getByRole('link', { name: 'Audit trail' }).click();
  await page.getByText(`state: open → resolved, group: ${SIG}, resolved in: None → 3.2.0`).waitFor();
});

test('a change of a crash group that another person has changed meanwhile is refused', async () => {
  await crash(SIG, 'ValueError', '3.1.0');
  await fleet.runRetention('2026-11-16');
  const page = await browser.page(origin);
  await openAs(page, origin, service, 'support', '#fleet');
  await button(page, 'Mute … ValueError').click();
  await fleet.changeCrashGroup(SIG, { state: 'resolved', resolved_in: '3.2.0' });
  await dialog(page).locator('[name=reason]').fill('Not our code');
  await button(dialog(page), 'Mute').click();
  await dialog(page)
    .getByText(/^Another person has changed the state of this crash group meanwhile/)
    .waitFor();
  await button(dialog(page), 'Cancel').click();
  await page.getByText('No open crash group in these weeks.').waitFor();
  await filter(page, 'resolved');
  await row(page, /^ValueError/)
    .getByText('Resolved in 3.2.0')
    .waitFor();
});
