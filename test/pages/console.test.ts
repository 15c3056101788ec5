import { describe, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { LATE_USE_OF_PRELOAD } from './browser.js';
import { signInByKey } from './portal-browser.js';
import { startForBrowser } from './service.js';
import { createSignInLink, signInWithLink } from './support-browser.js';

// What each page shows, once it has its data, without a session and with one.
const PORTAL = { signedOut: 'text="License key"', signedIn: 'text="0 of 1 machines in use"' };
const SUPPORT = {
  signedOut: 'text="Sign in with a passkey"',
  signedIn: 'role=heading[name="Make a passkey"]',
};
const PRIVACY = { signedOut: 'table', signedIn: 'table' };

const { service, origin, browser } = await startForBrowser();
const license = await service.issue({ email: 'ada@example.com' });

/**
 * Records what the pages of a browser write to the console. It leaves out only a line that a slow machine causes; `TestBrowser`
 * leaves out more lines (`isProvoked` in browser.ts). @returns the lines; later ones are added
 */
function recordConsole(page: Page): string[] {
  const lines: string[] = [];
  page.context().on('console', (message) => {
    if (LATE_USE_OF_PRELOAD.test(message.text())) return;
    lines.push(`${message.type()}: ${message.text()} ${message.location().url}`);
  });
  return lines;
}

/** The requests of a browser to the API of a page. */
function recordApiRequests(page: Page): string[] {
  const requests: string[] = [];
  page.context().on('request', (request) => {
    const { pathname } = new URL(request.url());
    if (pathname.includes('/api/')) requests.push(`${request.method()} ${pathname}`);
  });
  return requests;
}

/** Opens a page of the service, and waits until it shows an element and has loaded everything. */
async function visit(page: Page, path: string, shown: string): Promise<void> {
  await page.goto(path);
  await page.locator(shown).first().waitFor();
  await page.waitForLoadState('networkidle');
}

async function signIn(page: Page): Promise<void> {
  await signInByKey(page, origin, license);
  await signInWithLink(page, origin, await createSignInLink(service, 'admin'));
}

describe.each([
  { path: '/', read: ['GET /portal/api/session'], ...PORTAL },
  { path: '/portal/', read: ['GET /portal/api/session'], ...PORTAL },
  { path: '/support/', read: ['GET /support/api/session'], ...SUPPORT },
  { path: '/privacy/', read: [], ...PRIVACY },
])(
  '$path writes nothing to the console, and requests its session at most once',
  ({ path, read, signedOut, signedIn }) => {
    test('at the first visit, and at a visit after the session has ended', async () => {
      const page = await browser.openPage(origin);
      const [lines, requests] = [recordConsole(page), recordApiRequests(page)];
      await visit(page, path, signedOut);
      expect(requests.splice(0)).toEqual(read);
      await signIn(page);
      await visit(page, path, signedIn);
      expect(requests.splice(0)).toEqual(read);
      await service.sql('delete from session');
      await visit(page, path, signedOut);
      expect([requests, lines]).toEqual([read, []]);
    });

    test('at the first visit of a signed-in person', async () => {
      const page = await browser.openPage(origin);
      const lines = recordConsole(page);
      await signIn(page);
      await visit(page, path, signedIn);
      expect(lines).toEqual([]);
    });
  },
);
