import { expect } from '@jest/globals';
import type { CDPSession, Locator, Page } from 'playwright-core';
import type { Role } from '../../src/staff/identity/role.js';
import { StaffService } from '../../src/staff/staff.service.js';
import type { Service } from '../support/harness.js';
import { createPrintedLink } from '../support-api/harness.js';
import { AUDIT_CONTEXT } from '../support/harness.js';
import { pageOf, type TestBrowser } from './browser.js';

/** Adds a staff member, as the command line does. @returns the path and fragment of a one-time link to sign in */
export async function createSignInLink(
  service: Service,
  role: Role,
  email = `${role}@example.com`,
): Promise<string> {
  await service.app.get(StaffService).ensure(email, role, AUDIT_CONTEXT);
  return `/support/#link=${await createPrintedLink(service, email)}`;
}

/** Uses a link of `createSignInLink` in the browser of this page, as another tab would. */
export async function signInWithLink(page: Page, origin: string, link: string): Promise<void> {
  const data = { link: link.split('#link=')[1]! };
  const answer = await page.request.post(`${origin}/support/api/session/link`, { data, headers: { origin } });
  expect(answer.status()).toBe(204);
}

/** Opens the page for a staff member with this role who signs in with a link and creates no passkey. */
export async function openAs(
  at: Page | TestBrowser,
  origin: string,
  service: Service,
  role: Role,
  hash = '',
): Promise<Page> {
  const page = await pageOf(at, origin);
  await holdUndoTime(page);
  await signInWithLink(page, origin, await createSignInLink(service, role));
  await page.goto(`/support/${hash}`);
  await button(page, 'Later').click();
  await page.getByRole('navigation', { name: 'Views' }).waitFor();
  return page;
}

/**
 * Opens the page as `openAs` does, and waits until it has the answers to what it requests at its start: both queues, and `paths`.
 */
export async function openLoaded(
  at: Page | TestBrowser,
  origin: string,
  service: Service,
  role: Role,
  hash = '',
  paths: readonly string[] = [],
): Promise<Page> {
  const page = await pageOf(at, origin);
  const answers = ['release-requests', 'erasures', ...paths].map((path) => untilAnswered(page, path));
  await Promise.all([openAs(page, origin, service, role, hash), ...answers]);
  return page;
}

/** Waits until the page has the answer to its next request with a path that ends in `path`. */
export async function untilAnswered(page: Page, path: string): Promise<void> {
  await page.waitForEvent('requestfinished', (request) =>
    new URL(request.url()).pathname.endsWith(`/${path}`),
  );
}

/** Adds a virtual platform authenticator to the browser, which confirms every request. */
export async function addAuthenticator(
  page: Page,
): Promise<{ session: CDPSession; authenticatorId: string }> {
  const session = await page.context().newCDPSession(page);
  await session.send('WebAuthn.enable');
  const { authenticatorId } = await session.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  return { session, authenticatorId };
}

export const button = (within: Page | Locator, name: string | RegExp): Locator =>
  within.getByRole('button', { name, exact: true });

export const title = (page: Page, name: string | RegExp): Locator =>
  page.getByRole('heading', { level: 1, name });

export const row = (page: Page, name: string | RegExp): Locator =>
  page.getByRole('row').filter({ has: page.getByRole('rowheader', { name, exact: true }) });

export const dialog = (page: Page): Locator => page.getByRole('dialog');

/** The value beside a label, such as `Holder`, in the view of a license. */
export const factValue = (page: Page, name: string): Locator =>
  page
    .locator('.facts > div')
    .filter({ has: page.getByText(name, { exact: true }) })
    .locator('dd');

/** Types the reason of an action into its dialog, and confirms the action. */
export async function submitReason(page: Page, reason: string, submit: string): Promise<void> {
  await dialog(page).locator('[name=reason]').fill(reason);
  await button(dialog(page), submit).click();
  await dialog(page).waitFor({ state: 'detached' });
}

/** Confirms a release, and ends the time in which it can be undone. */
export async function submitRelease(page: Page, reason: string): Promise<void> {
  await submitReason(page, reason, 'Release');
  await passUndoTime(page);
}

/**
 * Holds back the end of the ten seconds in which a release can be undone, until `passUndoTime`, so that a slow machine does not
 * exceed them. Other timers run on, and held ones have negative ids. This applies to the documents that the page loads from now on.
 */
export async function holdUndoTime(page: Page): Promise<void> {
  await page.addInitScript(`{
    const { setTimeout, clearTimeout } = window;
    const held = new Map();
    let lastId = 0;
    window.setTimeout = (run, ms, ...more) =>
      ms === 10_000 ? (held.set(--lastId, run), lastId) : setTimeout(run, ms, ...more);
    window.clearTimeout = (id) => held.delete(id) || clearTimeout(id);
    window.passUndoTime = () => {
      if (held.size === 0) throw new Error('no release is pending');
      for (const [id, run] of held) { held.delete(id); run(); }
    };
  }`);
}

export const passUndoTime = (page: Page): Promise<void> => page.evaluate('passUndoTime()');

/** Types a text into the search of the start page, and submits it. */
export async function find(page: Page, text: string): Promise<void> {
  await page.getByRole('textbox', { name: 'E-mail, license key' }).fill(text);
  await button(page, 'Find').click();
}

/** Inserts the release request of a holder, without its mail. */
export async function insertReleaseRequest(
  service: Service,
  activationId: string,
  reason: string | null,
  language: string | null = null,
) {
  await service.sql(
    `insert into release_request (id, activation_id, reason, asked_at, language)
     values (gen_random_uuid(), $1, $2, $3, $4)`,
    [activationId, reason, service.clock.now(), language],
  );
}
