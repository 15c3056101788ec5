import { expect } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import { until } from '../erasure-harness.js';
import { machineId, type Service } from '../harness.js';
import { codeAfter } from '../portal-harness.js';

export interface Holder {
  readonly email: string;
  readonly license_key: string;
}

/** Opens the portal for someone who signed in by key, without the form. */
export async function openByKey(page: Page, origin: string, { email, license_key }: Holder, hash = '') {
  await send(page, origin, 'session', { email, license_key });
  await page.goto(`/portal/${hash}`);
  await headline(page).waitFor();
}

/** Opens the portal for someone who signed in by a mailed code, without the form. */
export async function openByCode(page: Page, origin: string, service: Service, email: string, hash = '') {
  const code = await codeAfter(service, email, () => send(page, origin, 'session/code', { email }));
  await send(page, origin, 'session', { email, code });
  await page.goto(`/portal/${hash}`);
  await headline(page).waitFor();
}

async function send(page: Page, origin: string, path: string, data: object): Promise<void> {
  const answer = await page.request.post(`${origin}/portal/api/${path}`, { data, headers: { origin } });
  expect(answer.ok()).toBe(true);
}

/** The first line of someone who is signed in. */
export const headline = (page: Page) =>
  page.getByRole('heading', { level: 1, name: /machines in use|^This license|No license|None of your/ });

export const machine = (page: Page, name: string): Locator =>
  page.getByRole('row').filter({ has: page.getByRole('rowheader', { name, exact: true }) });

/** What was last said in the live region. */
export const said = (page: Page, text: string | RegExp): Promise<void> =>
  page.locator('#announcer').getByText(text).waitFor({ state: 'attached' });

/** The keyboard comes to be here; the page moves it once it has drawn what changed. */
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
