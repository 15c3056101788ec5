import { expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { LicenseProblem, MooringClient } from '../../client/src/client.js';
import { systemTimers } from '../../client/src/time.js';
import { ReleaseService } from '../../src/releases/release.service.js';
import { ReleaseDecisions } from '../../src/releases/release-decisions.js';
import { until } from '../support/until.js';
import { codeAfter } from '../license-portal/harness.js';
import { machineId } from '../support/harness.js';
import { expectTitle, focusWindow, headline, machineRow, openByKey, signInByKey } from './portal-browser.js';
import {
  activateMachine,
  expectFocus,
  expectToast,
  tabTo,
  insertSelfRelease,
  type HolderCredentials,
  expectText,
} from './steps.js';
import { startForBrowser } from './service.js';
import { temporaryFolder } from '../support/folders.js';

const folder = temporaryFolder();
const { service, origin, browser } = await startForBrowser({ environment: { SELF_RELEASES_PER_YEAR: '1' } });

/** The application on a new machine, whose activation is refused because the license is full. */
class RefusedApplication {
  readonly client: MooringClient;
  releaseUrl = '';
  /** Resolved when the application may activate again, so that the page first shows that a place is free. */
  readonly #mayRetry = Promise.withResolvers<void>();

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
      timers: {
        set: (work, milliseconds) => systemTimers.set(() => this.#mayRetry.promise.then(work), milliseconds),
        clear: (timer) => systemTimers.clear(timer),
      },
    });
  }

  /** Activates, expects the refusal, and keeps its release URL. */
  async clickActivate({ license_key, email }: HolderCredentials): Promise<void> {
    const activation = this.client.activate(license_key, email, 'New Mac');
    const error: unknown = await activation.catch((error: unknown) => error);
    if (!(error instanceof LicenseProblem && error.is('machine_limit_reached'))) throw error;
    this.releaseUrl = error.extras.release_url!;
    // What follows is later than the refusal.
    service.clock.advance(5_000);
  }

  /** Lets the application activate by itself, and waits until it runs. */
  untilRunning(): Promise<void> {
    this.#mayRetry.resolve();
    return until(() => Promise.resolve(this.client.status.kind === 'running'));
  }
}

/** A license whose only place is used by Old Mac, and an application that was refused for that reason. */
async function withRefusedApplication(
  work: (
    application: RefusedApplication,
    license: Awaited<ReturnType<typeof issueFullLicense>>,
  ) => Promise<void>,
): Promise<void> {
  const license = await issueFullLicense();
  const application = new RefusedApplication();
  try {
    await application.clickActivate(license);
    await work(application, license);
  } finally {
    await application.client.close();
  }
}

/** Issues a license for one machine, and activates it on that machine. */
async function issueFullLicense() {
  const license = await service.issue({ email: `${randomUUID()}@example.com`, machines_allowed: 1 });
  return { ...license, activation_id: await activateMachine(service, license, 'Old Mac') };
}

test('from a full license to a running application: four clicks and one code', async () => {
  await withRefusedApplication(async (application, license) => {
    const page = await browser.openPage(origin);
    let clicks = 0;
    const click = async (name: string) => {
      clicks += 1;
      await page.getByRole('button', { name, exact: true }).click();
    };
    // The holder clicks the button of the application that opens the browser.
    clicks += 1;
    await page.goto(application.releaseUrl);
    await page.getByRole('heading', { name: 'All machines of your license are in use' }).waitFor();
    await expectTitle(page, 'All machines of your license are in use · com.example.app');
    await page.getByText('Waiting for a free place: New Mac (version 3.2.0)', { exact: true }).waitFor();
    await browser.expectAccessibleLayout(page);
    const code = await codeAfter(service, license.email, () => click('Mail me a code'));
    await expectText(page.getByRole('main'), `A code is on its way to ${license.email[0]}…@example.com.`);
    await expectFocus(page.getByLabel('Code', { exact: true }));
    await page.keyboard.type(code);
    await headline(page).waitFor();
    await expectFocus(page.getByRole('heading', { name: /^License key ending in/ }));
    await expectText(page.getByRole('status'), 'Waiting for a free place: New Mac');
    await expectText(page, 'Release the machine that you no longer use.');
    await browser.expectAccessibleLayout(page);
    await click('Release Old Mac');
    await click('Release it');
    await expectToast(page, 'It is released. Its place is free.');
    await expectFocus(page.getByRole('heading', { name: 'A place is free: go back to the application' }));
    await expectText(page.getByRole('status'), 'It activates by itself within seconds');
    expect(await page.getByText('Enter your key in the application').count()).toBe(0);
    await browser.expectAccessibleLayout(page);
    expect(clicks).toBe(4);
    await application.untilRunning();
    await focusWindow(page);
    await expectText(page.getByRole('status'), 'Done: your license is active on New Mac.');
    await machineRow(page, 'New Mac').waitFor();
    await browser.expectAccessibleLayout(page);
  });
});

test('without a self-release left, by keyboard and in German: after support declines, the application is refused again, and the holder asks support again', async () => {
  await withRefusedApplication(async (application, license) => {
    await insertSelfRelease(service, license.license_id);
    const page = await browser.openPage(origin, { locale: 'de-AT' });
    const press = async (name: string) => {
      await tabTo(page.getByRole('button', { name, exact: true }));
      await page.keyboard.press('Enter');
    };
    const askSupport = async (reason: string) => {
      await press('Support um Freigabe bitten Old Mac');
      await expectFocus(page.getByLabel('Grund'));
      await page.keyboard.type(reason);
      await press('An den Support senden');
      await expectToast(page, 'Der Support wurde gefragt.');
      await expectFocus(machineRow(page, 'Old Mac').getByRole('cell').last());
      await expectText(machineRow(page, 'Old Mac'), 'Angefragt am 20. November');
      await expectText(page.getByRole('status'), 'Der Support hat Ihre Anfrage.');
    };
    const firstUrl = application.releaseUrl;
    await page.goto(firstUrl);
    await page.getByRole('heading', { name: 'Alle Geräte Ihrer Lizenz sind in Verwendung' }).waitFor();
    await browser.expectLayout(page);
    const code = await codeAfter(service, license.email, () => press('Code per E-Mail senden'));
    await expectFocus(page.getByLabel('Code', { exact: true }));
    await page.keyboard.type(code);
    await expectText(page.getByRole('status'), 'Bitten Sie den Support, das Gerät freizugeben');
    await askSupport('Das alte ist defekt.');
    expect(await decideRequest(license.activation_id, 'decline', 'Bitte rufen Sie uns an.')).toBe(
      'Das alte ist defekt.',
    );
    await application.clickActivate(license);
    expect(application.releaseUrl).not.toBe(firstUrl);
    await page.goto(application.releaseUrl);
    await expectText(page, '„Bitte rufen Sie uns an.“');
    await browser.expectLayout(page);
    await askSupport('Das habe ich getan.');
    await decideRequest(license.activation_id, 'release', 'Defekt.');
    await application.untilRunning();
    await focusWindow(page);
    await expectText(page.getByRole('status'), 'Fertig: Ihre Lizenz ist auf New Mac aktiv.');
  });
});

/** Decides the newest release request for a machine, as support does. @returns the reason of the holder */
async function decideRequest(activationId: string, decision: 'decline' | 'release', reason: string) {
  const [request] = await service.sql<{ id: string; reason: string }>(
    'select id, reason from release_request where activation_id = $1 order by asked_at desc limit 1',
    [activationId],
  );
  const audit = { actor: 'support@example.com', reason };
  await service.app.get(ReleaseDecisions).decide(request!.id, decision, audit);
  return request!.reason;
}

test('the whole way from a full license to a running application needs only the keyboard', async () => {
  await withRefusedApplication(async (application, license) => {
    const page = await browser.openPage(origin, { path: application.releaseUrl });
    const press = async (name: string) => {
      await tabTo(page.getByRole('button', { name, exact: true }));
      await page.keyboard.press('Enter');
    };
    const code = await codeAfter(service, license.email, () => press('Mail me a code'));
    await expectFocus(page.getByLabel('Code', { exact: true }));
    await page.keyboard.type(code);
    await expectFocus(page.getByRole('heading', { name: /^License key ending in/ }));
    await press('Release Old Mac');
    // The dialog opens on the button that changes nothing.
    await expectFocus(page.getByRole('button', { name: 'Cancel' }));
    await press('Release it');
    await expectFocus(headline(page));
    await application.untilRunning();
    await focusWindow(page);
    await expectText(page.getByRole('status'), 'Done: your license is active on New Mac.');
    await expectFocus(headline(page));
  });
});

test('by keyboard, for a holder who is signed in by key already, the link leads to the license at once', async () => {
  const license = await issueFullLicense();
  const { json } = await service.activate(license, 'new');
  const page = await openByKey(browser, origin, license, new URL(json['release_url'] as string).hash);
  await expectText(page, 'Release the machine that you no longer use.');
  await expectFocus(page.getByRole('heading', { name: /^License key ending in/ }));
  await page.keyboard.press('Tab');
  await page.keyboard.press('Tab');
  await expectFocus(machineRow(page, 'Old Mac').getByRole('button'));
});

test('the link that skips to the content keeps the sign-in with a link, and the machine that waits', async () => {
  const license = await issueFullLicense();
  const { json } = await service.activate(license, 'new');
  const { hash } = new URL(json['release_url'] as string);
  const page = await browser.openPage(origin);
  const skip = async () => {
    await page.getByRole('link', { name: 'Skip to the content' }).focus();
    await page.keyboard.press('Enter');
    await expectFocus(page.getByRole('main'));
    expect(new URL(page.url()).hash).toBe(hash);
  };
  await page.goto(`/portal/${hash}`);
  await page.getByRole('heading', { name: 'All machines of your license are in use' }).waitFor();
  await skip();
  await page.getByRole('button', { name: 'Mail me a code' }).waitFor();
  await signInByKey(page, origin, license);
  await page.reload();
  // The page moves the focus to the license after it has rendered it.
  await expectFocus(page.getByRole('heading', { name: /^License key ending in/ }));
  await skip();
  await expectText(page, 'Release the machine that you no longer use.');
});

test('a page that stays open shows the license after its link has expired', async () => {
  const license = await issueFullLicense();
  const { json } = await service.activate(license, 'new');
  const page = await openByKey(browser, origin, license, new URL(json['release_url'] as string).hash);
  await machineRow(page, 'Old Mac').waitFor();
  // The page forgets the link ten minutes after its expiry. The new label shows that the license was read again.
  service.clock.advance(21 * 60_000);
  await service.sql(`update activation set hostname_hint = 'Older Mac' where id = $1`, [
    license.activation_id,
  ]);
  await focusWindow(page);
  await machineRow(page, 'Older Mac').waitFor();
});

test('a link is also followed if the clock of the device is wrong by hours', async () => {
  const { json } = await service.activate(await issueFullLicense(), 'new');
  const page = await browser.openPage(origin);
  for (const hours of [-12, 12]) {
    await page.goto('about:blank');
    await browser.setTime(page, service.clock.now().getTime() + hours * 3_600_000);
    await page.goto(json['release_url'] as string);
    await page.getByRole('heading', { level: 1, name: 'All machines of your license are in use' }).waitFor();
  }
});

test('a link that has expired says so and leads to the usual sign-in', async () => {
  const license = await issueFullLicense();
  const { json } = await service.activate(license, 'new');
  service.clock.advance(10 * 60_000);
  const page = await browser.openPage(origin, { path: json['release_url'] as string });
  await page.getByRole('button', { name: 'Mail me a code' }).click();
  await expectText(page.getByRole('alert'), 'This link was good for 10 minutes and one sign-in.');
  await browser.expectAccessibleLayout(page);
  expect(await page.locator('.button.primary').allTextContents()).toEqual(['Sign in another way']);
  await page.getByRole('button', { name: 'Sign in another way' }).click();
  await page.getByLabel('License key').waitFor();
  await expectFocus(page.getByRole('heading', { name: 'Where is my license active?' }));
});

test('after a sign-out the page offers the usual sign-in, because its link is used', async () => {
  const license = await issueFullLicense();
  const { json } = await service.activate(license, 'new');
  const page = await browser.openPage(origin, { path: json['release_url'] as string });
  const mail = () => page.getByRole('button', { name: 'Mail me a code' }).click();
  await page.getByLabel('Code', { exact: true }).fill(await codeAfter(service, license.email, mail));
  await machineRow(page, 'Old Mac').waitFor();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByLabel('License key').waitFor();
  await expectFocus(page.getByRole('heading', { name: 'Where is my license active?' }));
});

test('if the link expires while the code is awaited, another code cannot be mailed, and the page says why', async () => {
  const license = await issueFullLicense();
  const { json } = await service.activate(license, 'new');
  const page = await browser.openPage(origin, { path: json['release_url'] as string });
  await page.getByRole('button', { name: 'Mail me a code' }).click();
  await page.getByLabel('Code', { exact: true }).waitFor();
  service.clock.advance(10 * 60_000);
  await page.getByRole('button', { name: 'Mail me another code' }).click();
  await expectText(page.getByRole('alert'), 'This link was good for 10 minutes and one sign-in.');
});

test('while another machine uses the place that became free, the machine of the link still waits, and a further place is offered to it', async () => {
  await withRefusedApplication(async (application, license) => {
    await insertSelfRelease(service, license.license_id);
    const page = await openByKey(browser, origin, license, new URL(application.releaseUrl).hash);
    await expectText(page.getByRole('status'), 'Ask support to release the machine');
    const audit = { actor: 'support@example.com', reason: 'Sold.' };
    await service.app.get(ReleaseService).release(license.activation_id, audit);
    await activateMachine(service, license, 'Colleague');
    await focusWindow(page);
    await machineRow(page, 'Colleague').waitFor();
    await expectText(page.getByRole('status'), 'Waiting for a free place: New Mac (version 3.2.0)');
    expect(await page.getByText('Done: your license is active').count()).toBe(0);
    await service.setLicense(license.license_id, { machines_allowed: 2 });
    await focusWindow(page);
    await page.getByRole('heading', { name: 'A place is free: go back to the application' }).waitFor();
  });
});

test('a link whose machine was activated since then does not ask to release a machine', async () => {
  const license = await issueFullLicense();
  const { json } = await service.activate(license, 'new', { hostname_hint: 'Old Mac' });
  await service.sql('update activation set activated_at = $2 where id = $1', [
    license.activation_id,
    new Date(service.clock.now().getTime() + 5_000),
  ]);
  const page = await openByKey(browser, origin, license, new URL(json['release_url'] as string).hash);
  await machineRow(page, 'Old Mac').waitFor();
  await expectText(page.getByRole('status'), 'Done: your license is active on Old Mac.');
  expect(await page.getByText('Release the machine that you no longer use.').count()).toBe(0);
});

test('a holder who is signed in for another license is offered a code for this one, and can go back to the other one', async () => {
  const other = await service.issue({ email: `${randomUUID()}@example.com` });
  const license = await issueFullLicense();
  const { json } = await service.activate(license, 'new');
  const page = await openByKey(browser, origin, other);
  await page.goto(json['release_url'] as string);
  await page.getByRole('button', { name: 'Mail me a code' }).waitFor();
  await expectText(page, `Signed in as ${other.email}`);
  await page.getByRole('button', { name: 'Sign in another way' }).click();
  await headline(page).waitFor();
});

test('the link names the machine that waits, also one without a label or with a hostile one', async () => {
  const license = await issueFullLicense();
  const hostile = `<img src=x onerror=alert(1)> {version} \u05d0\u05d1${'😀'.repeat(59)}`;
  const page = await browser.openPage(origin);
  const open = (url: string) => page.goto('about:blank').then(() => page.goto(url));
  const waiting = page.getByText('Waiting for a free place');
  for (const [hostname_hint, name] of [
    ['', 'Unnamed machine'],
    [hostile, hostile],
  ]) {
    const { json } = await service.activate(license, 'new', { hostname_hint });
    await open(json['release_url'] as string);
    await waiting.waitFor();
    expect(await waiting.textContent()).toBe(`Waiting for a free place: ${name} (version 3.2.0)`);
  }
  // A link that the service did not make may have any text.
  const forged = new URLSearchParams({
    release: hostile,
    machine: `\u202e${'W'.repeat(300)}`,
    version: '1.0',
  });
  await open(`/portal/#${forged}`);
  await waiting.waitFor();
  expect(await waiting.textContent()).toBe(
    `Waiting for a free place: \u202e${'W'.repeat(199)} (version 1.0)`,
  );
  await browser.expectLayout(page);
  forged.set('version', 'call 555');
  await open(`/portal/#${forged}`);
  await page.getByRole('button', { name: 'Mail me a code' }).click();
  await expectText(page.getByRole('alert'), 'This link was good for 10 minutes and one sign-in.');
  expect(await waiting.count()).toBe(0);
  expect(await page.locator('main img').count()).toBe(0);
});
