import { expect } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import { until } from '../support/until.js';
import type { Service } from '../support/harness.js';

/** What a holder types to activate a machine, and to sign in to the portal. */
export interface HolderCredentials {
  readonly email: string;
  readonly license_key: string;
}

/**
 * Waits until a live region has a text, which screen readers then announce: that of a dialog, or that of the page if no dialog is
 * open, because they ignore what is outside an open dialog.
 */
export const expectAnnounced = (page: Page, text: string | RegExp): Promise<void> =>
  page
    .locator('dialog[open] > .announcer, body:not(:has(dialog[open])) > #announcer')
    .getByText(text)
    .waitFor({ state: 'attached' });

export const expectText = (within: Page | Locator, text: string | RegExp): Promise<void> =>
  within.getByText(text).waitFor();

/** Waits until a message is visible in front of the page, and announced. */
export async function expectToast(page: Page, text: string | RegExp): Promise<void> {
  await expectAnnounced(page, text);
  await page.locator('.toast').getByText(text).waitFor();
}

/** Waits until two elements do not overlap, and neither is cut off by the window. */
export async function expectApart(one: Locator, other: Locator): Promise<void> {
  const size = one.page().viewportSize()!;
  await until(async () => {
    const [a, b] = [(await one.boundingBox())!, (await other.boundingBox())!];
    const isInWindow = ({ x, y, width, height }: typeof a) =>
      x >= 0 && y >= 0 && x + width <= size.width && y + height <= size.height;
    const isBeside = a.x + a.width <= b.x || b.x + b.width <= a.x;
    const isAboveOrBelow = a.y + a.height <= b.y || b.y + b.height <= a.y;
    return isInWindow(a) && isInWindow(b) && (isBeside || isAboveOrBelow);
  });
}

/** Waits until the page has rendered what it knows now. */
export const nextFrame = (page: Page): Promise<unknown> =>
  page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');

/** Waits until an element has the focus, which the page moves after it has rendered a change. */
export async function expectFocus(locator: Locator): Promise<void> {
  await locator.waitFor();
  await until(() => locator.evaluate((element) => element === element.ownerDocument.activeElement)).catch(
    async (error: unknown) => {
      const focused = await locator.page().evaluate<string>('document.activeElement.outerHTML.slice(0, 500)');
      throw new Error(`the focus is on ${focused}`, { cause: error });
    },
  );
}

/** Uses up a self-release of a license. */
export const insertSelfRelease = (service: Service, license_id: string) =>
  service.sql(
    `insert into activation (id, license_id, machine_id, app_version, activated_at, ended_at, ended_reason, released_by_holder)
     values (gen_random_uuid(), $1, decode(repeat('ab', 32), 'hex'), '1.0', $2, $2, 'released', true)`,
    [license_id, service.clock.now()],
  );

const MAX_TAB_PRESSES = 60;

/** Presses Escape until a dialog closes, because it ignores a press that comes too soon after its warning. */
export async function closeByEscape(open: Locator): Promise<void> {
  while (await open.isVisible()) await open.page().keyboard.press('Escape');
}

/** Presses Tab until an element has the focus. @throws Error if the focus does not reach it */
export async function tabTo(target: Locator): Promise<void> {
  await target.waitFor();
  const isFocused = () => target.evaluate((element) => element === element.ownerDocument.activeElement);
  for (let presses = 0; !(await isFocused()); presses += 1) {
    if (presses === MAX_TAB_PRESSES) throw new Error(`${String(target)} cannot be reached by Tab`);
    await target.page().keyboard.press('Tab');
  }
}

/** Returns the exact time that the first element with this selector shows in its tooltip; `none` without a tooltip. */
export const readExactTime = (page: Page, selector: string): Promise<unknown> =>
  page.evaluate(`getComputedStyle(document.querySelector(${JSON.stringify(selector)}), '::after').content`);

/**
 * Expects that the exact time, which is shown below a time under the pointer, stays while the pointer moves onto it, that it covers
 * no part of `name`, and that Escape hides it until the pointer returns.
 */
export async function expectExactTime(time: Locator, name: Locator): Promise<void> {
  const page = time.page();
  const isShown = () =>
    time.evaluate(
      (element) => element.ownerDocument.defaultView!.getComputedStyle(element, '::after').content !== 'none',
    );
  await time.hover();
  expect(await isShown()).toBe(true);
  const { x, y, width, height } = (await time.boundingBox())!;
  for (let below = 0; below < height; below += 2) {
    await page.mouse.move(x + width / 2, y + height / 2 + below);
    expect(await isShown()).toBe(true);
  }
  const coveredPoints = await name.evaluate((element) => {
    const { left, top, width: columns, height: rows } = element.getBoundingClientRect();
    const points = Array.from({ length: columns * rows }, (_, index) => index);
    return points.filter((index) =>
      element.ownerDocument
        .elementFromPoint(left + (index % columns), top + Math.floor(index / columns))
        ?.matches('time'),
    );
  });
  expect(coveredPoints).toEqual([]);
  await page.keyboard.press('Escape');
  expect(await isShown()).toBe(false);
  await page.mouse.move(0, 0);
  await time.hover();
  expect(await isShown()).toBe(true);
}

/** Activates a machine with a label. @param idSuffix distinguishes machines with equal labels @returns the activation id */
export async function activateMachine(
  service: Service,
  license: HolderCredentials,
  label: string | null,
  idSuffix = '',
): Promise<string> {
  const { status, json } = await service.activate(license, `${label}${idSuffix}`, { hostname_hint: label });
  expect(status).toBe(201);
  return json.activation.id as string;
}

/**
 * Makes each page that is loaded later enter a value as soon as a control is rendered: before the first paint, and so before the
 * effects that follow the paint.
 */
export const enterBeforePaint = (page: Page, selector: string, value: string) =>
  page.addInitScript(`
    new MutationObserver((changes, observer) => {
      const control = document.querySelector('${selector}');
      if (!control) return;
      observer.disconnect();
      control.value = '${value}';
      for (const type of ['input', 'change']) control.dispatchEvent(new Event(type, { bubbles: true }));
    }).observe(document, { childList: true, subtree: true });`);
