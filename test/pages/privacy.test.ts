import { expect, test } from '@jest/globals';
import { RetentionService } from '../../src/retention/retention.service.js';
import { endRoute } from './routes.js';
import { startForBrowser } from './service.js';
import { expectFocus } from './steps.js';

const { service, origin, browser } = await startForBrowser();
// The retention run moves both rows to the telemetry of past days, where it deletes the older one.
await service.sql(
  `insert into telemetry_inbox (id, received_on) select gen_random_uuid(), day
   from unnest('{2024-11-18, 2024-11-21}'::date[]) day`,
);
// The run at the start of the service was before these rows existed. This one is a minute later.
service.clock.advance(60_000);
await service.app.get(RetentionService).run(service.clock.now());

interface PrivacyData {
  readonly tables: {
    readonly name: string;
    readonly columns: { readonly name: string; readonly what: string }[];
  }[];
}

test('every table and every column that the service reports is shown, each once', async () => {
  const page = await browser.openPage(origin, { path: '/privacy/' });
  await page.getByRole('table', { name: 'About license holders' }).waitFor();
  await browser.expectLayout(page);
  const { tables } = (await service.call('GET', '/privacy/data')).json as PrivacyData;
  expect(await page.getByRole('rowheader').count()).toBe(tables.length);
  for (const summary of await page.locator('summary').all()) await summary.click();
  const shown = (selector: string) => page.locator(selector).allTextContents();
  expect((await shown('h3 .mono')).toSorted()).toEqual(tables.map(({ name }) => name).toSorted());
  const columns = tables.flatMap((table) => table.columns);
  expect((await shown('dt')).toSorted()).toEqual(columns.map(({ name }) => name).toSorted());
  expect((await shown('dd')).toSorted()).toEqual(columns.map(({ what }) => what).toSorted());
  await browser.expectAccessibleLayout(page);
});

test('the page shows what was last deleted and how old the oldest row is, and prints no field for the language', async () => {
  const page = await browser.openPage(origin, { path: '/privacy/' });
  const telemetry = page.getByRole('row', { name: 'Telemetry of past days' });
  await telemetry.getByText('24 months from the day it was received').waitFor();
  await telemetry.getByText('21 November 2024').waitFor();
  await telemetry.getByText('1 row on 20 November 2026').waitFor();
  // On paper the field for the language would be of no use.
  const language = page.getByLabel('Language');
  await language.waitFor();
  await page.emulateMedia({ media: 'print' });
  await language.waitFor({ state: 'hidden' });
  await page.emulateMedia({ media: 'screen' });
  await page
    .getByText('Rows past their period are deleted every hour; last on 20 November 2026 at 13:01 UTC.')
    .waitFor();
});

test('while the service is unavailable the explanations are shown, and the rest can be loaded again', async () => {
  const page = await browser.openPage(origin);
  await page.route('**/privacy/data?*', (route) => route.fulfill({ status: 503, body: '' }));
  await page.goto('/privacy/');
  await page.getByRole('alert').getByText('cannot be listed here').waitFor();
  await page.getByRole('heading', { name: 'What is not stored' }).waitFor();
  await browser.expectAccessibleLayout(page);
  await endRoute(page, '**/privacy/data?*');
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByRole('table', { name: 'About license holders' }).waitFor();
  await expectFocus(page.getByRole('heading', { name: 'As the service reports it' }));
});
