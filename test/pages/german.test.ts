import { beforeEach, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import type { Locator, Page } from 'playwright-core';
import type { PrivacyData } from '../../src/http/responses/api-types.js';
import type { LicenseChange } from '../../src/licenses/licenses.service.js';
import { LicensesService } from '../../src/licenses/licenses.service.js';
import { PurchasesService } from '../../src/purchases/purchases.service.js';
import { sell } from '../erasure/harness.js';
import { codeAfter } from '../license-portal/harness.js';
import { FakeClock } from '../support/harness.js';
import { expectNoEnglish, findEnglishPieces } from './english-text.js';
import { expectTitle, focusWindow, signInByCode, signInByKey } from './portal-browser.js';
import { endRoute } from './routes.js';
import { startForBrowser } from './service.js';
import { activateMachine, expectToast, type HolderCredentials } from './steps.js';

/** Far in the future, so that no requested erasure runs: the job queue that runs erasures uses the clock of the database. */
const START = '2096-02-10T12:00:00Z';
const LAST_YEAR = new Date('2095-01-04T00:00:00Z');
const NEXT_YEAR = new Date('2097-01-04T00:00:00Z');

/** Both are shown as text. They contain the placeholder of a message, and `$&`, for which `replace` inserts the matched text. */
const PRODUCT = '<b>Fjord</b> &amp; {email} $&';
const LABEL = '<img src=x onerror=alert(1)> {machine} $&';

const environment = { SELF_RELEASES_PER_YEAR: '2', PRODUCT_NAME: PRODUCT };
const { service, origin, browser } = await startForBrowser({ environment, clock: new FakeClock(START) });

let license: HolderCredentials & { license_id: string };
beforeEach(async () => {
  license = await service.issue({ email: `${randomUUID()}@example.com`, machines_allowed: 1 });
  await activateMachine(service, license, LABEL);
});

/** Expects that the page shows this element, and no English text. */
const expectGerman = (page: Page, shown: Locator) => expectNoEnglish(page, 'de', shown, LABEL);

const open = () => browser.openPage(origin, { locale: 'de-DE', now: START });
const button = (within: Page | Locator, name: string) => within.getByRole('button', { name });
const yourData = (page: Page) => page.getByRole('heading', { name: 'Ihre Daten' });

async function openByKey(hash = ''): Promise<Page> {
  const page = await open();
  await signInByKey(page, origin, license);
  await page.goto(`/portal/${hash}`);
  await yourData(page).waitFor();
  return page;
}

async function openByCode(): Promise<Page> {
  const page = await open();
  await signInByCode(page, origin, service, license.email);
  await page.goto('/portal/');
  await yourData(page).waitFor();
  return page;
}

test('the search for English text finds it on an English page', async () => {
  // The parts of English messages that no German message contains. With few of them, the search would find nothing.
  expect(findEnglishPieces('de').length).toBeGreaterThan(150);
  const page = await browser.openPage(origin, { now: START, path: '/portal/' });
  const label = page.getByLabel('License key');
  await expect(expectGerman(page, label)).rejects.toThrow('Sign in to see every machine');
});

test('a German page describes each state of a license in German', async () => {
  const page = await openByKey(`#activation=${randomUUID()}`);
  await expectGerman(page, page.getByText('für ein Gerät geöffnet, das zu keiner der hier gezeigten'));
  const states: readonly [LicenseChange, string][] = [
    [{ machines_allowed: 3 }, '1 von 3 Geräten in Verwendung'],
    [{ expires_at: NEXT_YEAR }, 'Updates bis 3. Januar 2097'],
    [{ expires_at: LAST_YEAR }, 'Updates gab es bis'],
    [{ on_expiry: 'stop' }, 'Diese Lizenz ist abgelaufen'],
    [{ expires_at: NEXT_YEAR }, 'Gültig bis 3. Januar 2097'],
    [{ staff_status: 'suspended' }, 'Diese Lizenz ist ausgesetzt'],
    [{ staff_status: 'revoked' }, 'Diese Lizenz wurde widerrufen'],
  ];
  for (const [change, shown] of states) {
    await service.setLicense(license.license_id, change);
    await focusWindow(page);
    await expectGerman(page, page.getByText(shown));
  }
});

test('a German page describes a refunded license and several licenses in German', async () => {
  const transaction_id = randomUUID();
  const id = await sell(service, license.email, transaction_id);
  const license_key = (await service.app.get(LicensesService).currentKey(id))!;
  await activateMachine(service, { email: license.email, license_key }, LABEL);
  const page = await openByCode();
  await expectGerman(page, page.getByRole('heading', { name: '2 von 2 Geräten in Verwendung' }));
  await service.app.get(PurchasesService).record({ transaction_id, status: 'refunded' });
  await page.reload();
  await expectGerman(page, page.getByText('Ihr Kauf wurde erstattet'));
  for (const day of ['10. Februar 2096', '10. Februar'])
    await expectGerman(page, page.getByText(`Erstattet am ${day}`, { exact: true }));
});

test('the forms of a German page report errors in German', async () => {
  const page = await open();
  await page.goto('/portal/');
  await button(page, 'Meine Geräte anzeigen').click();
  await expectGerman(page, page.getByText('Geben Sie Ihren Lizenzschlüssel ein.'));
  await page.getByLabel('E-Mail-Adresse').fill('unbekannt@example.com');
  for (const [key, error] of [
    ['ABC', 'Das sieht nicht wie ein Lizenzschlüssel aus.'],
    ['MOORING_0000-0000-0000-0001', 'Ein Zeichen ist vermutlich vertippt, oder der Anfang fehlt.'],
    [license.license_key, 'gibt es keine Lizenz. Prüfen Sie beides'],
  ]) {
    await page.getByLabel('Lizenzschlüssel').fill(key!);
    await button(page, 'Meine Geräte anzeigen').click();
    await expectGerman(page, page.getByText(error!));
  }
  await button(page, 'Ich habe meinen Schlüssel verloren').click();
  await button(page, 'Code per E-Mail senden').click();
  await page.getByLabel('Code', { exact: true }).fill('00000000');
  await expectGerman(page, page.getByRole('alert').getByText('Dieser Code ist falsch'));
});

test('the dialogs and messages of a German page are in German, and show a hostile label as text', async () => {
  const page = await openByCode();
  const release = page.getByRole('dialog', { name: `${LABEL} freigeben?` });
  await button(page, `Freigeben ${LABEL}`).click();
  expect(await release.locator('bdi').first().textContent()).toBe(LABEL);
  await expectGerman(page, release.getByText('Sie können das noch 2-mal ohne den Support tun.'));
  await button(release, 'Jetzt freigeben').click();
  await expectToast(page, 'Das Gerät ist freigegeben.');
  await expectGerman(page, page.getByText('Freigegeben am 10. Februar'));
  await button(page, 'Meine Daten löschen …').click();
  const deletion = page.getByRole('dialog', { name: 'Alles löschen, was über Sie gespeichert ist?' });
  await expectGerman(page, deletion.getByRole('listitem'));
  await button(deletion, 'Meine Daten löschen').click();
  await expectGerman(page, button(page, 'Zurücknehmen'));
  await service.sql('delete from session');
  await button(page, 'Zurücknehmen').click();
  await expectGerman(page, page.getByRole('dialog', { name: 'Ihre Sitzung ist beendet' }));
  await page.keyboard.press('Escape');
  await expectGerman(page, page.getByText('möglicherweise nicht mehr aktuell'));
  expect(await page.locator('main img, dialog img, header b').count()).toBe(0);
});

test('a German holder asks support for a release in German', async () => {
  await service.sql(
    `insert into activation (id, license_id, machine_id, app_version, activated_at, ended_at, ended_reason, released_by_holder)
     select gen_random_uuid(), $1, sha256(n::text::bytea), '1.0', $2::timestamptz, $2::timestamptz, 'released', true
     from generate_series(1, 2) n`,
    [license.license_id, service.clock.now()],
  );
  const page = await openByKey();
  await button(page, `Support um Freigabe bitten ${LABEL}`).click();
  const dialog = page.getByRole('dialog', { name: `Den Support bitten, ${LABEL} freizugeben?` });
  await dialog.getByLabel('Grund').fill('Verkauft an bob@example.com');
  await button(dialog, 'An den Support senden').click();
  await expectGerman(page, page.getByText('Höchstens 500 Zeichen und keine E-Mail-Adresse.'));
  await dialog.getByLabel('Grund').fill('Verkauft');
  await button(dialog, 'An den Support senden').click();
  await expectToast(page, 'Der Support wurde gefragt.');
  await expectGerman(page, page.getByText('Angefragt am 10. Februar'));
});

test('the page of a release link is in German, and shows a hostile product name and label as text', async () => {
  const { json } = await service.activate(license, 'new', { hostname_hint: LABEL });
  const page = await open();
  await page.goto(json['release_url'] as string);
  await expectGerman(page, page.getByText('Alle Geräte Ihrer Lizenz sind in Verwendung'));
  await page.getByText(`Wartet auf einen freien Platz: ${LABEL} (Version 3.2.0)`, { exact: true }).waitFor();
  await expectTitle(page, `Alle Geräte Ihrer Lizenz sind in Verwendung · ${PRODUCT}`);
  const mail = () => button(page, 'Code per E-Mail senden').click();
  const code = await codeAfter(service, license.email, mail);
  await expectGerman(page, page.getByRole('main').getByText('Ein Code ist an'));
  await page.getByLabel('Code', { exact: true }).fill(code);
  await expectGerman(page, page.getByText('Geben Sie das Gerät frei, das Sie nicht mehr verwenden.'));
  await page.locator('header').getByText(PRODUCT, { exact: true }).waitFor();
  await button(page, `Freigeben ${LABEL}`).click();
  await button(page, 'Jetzt freigeben').click();
  await expectGerman(page, page.getByText('Ein Platz ist frei: Gehen Sie zurück zur Anwendung'));
  expect(await page.getByRole('rowheader').locator('bdi').allTextContents()).toEqual([LABEL]);
  expect(await page.locator('main img, dialog img, header b').count()).toBe(0);
});

test('a German page says in German that a release link has expired', async () => {
  const { json } = await service.activate(license, 'new');
  service.clock.advance(10 * 60_000);
  const page = await open();
  await page.goto(json['release_url'] as string);
  await button(page, 'Code per E-Mail senden').click();
  await expectGerman(page, page.getByText('Dieser Link war 10 Minuten lang und für eine Anmeldung gültig.'));
});

test('the German privacy page is in German, with the descriptions of all tables and columns', async () => {
  const page = await open();
  await page.route('**/privacy/data?*', (route) => route.fulfill({ status: 503, body: '' }));
  await page.goto('/privacy/');
  await expectGerman(page, page.getByRole('alert'));
  await endRoute(page, '**/privacy/data?*');
  await button(page, 'Noch einmal versuchen').click();
  await page.getByRole('table').first().waitFor();
  for (const summary of await page.locator('summary').all()) await summary.click();
  await expectGerman(page, page.getByText('E-Mail-Adresse des Lizenzinhabers, in Kleinbuchstaben'));
  const { tables } = (await service.call('GET', '/privacy/data?language=de')).json as PrivacyData;
  expect(await page.getByRole('rowheader').allTextContents()).toContain(
    'Aktivierungen von Lizenzen auf Geräten',
  );
  const columns = tables.flatMap((table) => table.columns);
  const shown = await page.locator('dd').allTextContents();
  expect(shown.toSorted()).toEqual(columns.map(({ what }) => what).toSorted());
  // Only names are marked as English.
  expect(await page.locator('main [lang=en]:not(.mono)').count()).toBe(0);
  await browser.expectLayout(page);
  await page.setViewportSize({ width: 1280, height: 800 });
  const overlapping = `[...document.querySelectorAll('thead th')].filter((th) => th.scrollWidth > th.clientWidth).length`;
  expect(await page.evaluate(overlapping)).toBe(0);
});
