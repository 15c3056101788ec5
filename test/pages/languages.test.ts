import { describe, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import type { Page, Route } from 'playwright-core';
import { FakeClock } from '../support/harness.js';
import { outbox } from '../erasure/harness.js';
import { until } from '../support/until.js';
import { codeAfter } from '../license-portal/harness.js';
import { expectTitle } from './portal-browser.js';
import { routeNext } from './routes.js';
import { activateMachine, expectAnnounced, expectFocus, nextFrame } from './steps.js';
import { startForBrowser } from './service.js';

/** Far in the future, so that no requested erasure runs: the job queue that runs erasures uses the clock of the database. */
const NOW = '2096-02-10T12:00:00Z';

const dist = new URL('../../web/dist/', import.meta.url);

const environment = { SELF_RELEASES_PER_YEAR: '5' };
const { service, origin, browser } = await startForBrowser({ environment, clock: new FakeClock(NOW) });

const openIn = (locale: string) => browser.openPage(origin, { locale, now: NOW });
const languageOf = (page: Page) => page.evaluate('document.documentElement.lang');
const readMailSubjects = async (email: string) =>
  (await outbox(service)).filter(({ to }) => to === email).map(({ subject }) => subject);
const waitForMail = (email: string, subject: string) =>
  until(async () => (await readMailSubjects(email)).includes(subject));

/** Signs in with a mailed code by the forms of the page in German. */
async function signInInGerman(page: Page, email: string): Promise<void> {
  await page.goto('/portal/');
  await page.getByRole('button', { name: 'Ich habe meinen Schlüssel verloren' }).click();
  // A text that is typed while one form replaces the other would be lost.
  await expectFocus(page.getByLabel('E-Mail-Adresse'));
  await page.getByLabel('E-Mail-Adresse').fill(email);
  await browser.expectLayout(page);
  const code = await codeAfter(service, email, () =>
    page.getByRole('button', { name: 'Code per E-Mail senden' }).click(),
  );
  await page.getByLabel('Code', { exact: true }).fill(code);
  await page.getByRole('heading', { level: 1, name: '1 von 2 Geräten in Verwendung' }).waitFor();
}

test('a German holder signs in with a code, releases a machine, cancels a deletion and has the key mailed, all in German', async () => {
  const email = `${randomUUID()}@example.com`;
  await activateMachine(service, await service.issue({ email, machines_allowed: 2 }), 'Studio Mac');
  const page = await openIn('de-DE');
  await signInInGerman(page, email);
  expect(await languageOf(page)).toBe('de');
  await expectTitle(page, '1 von 2 Geräten in Verwendung · com.example.app');
  await page.getByText('Aktiviert am 10. Februar mit 3.2.0').waitFor();
  await browser.expectLayout(page);
  await page.getByRole('button', { name: 'Freigeben Studio Mac' }).click();
  const release = page.getByRole('dialog', { name: 'Studio Mac freigeben?' });
  await browser.expectLayout(page);
  await release.getByRole('button', { name: 'Jetzt freigeben' }).click();
  await expectAnnounced(page, 'Das Gerät ist freigegeben. Sein Platz ist frei.');
  await page.getByRole('button', { name: 'Meine Daten löschen …' }).click();
  const dialog = page.getByRole('dialog', { name: 'Alles löschen, was über Sie gespeichert ist?' });
  await browser.expectLayout(page);
  await dialog.getByRole('button', { name: 'Meine Daten löschen' }).click();
  await page.getByText('Sie erfolgt am 13. Februar 2096 um 12:00 UTC.').waitFor();
  // If the deletion were cancelled before its mail is sent, the mail would not be sent.
  await waitForMail(email, 'Sie haben die Löschung Ihrer Daten bei com.example.app beantragt');
  await browser.expectLayout(page);
  await page.getByRole('button', { name: 'Zurücknehmen' }).click();
  await expectAnnounced(page, 'Zurückgenommen. Es wird nichts gelöscht.');
  await page.getByRole('button', { name: 'Lizenzschlüssel zusenden' }).click();
  await expectAnnounced(page, `Der Lizenzschlüssel ist an ${email} unterwegs.`);
  for (const subject of [
    'Ein Gerät Ihrer Lizenz für com.example.app wurde freigegeben',
    'Ihr Lizenzschlüssel für com.example.app',
  ])
    await waitForMail(email, subject);
  expect(
    (await readMailSubjects(email)).filter((subject) =>
      subject.endsWith(' ist Ihr Code für com.example.app'),
    ),
  ).toHaveLength(1);
});

test.each([
  [
    'fr-CA',
    'fr',
    'Où ma licence est-elle active ?',
    'Ce qui est enregistré, pourquoi et pendant combien de temps',
  ],
  ['ja', 'ja', 'ライセンスはどこで使用されていますか?', '保存される情報とその理由、保存期間'],
  ['de-DE', 'de', 'Wo ist meine Lizenz aktiv?', 'Was gespeichert wird, warum und wie lange'],
  ['sv-SE', 'en', 'Where is my license active?', 'What is stored, why, and for how long'],
])(
  'a browser in %s gets the portal and the privacy page in %s',
  async (locale, language, portal, privacy) => {
    const page = await openIn(locale);
    const expectInLanguage = async (heading: string) => {
      await page.getByRole('heading', { level: 1, name: heading }).waitFor();
      await page.getByRole('combobox').waitFor();
      expect(await languageOf(page)).toBe(language);
    };
    await page.goto('/portal/');
    await expectInLanguage(portal);
    await browser.expectLayout(page);
    await page.goto('/privacy/');
    await page.getByRole('table').first().waitFor();
    await expectInLanguage(privacy);
    await browser.expectLayout(page);
  },
);

test('the support page is in English in a German browser', async () => {
  const page = await openIn('de-DE');
  await page.goto('/support/');
  await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
  expect(await languageOf(page)).toBe('en');
});

describe('the language switch in the footer', () => {
  test('changes the language, keeps what was typed, and is remembered by the browser', async () => {
    const page = await openIn('en-GB');
    await page.goto('/portal/');
    await page.getByLabel('E-mail address').fill('ada@example.com');
    const names = await page.getByLabel('Language').locator('option').allTextContents();
    expect(names).toEqual(['English', 'Deutsch', 'Français', '日本語']);
    await page.getByLabel('Language').selectOption('Français');
    await page.getByRole('heading', { level: 1, name: 'Où ma licence est-elle active' }).waitFor();
    expect(await page.getByLabel('Adresse e-mail').inputValue()).toBe('ada@example.com');
    await expectTitle(page, 'Où ma licence est-elle active\u00a0? · com.example.app');
    expect(await page.locator('.skip').textContent()).toBe('Aller au contenu');
    await page.goto('/privacy/');
    await page.getByRole('heading', { level: 1, name: 'Ce qui est enregistré' }).waitFor();
    await page.getByLabel('Langue').selectOption('English');
    await page.getByRole('heading', { level: 1, name: 'What is stored' }).waitFor();
    expect(await languageOf(page)).toBe('en');
  });

  test('changes the descriptions of the privacy page, and an answer in a language that was left is not shown', async () => {
    const page = await openIn('en-GB');
    await page.goto('/privacy/');
    await page.locator('summary').first().click();
    const label = (text: string) => page.getByRole('definition').getByText(text, { exact: true });
    await label('Id of the license.').waitFor();
    const frenchRequest = Promise.withResolvers<Route>();
    await page.route('**/privacy/data?language=fr', (route) => frenchRequest.resolve(route));
    await page.getByLabel('Language').selectOption('Français');
    const french = await frenchRequest.promise;
    await page.getByLabel('Langue').selectOption('日本語');
    await label('ライセンスの ID。').waitFor();
    await page.evaluate(`
      globalThis.hasShownFrench = false;
      new MutationObserver(() => {
        hasShownFrench ||= document.body.textContent.includes('Identifiant de la licence.');
      }).observe(document.body, { childList: true, characterData: true, subtree: true });`);
    const answered = page.waitForResponse('**/privacy/data?language=fr');
    await french.continue();
    await (await answered).finished();
    await page.getByLabel('言語').selectOption('English');
    await label('Id of the license.').waitFor();
    expect(await page.evaluate('hasShownFrench')).toBe(false);
  });

  test('shows the error of a field in the new language, and removes each other error, which is in the previous language', async () => {
    const page = await openIn('en-GB');
    await page.goto('/portal/');
    const expectErrors = (...texts: string[]) =>
      until(async () => {
        const shown = await page.locator('main :is(.error, .notice), .toast').allTextContents();
        return shown.length === texts.length && texts.every((text, index) => shown[index]!.startsWith(text));
      });
    await page.getByRole('button', { name: 'Show my machines' }).click();
    await expectErrors('Enter your e-mail address.', 'Enter your license key.');
    await routeNext(page, '**/languages/de/**', (route) => route.fulfill({ status: 503, body: '' }));
    await page.getByLabel('Language').selectOption('Deutsch');
    await page.getByRole('alert').getByText('cannot be loaded just now').waitFor();
    await page.getByLabel('Language').selectOption('Deutsch');
    await expectErrors('Geben Sie Ihre E-Mail-Adresse ein.', 'Geben Sie Ihren Lizenzschlüssel ein.');
    const license = await service.issue();
    await page.getByLabel('E-Mail-Adresse').fill('other@example.com');
    await page.getByLabel('Lizenzschlüssel').fill(license.license_key);
    await page.keyboard.press('Enter');
    await expectErrors('Zu diesem Lizenzschlüssel');
    await page.getByLabel('Sprache').selectOption('English');
    await expectErrors();
    expect(await page.getByLabel('E-mail address').inputValue()).toBe('other@example.com');
  });

  test('reports no failure of a request that a later choice has replaced', async () => {
    const page = await openIn('en-GB');
    await page.goto('/portal/');
    const request = Promise.withResolvers<Route>();
    await routeNext(page, '**/languages/fr/**', (route) => request.resolve(route));
    await page.getByLabel('Language').selectOption('Français');
    const first = await request.promise;
    await page.getByLabel('Language').selectOption('Deutsch');
    await page.getByLabel('Sprache').selectOption('Français');
    await page.getByRole('heading', { level: 1, name: 'Où ma licence est-elle active' }).waitFor();
    await first.fulfill({ status: 503, body: '' });
    await first.request().response();
    await nextFrame(page);
    expect(await page.getByRole('alert').count()).toBe(0);
  });

  test('keeps the report of the privacy page if an earlier request for it fails', async () => {
    const page = await openIn('en-GB');
    await page.goto('/privacy/');
    // The footer with the switch is shown once the report is loaded.
    const report = page.getByRole('table', { name: 'About license holders' });
    await report.waitFor();
    const request = Promise.withResolvers<Route>();
    await routeNext(page, '**/privacy/data?language=de', (route) => request.resolve(route));
    await page.getByLabel('Language').selectOption('Deutsch');
    const first = await request.promise;
    const answered = page.waitForEvent('requestfinished', (each) => each.url().endsWith('data?language=en'));
    await page.getByLabel('Sprache').selectOption('English');
    await answered;
    await report.waitFor();
    await first.fulfill({ status: 503, body: '' });
    await first.request().response();
    await nextFrame(page);
    expect(await page.getByRole('alert').count()).toBe(0);
    expect(await report.count()).toBe(1);
  });

  test('changes the language by keyboard, and keeps the focus', async () => {
    const page = await openIn('en-GB');
    await page.goto('/portal/');
    await page.getByLabel('Language').focus();
    await page.keyboard.press('ArrowDown');
    await page.getByRole('heading', { level: 1, name: 'Wo ist meine Lizenz aktiv?' }).waitFor();
    await expectFocus(page.getByLabel('Sprache'));
  });

  test('keeps the language if the texts of another one cannot be loaded', async () => {
    const page = await openIn('en-GB');
    await page.goto('/portal/');
    await page.route('**/languages/de/**', (route) => route.fulfill({ status: 503, body: '' }));
    await page.getByLabel('Language').selectOption('Deutsch');
    await page.getByRole('alert').getByText('cannot be loaded just now').waitFor();
    expect(await page.getByLabel('Language').inputValue()).toBe('en');
    await page.reload();
    await page.getByRole('heading', { level: 1, name: 'Where is my license active?' }).waitFor();
  });
});

test.each([
  ['the texts cannot be loaded', { status: 503, body: '' }],
  ['the sign-in page of a network is received instead of the texts', { status: 200, body: '<html>' }],
  [
    'the texts of this page are missing',
    {
      status: 200,
      body: '{"languages":[{"tag":"de","version":"1"}],"tag":"de","texts":{"shared":{}}}',
    },
  ],
])('if %s, the page is in English', async (_what, answer) => {
  const page = await openIn('de-DE');
  await page.route('**/languages?*', (route) => route.fulfill(answer));
  await page.goto('/portal/');
  await page.getByLabel('License key').waitFor();
  expect(await languageOf(page)).toBe('en');
});

test('invalid language tags of a browser are skipped', async () => {
  const page = await openIn('en-GB');
  await page.addInitScript(
    `Object.defineProperty(Navigator.prototype, 'languages', { get: () => ['en-US@posix', 'C', 'de-DE'] })`,
  );
  await page.goto('/privacy/');
  await page.getByRole('table', { name: 'Über Lizenzinhaber' }).waitFor();
});

test.each(['en', 'de', 'fr', 'ja'])('the portal in %s transfers at most 24 KiB, compressed', async (tag) => {
  const html = readFileSync(new URL('portal/index.html', dist), 'utf8');
  const files = [...html.matchAll(/(?:src|href)="\.\.\/(assets\/[^"]+)"/g)].map(([, file]) => file!);
  expect(files).toHaveLength(2);
  const sizes = ['portal/index.html', ...files].map((file) => statSync(new URL(`${file}.br`, dist)).size);
  for (const path of ['/brand', '/languages?page=portal']) {
    const answer = await fetch(origin + path, {
      headers: { 'accept-encoding': 'br', 'accept-language': tag },
    });
    sizes.push(Number(answer.headers.get('content-length')));
  }
  expect(sizes).not.toContain(0);
  const total = sizes.reduce((sum, size) => sum + size);
  expect({ tag, total: total <= 24 * 1024 ? 'fits' : total }).toEqual({ tag, total: 'fits' });
});
