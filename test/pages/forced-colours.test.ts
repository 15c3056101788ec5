import { expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import type { Page } from 'playwright-core';
import { Fleet } from '../telemetry/fleet-harness.js';
import { openByKey } from './portal-browser.js';
import { startForBrowser } from './service.js';
import { activateMachine } from './steps.js';
import { button, dialog, insertReleaseRequest, openAs, row } from './support-browser.js';

const { service, origin, browser } = await startForBrowser();
const license = await service.issue({ email: 'asking@example.com', machines_allowed: 2 });
for (const label of ['Studio Mac', 'MacBook Air'])
  await insertReleaseRequest(service, await activateMachine(service, license, label), 'Sold');

/**
 * Returns a script that lists the visible colours of each element that matches: those of backgrounds and borders, or of the fills
 * and strokes of a drawing, unless they are transparent or the colour of the page.
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

test('in forced colours the used and the free places of a license are visible and differ', async () => {
  for (const [machines_allowed, used, free] of [
    [2, '.places > .used', '.places > .free'],
    [20, '.places.bar .used', '.places.bar .free'],
  ] as const) {
    const license = await service.issue({ email: `${randomUUID()}@example.com`, machines_allowed });
    await activateMachine(service, license, 'Studio Mac');
    const page = await openByKey(browser, origin, license);
    for (const scheme of ['light', 'dark'] as const) {
      await inForcedColours(page, scheme);
      const [usedColours, freeColours] = await expectVisible(page, [used, free]);
      expect(usedColours).not.toBe(freeColours);
      const textColour = await page.evaluate('getComputedStyle(document.body).color');
      // Each colour begins with `rgb`.
      expect(usedColours!.split(/ (?=r)/)).toContain(textColour);
    }
  }
});

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
  const page = await openAs(browser, origin, service, 'support', '#fleet');
  await row(page, /^ValueError/).waitFor();
  for (const scheme of ['light', 'dark'] as const) {
    await inForcedColours(page, scheme);
    await expectVisible(page, ['.bar', '.bar.rest', '.mark', '.range', '.spark rect', '.sample line']);
  }
});

/** A script that describes the focused element, its outline, and whether the focus has returned to it. */
const FOCUSED = `(() => {
  const element = document.activeElement;
  const { outlineStyle, outlineWidth, outlineColor } = getComputedStyle(element);
  const isFramed = outlineStyle !== 'none' && parseFloat(outlineWidth) >= 2;
  const { seen, latest } = (window.focused ??= { seen: new Set() });
  // Tab stops at each part of a date field. The focused element stays the same, and the browser shows the focus of the part.
  const isPart = element === latest;
  const hasReturned = seen.has(element) && !isPart;
  focused.latest = element;
  seen.add(element);
  return {
    kind: element.type || element.localName,
    isVisible: isPart || (isFramed && outlineColor !== getComputedStyle(document.body).backgroundColor),
    hasReturned,
  };
})()`;

interface Focused {
  /** The type of a field or button, or the name of the element. */
  readonly kind: string;
  readonly isVisible: boolean;
  readonly hasReturned: boolean;
}

/** Presses Tab until the focus returns to an element, and expects that each control shows it. @returns the kinds of controls */
async function expectVisibleFocus(page: Page): Promise<Set<string>> {
  const kinds = new Set<string>();
  for (;;) {
    await page.keyboard.press('Tab');
    const focused = (await page.evaluate(FOCUSED)) as Focused;
    if (focused.hasReturned) return kinds;
    // Between the last control and the first one, the focus is on the page or the dialog.
    if (['body', 'dialog'].includes(focused.kind)) continue;
    expect(focused).toEqual({ ...focused, isVisible: true });
    kinds.add(focused.kind);
  }
}

/** Opens the portal with more machines than a page shows without a filter. */
async function openPortal(page: Page): Promise<void> {
  const license = await service.issue({ email: `${randomUUID()}@example.com`, machines_allowed: 11 });
  for (let each = 0; each < 11; each += 1) await activateMachine(service, license, `Node ${each}`);
  await openByKey(page, origin, license);
}

async function openPrivacy(page: Page): Promise<void> {
  await page.goto('/privacy/');
  await page.getByRole('table').first().waitFor();
}

async function openRequests(page: Page): Promise<void> {
  await openAs(page, origin, service, 'admin', '#requests');
  await row(page, 'Studio Mac').waitFor();
}

async function openReleaseDialog(page: Page): Promise<void> {
  await openRequests(page);
  await button(page, 'Release Studio Mac, as asked').click();
  // A chosen reason has a background, which must differ from the focus.
  await button(dialog(page), 'Sold').click();
}

async function openAudit(page: Page): Promise<void> {
  await openAs(page, origin, service, 'admin', '#audit');
  await page.getByRole('table').waitFor();
}

test.each<[name: string, open: (page: Page) => Promise<void>, kinds: readonly string[]]>([
  ['portal', openPortal, ['a', 'button', 'search', 'select-one', 'time']],
  ['privacy page', openPrivacy, ['a', 'select-one', 'summary']],
  ['queue of support', openRequests, ['a', 'button', 'checkbox', 'time']],
  ['dialog of support', openReleaseDialog, ['button', 'submit', 'textarea', 'time']],
  ['filters of support', openAudit, ['a', 'button', 'date', 'select-one', 'submit', 'time']],
])('in forced colours each kind of control shows the focus: %s', async (_name, open, kinds) => {
  const page = await browser.openPage(origin);
  await open(page);
  await inForcedColours(page, 'dark');
  expect([...(await expectVisibleFocus(page))].toSorted()).toEqual(kinds);
});

test('in forced colours the current tab and the chosen reason differ from the others', async () => {
  const page = await browser.openPage(origin);
  await openReleaseDialog(page);
  for (const scheme of ['light', 'dark'] as const) {
    await inForcedColours(page, scheme);
    const underlined = `[...document.querySelectorAll('header :is(a, button)')].filter((control) =>
      getComputedStyle(control).borderBottomColor !== getComputedStyle(document.body).backgroundColor)
      .map((control) => control.getAttribute('aria-current'))`;
    expect(await page.evaluate(underlined)).toEqual(['page']);
    const filled = `[...document.querySelectorAll('.choice')].filter((choice) =>
      getComputedStyle(choice).backgroundColor !== getComputedStyle(document.querySelector('dialog .button')).backgroundColor)
      .map((choice) => choice.textContent)`;
    expect(await page.evaluate(filled)).toEqual(['Sold']);
  }
});
