import { expect } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import { Browser } from '../license-portal/harness.js';
import type { Service } from '../support/harness.js';
import { until } from '../support/until.js';
import { pageOf, type TestBrowser } from './browser.js';
import type { HolderCredentials } from './steps.js';

/** Opens the portal for a holder who signed in by license key, without the form. */
export async function openByKey(
  at: Page | TestBrowser,
  origin: string,
  license: HolderCredentials,
  hash = '',
): Promise<Page> {
  const page = await pageOf(at, origin);
  await signInByKey(page, origin, license);
  await page.goto(`/portal/${hash}`);
  await headline(page).waitFor();
  return page;
}

/** Opens the portal for a holder who signed in by a mailed code, without the form and the mail. */
export async function openByCode(
  at: Page | TestBrowser,
  origin: string,
  service: Service,
  email: string,
): Promise<Page> {
  const page = await pageOf(at, origin);
  await signInByCode(page, origin, service, email);
  await page.goto('/portal/');
  await headline(page).waitFor();
  return page;
}

/** Signs the browser of this page in by license key, as another tab would. */
export async function signInByKey(page: Page, origin: string, license: HolderCredentials): Promise<void> {
  const data = { email: license.email, license_key: license.license_key };
  const answer = await page.request.post(`${origin}/portal/api/session`, { data, headers: { origin } });
  expect(answer.ok()).toBe(true);
}

/** Signs the browser of this page in as a mailed code does, without a mail. */
export async function signInByCode(
  page: Page,
  origin: string,
  service: Service,
  email: string,
): Promise<void> {
  const { cookies } = await new Browser(service).beginSession(email);
  const [name, value] = ['mooring_holder', cookies.get('mooring_holder')!];
  const cookie = { name, value, url: origin, httpOnly: true, sameSite: 'Strict' } as const;
  await page.context().addCookies([cookie]);
}

/** The main heading that the portal shows to a signed-in holder. */
export const headline = (page: Page) =>
  page.getByRole('heading', {
    level: 1,
    name: /machines in use|^A place is free|^This license|No license|None of your/,
  });

/** Waits until the page has a title, which it sets after it has rendered the heading. */
export const expectTitle = (page: Page, title: string): Promise<void> =>
  until(async () => (await page.title()) === title).catch(async () => expect(await page.title()).toBe(title));

/** Triggers the event by which the page notices that a person has returned to it. */
export const focusWindow = (page: Page) => page.evaluate('dispatchEvent(new Event("focus"))');

export const machineRow = (page: Page, name: string): Locator =>
  page.getByRole('row').filter({ has: page.getByRole('rowheader', { name, exact: true }) });
