import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LicenseProblem, MooringClient } from '../../client/src/client.js';
import { until } from '../erasure/harness.js';
import { codeAfter } from '../license-portal/harness.js';
import { machineId, Service } from '../support/harness.js';
import { TestBrowser } from './browser.js';
import { headline, machineRow, openByKey } from './portal-browser.js';
import { activateMachine, expectFocus, expectToast, type HolderCredentials } from './steps.js';
import { startForBrowser } from './service.js';

let service: Service;
let origin: string;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mooring-full-'));
  ({ service, origin } = await startForBrowser({ environment: { SELF_RELEASES_PER_YEAR: '1' } }));
});
afterAll(async () => {
  await service.close();
  await rm(folder, { recursive: true, force: true });
});
const browser = TestBrowser.startForFile();

/** The application on a new machine, whose activation is refused because the license is full. */
class RefusedApplication {
  readonly client: MooringClient;
  releaseUrl = '';

  constructor() {
    this.client = new MooringClient({
      baseUrl: origin,
      app: 'EXAMPLE',
      product: 'com.example.app',
      appVersion: '3.2.0',
      trustedKeys: [],
      stateFile: join(folder, `${randomUUID()}.json`),
      environment: {},
      machineId: () => Promise.resolve(machineId(randomUUID())),
    });
  }

  /** Activates, expects the refusal, and keeps its release URL. */
  async clickActivate({ license_key, email }: HolderCredentials): Promise<void> {
    const error: unknown = await this.client.activate(license_key, email).catch((error: unknown) => error);
    if (!(error instanceof LicenseProblem && error.is('machine_limit_reached'))) throw error;
    this.releaseUrl = error.extras.release_url!;
  }
}

/** Issues a license for one machine, and activates it on that machine. */
async function issueFullLicense() {
  const license = await service.issue({ email: `${randomUUID()}@example.com`, machines_allowed: 1 });
  return { ...license, activation_id: await activateMachine(service, license, 'Old Mac') };
}

test('from a full license to a running application: four clicks and one code', async () => {
  const license = await issueFullLicense();
  const application = new RefusedApplication();
  try {
    const page = await browser.openPage(origin);
    let clicks = 0;
    const click = async (name: string) => {
      clicks += 1;
      await page.getByRole('button', { name, exact: true }).click();
    };
    await application.clickActivate(license);
    // The holder clicks the button of the application that opens the browser.
    clicks += 1;
    await page.goto(application.releaseUrl);
    await page.getByRole('heading', { name: 'All machines of your license are in use' }).waitFor();
    expect(await page.title()).toBe('All machines of your license are in use · com.example.app');
    await browser.expectAccessibleLayout(page);
    const code = await codeAfter(service, license.email, () => click('Mail me a code'));
    await page.getByText(`A code is on its way to ${license.email[0]}…@example.com.`).waitFor();
    await expectFocus(page.getByLabel('Code', { exact: true }));
    await browser.expectAccessibleLayout(page);
    await page.keyboard.type(code);
    await headline(page).waitFor();
    await expectFocus(page.getByRole('heading', { name: /^License key ending in/ }));
    await page.getByText('Release the machine that you no longer use.').waitFor();
    await browser.expectAccessibleLayout(page);
    await click('Release Old Mac');
    await click('Release it');
    await expectToast(page, 'It is released. Its place is free.');
    await page.getByRole('status').getByText('A place is free. Go back to the application').waitFor();
    await browser.expectAccessibleLayout(page);
    expect(clicks).toBe(4);
    await until(() => Promise.resolve(application.client.status.kind === 'running'));
  } finally {
    await application.client.close();
  }
});

test('by keyboard, for a holder who is signed in by key already, the link leads to the license at once', async () => {
  const license = await issueFullLicense();
  const { json } = await service.activate(license, 'new');
  const page = await browser.openPage(origin);
  await openByKey(page, origin, license, new URL(json['release_url'] as string).hash);
  await page.getByText('Release the machine that you no longer use.').waitFor();
  await expectFocus(page.getByRole('heading', { name: /^License key ending in/ }));
  await page.keyboard.press('Tab');
  await page.keyboard.press('Tab');
  await expectFocus(machineRow(page, 'Old Mac').getByRole('button'));
});

test('a link that has expired says so and leads to the usual sign-in', async () => {
  const license = await issueFullLicense();
  const { json } = await service.activate(license, 'new');
  service.clock.advance(10 * 60_000);
  const page = await browser.openPage(origin);
  await page.goto(json['release_url'] as string);
  await page.getByRole('button', { name: 'Mail me a code' }).click();
  await page.getByRole('alert').getByText('This link was good for 10 minutes.').waitFor();
  await browser.expectAccessibleLayout(page);
  await page.getByRole('button', { name: 'Sign in another way' }).click();
  await page.getByLabel('License key').waitFor();
  await expectFocus(page.getByRole('heading', { name: 'Where is my license active?' }));
});

test('if the link expires while the code is awaited, another code cannot be mailed, and the page says why', async () => {
  const license = await issueFullLicense();
  const { json } = await service.activate(license, 'new');
  const page = await browser.openPage(origin);
  await page.goto(json['release_url'] as string);
  await page.getByRole('button', { name: 'Mail me a code' }).click();
  await page.getByLabel('Code', { exact: true }).waitFor();
  service.clock.advance(10 * 60_000);
  await page.getByRole('button', { name: 'Mail me another code' }).click();
  await page.getByRole('alert').getByText('This link was good for 10 minutes.').waitFor();
});

test('a link that is older than the newest activation does not ask to release a machine', async () => {
  const license = await issueFullLicense();
  const { json } = await service.activate(license, 'new');
  await service.sql('update activation set activated_at = $2 where id = $1', [
    license.activation_id,
    new Date(service.clock.now().getTime() + 5_000),
  ]);
  const page = await browser.openPage(origin);
  await openByKey(page, origin, license, new URL(json['release_url'] as string).hash);
  await machineRow(page, 'Old Mac').waitFor();
  await page.getByRole('status').getByText('Done: your license is active on Old Mac.').waitFor();
  expect(await page.getByText('Release the machine that you no longer use.').count()).toBe(0);
  await browser.expectAccessibleLayout(page);
});

test('a holder who is signed in for another license can sign in for this one, or keep what is shown', async () => {
  const other = await service.issue({ email: `${randomUUID()}@example.com` });
  const license = await issueFullLicense();
  const { json } = await service.activate(license, 'new');
  const page = await browser.openPage(origin);
  await openByKey(page, origin, other);
  await page.goto(json['release_url'] as string);
  await page.getByRole('button', { name: 'Mail me a code' }).waitFor();
  await page.getByText(`Signed in as ${other.email}`).waitFor();
  await page.getByRole('button', { name: 'Sign in another way' }).click();
  await headline(page).waitFor();
});

test('markup in the hash of the URL is not rendered', async () => {
  const page = await browser.openPage(origin);
  await page.goto('/portal/#release=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E');
  await page.getByRole('button', { name: 'Mail me a code' }).click();
  await page.getByRole('alert').getByText('This link was good for 10 minutes.').waitFor();
  expect(await page.locator('img[src="x"]').count()).toBe(0);
});
