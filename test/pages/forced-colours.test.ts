import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import type { Page } from 'playwright-core';
import type { Service } from '../support/harness.js';
import { Fleet } from '../telemetry/fleet-harness.js';
import { TestBrowser } from './browser.js';
import { openByKey } from './portal-browser.js';
import { startForBrowser } from './service.js';
import { activateMachine } from './steps.js';
import { openAs, row } from './support-browser.js';

let service: Service;
let origin: string;
beforeAll(async () => void ({ service, origin } = await startForBrowser()));
afterAll(() => service.close());
const browser = TestBrowser.startForFile();

/**
 * Returns the visible colours of the elements that match: those of backgrounds and borders, or of the fills and strokes of a
 * drawing, unless they are transparent or the colour of the page.
 */
const visibleColours = (
  selector: string,
) => `[...document.querySelectorAll(${JSON.stringify(selector)})].map((element) => {
  const style = getComputedStyle(element);
  const borders = parseFloat(style.borderTopWidth) > 0 ? [style.borderTopColor] : [];
  const backgrounds = [style.backgroundColor, style.backgroundImage];
  const colours = element instanceof SVGElement ? [style.fill, style.stroke] : [...backgrounds, ...borders];
  const invisible = ['none', getComputedStyle(document.body).backgroundColor];
  return colours.filter((colour) => !invisible.includes(colour) && !/^rgba.* 0\\)$/.test(colour)).join(' ');
})`;

/** Expects that in forced colours each of these elements differs from the page. @returns the colours of the first ones */
async function expectVisible(page: Page, selectors: readonly string[]): Promise<string[]> {
  const first: string[] = [];
  for (const selector of selectors) {
    const colours = (await page.evaluate(visibleColours(selector))) as string[];
    expect([selector, colours.length > 0, colours.includes('')]).toEqual([selector, true, false]);
    first.push(colours[0]!);
  }
  return first;
}

const inForcedColours = (page: Page, colorScheme: 'light' | 'dark') =>
  page.emulateMedia({ forcedColors: 'active', colorScheme });

test.each(['light', 'dark'] as const)(
  'in forced colours (%s) the used and the free places of a license are visible and differ',
  async (scheme) => {
    for (const [machines_allowed, used, free] of [
      [2, '.places > .used', '.places > .free'],
      [20, '.places.bar .used', '.places.bar .free'],
    ] as const) {
      const license = await service.issue({ email: `${randomUUID()}@example.com`, machines_allowed });
      await activateMachine(service, license, 'Studio Mac');
      const page = await browser.openPage(origin);
      await openByKey(page, origin, license);
      await inForcedColours(page, scheme);
      const [usedColours, freeColours] = await expectVisible(page, [used, free]);
      expect(usedColours).not.toBe(freeColours);
    }
  },
);

test('in forced colours the bars, marks and lines of the fleet view are visible', async () => {
  const fleet = await Fleet.of(service);
  const values = { app_version: '3.1.0', soc_name: 'Apple M4', recent_inference_ms: 9 };
  await fleet.receive('2026-11-04', 600, values);
  await fleet.receive('2026-11-11', 600, values);
  // More than the eight values that a chart shows, so that its last bar is the rest.
  for (let each = 0; each < 9; each += 1)
    await fleet.receive('2026-11-11', 300, { mac_model: `Mac${each},1` });
  const crash = { crash_sig: '0123456789abcdef', crash_label: 'ValueError', crash_app_version: '3.1.0' };
  await fleet.receive('2026-11-11', 5, crash);
  await fleet.runRetention('2026-11-16');
  const page = await browser.openPage(origin);
  await openAs(page, origin, service, 'support', '#fleet');
  await row(page, /^ValueError/).waitFor();
  for (const scheme of ['light', 'dark'] as const) {
    await inForcedColours(page, scheme);
    await expectVisible(page, ['.bar', '.bar.rest', '.mark', '.range', '.spark rect', '.sample line']);
  }
});
