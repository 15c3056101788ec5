import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import type { Service } from '../support/harness.js';
import { TestBrowser } from './browser.js';
import { signInByKey } from './portal-browser.js';
import { startForBrowser } from './service.js';
import type { HolderCredentials } from './steps.js';
import { createSignInLink, signInWithLink } from './support-browser.js';

const PORTAL_QUESTION = 'Where is my license active?';
const MACHINES = '0 of 1 machines in use';
const PRIVACY = 'What is stored, why, and for how long';

let service: Service;
let origin: string;
let license: HolderCredentials;
beforeAll(async () => {
  ({ service, origin } = await startForBrowser());
  license = await service.issue({ email: 'ada@example.com' });
});
afterAll(() => service.close());
const browser = TestBrowser.startForFile();

/** Everything that the pages of a browser write to the console. No line is left out, other than in `TestBrowser`. */
function recordConsole(page: Page): string[] {
  const lines: string[] = [];
  page
    .context()
    .on('console', (message) => lines.push(`${message.type()}: ${message.text()} ${message.location().url}`));
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

/** Opens a page of the service, and waits until it has loaded everything. @returns the main heading */
async function visit(page: Page, path: string): Promise<string> {
  await page.goto(path, { waitUntil: 'networkidle' });
  return page.getByRole('heading', { level: 1 }).innerText();
}

async function signIn(page: Page): Promise<void> {
  await signInByKey(page, origin, license);
  await signInWithLink(page, origin, await createSignInLink(service, 'admin'));
}

describe.each([
  { path: '/', read: ['GET /portal/api/session'], signedOut: PORTAL_QUESTION, signedIn: MACHINES },
  { path: '/portal/', read: ['GET /portal/api/session'], signedOut: PORTAL_QUESTION, signedIn: MACHINES },
  { path: '/support/', read: ['GET /support/api/session'], signedOut: 'Sign in', signedIn: 'Make a passkey' },
  { path: '/privacy/', read: [], signedOut: PRIVACY, signedIn: PRIVACY },
])(
  '$path writes nothing to the console, and asks once for the session',
  ({ path, read, signedOut, signedIn }) => {
    test('at the first visit, and at a visit after the session has ended', async () => {
      const page = await browser.openPage(origin);
      const [lines, requests] = [recordConsole(page), recordApiRequests(page)];
      expect([await visit(page, path), ...requests.splice(0)]).toEqual([signedOut, ...read]);
      await signIn(page);
      expect([await visit(page, path), ...requests.splice(0)]).toEqual([signedIn, ...read]);
      await service.sql('delete from session');
      expect([await visit(page, path), ...requests]).toEqual([signedOut, ...read]);
      expect(lines).toEqual([]);
    });

    test('at the first visit of a signed-in person', async () => {
      const page = await browser.openPage(origin);
      const lines = recordConsole(page);
      await signIn(page);
      expect(await visit(page, path)).toBe(signedIn);
      expect(lines).toEqual([]);
    });
  },
);
