import { afterEach, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { until } from '../support/until.js';
import { Fleet } from '../telemetry/fleet-harness.js';
import { publishVersions } from './fleet-publications.js';
import { focusWindow } from './portal-browser.js';
import { startForBrowser } from './service.js';
import { expectText } from './steps.js';
import { openAs, title } from './support-browser.js';

const { service, origin, browser } = await startForBrowser();
const fleet = await Fleet.of(service);
await publishVersions(service);
afterEach(() => fleet.clear());

const headline = (page: Page) => page.locator('.headline').textContent();

/** A response with the heartbeats of each version by week, newest first; `other` is for small cells, `null` for no version. */
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

test('the headline describes each kind of week', async () => {
  // The page estimates one machine for each 28 heartbeats of a week.
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
      fleetAnswer({ '3.1.0': 99_700, '3.2.0': 300 }, { '3.1.0': 99_700, other: 300 }),
      '< 1% on 3.2.0, which had too few heartbeats to be shown the week before; about 3,600 machines.',
    ],
    // The live version is 3.2.0, and `3.2` is the same version (docs/contract.md#versions).
    [
      fleetAnswer({ '3.2': 8_000, '3.1.0': 2_000 }, { '3.2': 3_000, '3.2.0': 2_000, '3.1.0': 5_000 }),
      '80% on 3.2.0, 30 points more than the week before; about 360 machines.',
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
  const page = await browser.openPage(origin);
  let answer = fleetAnswer({});
  await page.route(/\/api\/fleet\?/, (route) => route.fulfill({ json: answer }));
  await openAs(page, origin, service, 'support');
  for (const [given, expected] of cases) {
    answer = given;
    await page.goto('/support/#find');
    await title(page, 'Find a license').waitFor();
    await page.goto('/support/#fleet');
    await page.locator('.headline').waitFor();
    expect(await headline(page)).toBe(expected);
    const isLiveMissing = /^(36%|No version)/.test(expected);
    const notShown = '3.2.0, published on 10 November 2026, has too few heartbeats to be shown yet.';
    expect(await page.getByText(notShown).count()).toBe(isLiveMissing ? 1 : 0);
  }
});

test('the chart has a scale from 0 to 100 % and marks publications, which buttons select, also in forced colours', async () => {
  await fleet.receive('2026-11-04', 600, { app_version: '3.1.0' });
  await fleet.receive('2026-11-11', 600, { app_version: '3.1.0' });
  await fleet.receive('2026-11-11', 300, { app_version: '3.2.0', soc_name: 'Apple M4' });
  await fleet.runRetention('2026-11-16');
  const page = await browser.openPage(origin);
  // Records each text that a canvas shows, with its colour.
  await page.addInitScript({
    content: `globalThis.texts = [];
      const { fillText } = CanvasRenderingContext2D.prototype;
      CanvasRenderingContext2D.prototype.fillText = function (text, ...position) {
        texts.push(text + ' ' + this.fillStyle);
        fillText.call(this, text, ...position);
      };`,
  });
  const waitForText = (pattern: RegExp) =>
    until(async () => {
      const texts = (await page.evaluate('texts')) as string[];
      return texts.some((text) => pattern.test(text));
    });
  await openAs(page, origin, service, 'support', '#fleet');
  for (const text of ['0%', '25%', '50%', '75%', '100%', '3.1.0', '3.2.0'])
    await waitForText(new RegExp(`^${text} `));
  expect((await page.evaluate('texts')) as string[]).not.toContainEqual(expect.stringMatching(/^3\.0\.0 /));

  const marks = page.getByRole('group', { name: 'Published' }).getByRole('button');
  expect(await marks.allTextContents()).toEqual(['3.2.0, 10 Nov', '3.1.0, 3 Nov']);
  const legend = page.locator('figcaption');
  await expectText(legend, 'Week to 15 November 2026');
  await marks.last().focus();
  await page.keyboard.press('Enter');
  await expectText(legend, 'Week to 8 November 2026');
  expect(await marks.last().getAttribute('aria-pressed')).toBe('true');
  await browser.expectAccessibleLayout(page);
  await page.keyboard.press('Enter');
  await expectText(legend, 'Week to 15 November 2026');

  await page.emulateMedia({ forcedColors: 'active', colorScheme: 'light' });
  await waitForText(/^3\.2\.0 #000000$/);
  const styles = await page.evaluate(`(() => {
    const track = document.querySelector('.bars .track');
    const background = (element) => getComputedStyle(element).backgroundColor;
    return [background(track.querySelector('.bar')), background(document.body), getComputedStyle(track).outlineStyle];
  })()`);
  expect(styles).toEqual(['rgb(0, 0, 0)', 'rgb(255, 255, 255)', 'solid']);
});

test('of two publications of one day only the chosen one is selected, also after a further week was counted', async () => {
  const all = {
    ...fleetAnswer({ '3.1.1': 900 }, { '3.1.1': 800 }, { '3.1.1': 700 }, { '3.1.1': 600 }),
    publications: ['3.1.1', '3.1.0'].map((version, index) => ({
      version,
      published_at: `2026-10-28T1${5 - index}:00:00Z`,
      withdrawal: false,
    })),
  };
  let shown = { ...all, weeks: all.weeks.slice(1) };
  const page = await browser.openPage(origin);
  await page.route(/\/api\/fleet\?/, (route) => route.fulfill({ json: shown }));
  // Records the labels that the chart draws in bold.
  await page.addInitScript({
    content: `globalThis.boldTexts = [];
      const { fillText } = CanvasRenderingContext2D.prototype;
      CanvasRenderingContext2D.prototype.fillText = function (text, ...position) {
        if (/bold|700/.test(this.font)) boldTexts.push(text);
        fillText.call(this, text, ...position);
      };`,
  });
  await openAs(page, origin, service, 'support', '#fleet');
  const mark = (name: string, pressed: boolean) =>
    page.getByRole('group', { name: 'Published' }).getByRole('button', { name, pressed });
  const expectOldSelected = async () => {
    await mark('3.1.0, 28 Oct', true).waitFor();
    await mark('3.1.1, 28 Oct', false).waitFor();
    await expectText(page.locator('figcaption'), 'Week to 1 November 2026');
  };
  await mark('3.1.0, 28 Oct', false).click();
  await expectOldSelected();
  await until(async () => ((await page.evaluate('boldTexts')) as string[]).length > 0);
  expect(new Set((await page.evaluate('boldTexts')) as string[])).toEqual(new Set(['3.1.0']));

  shown = { ...all, weeks: all.weeks.slice(0, -1) };
  await focusWindow(page);
  await expectText(page.locator('section', { hasText: 'macOS versions' }), /^Week to 15 November/);
  await expectOldSelected();
});
