import { expect } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import { until } from '../erasure/harness.js';
import { machineId, type Service } from '../support/harness.js';

export interface Holder {
  readonly email: string;
  readonly license_key: string;
}

/** The last text of the live region. */
export const announced = (page: Page, text: string | RegExp): Promise<void> =>
  page.locator('#announcer').getByText(text).waitFor({ state: 'attached' });

/** Waits until a message is visible in front of the page, and announced. */
export async function toasted(page: Page, text: string | RegExp): Promise<void> {
  await announced(page, text);
  await page.locator('.toast').getByText(text).waitFor();
}

/** Waits until an element has the focus, which the page moves after it has rendered a change. */
export async function expectFocus(locator: Locator): Promise<void> {
  await locator.waitFor();
  await until(() => locator.evaluate((element) => element === element.ownerDocument.activeElement));
}

/** Activates a machine with a label. @returns the id of its binding */
export async function bind(
  service: Service,
  license: Holder,
  label: string | null,
  more = '',
): Promise<string> {
  const { status, json } = await service.call('POST', '/v1/activate', {
    email: license.email,
    license_key: license.license_key,
    machine_id: machineId(`${label}${more}`),
    app_version: '3.2.0',
    ...(label !== null && { hostname_hint: label }),
  });
  expect(status).toBe(201);
  return json.activation.id as string;
}
