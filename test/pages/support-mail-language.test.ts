import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { mailsTo, until } from '../erasure/harness.js';
import type { Service } from '../support/harness.js';
import { TestBrowser } from './browser.js';
import { startForBrowser } from './service.js';
import { activateMachine, expectToast } from './steps.js';
import { button, dialog, insertReleaseRequest, openAs, submitRelease } from './support-browser.js';

const EMAIL = 'mailed@example.com';

let service: Service;
let origin: string;
beforeAll(async () => {
  ({ service, origin } = await startForBrowser({
    environment: { MAIL_LANGUAGE: 'de', PRODUCT_NAME: 'Fjord' },
  }));
});
afterAll(() => service.close());
const browser = TestBrowser.startForFile();

test('the dialog of a release shows the mail to the holder in the language in which it is sent', async () => {
  const license = await service.issue({ email: EMAIL });
  await insertReleaseRequest(service, await activateMachine(service, license, 'Studio', EMAIL), null);
  const page = await browser.openPage(origin);
  await openAs(page, origin, service, 'support', '#requests');
  await button(page, 'Release Studio, as asked').click();
  await dialog(page).locator('[name=reason]').fill('Verkauft');
  const preview = dialog(page).getByRole('figure', { name: 'The mail to the holder says, in German' });
  await preview.getByText('Grund: Verkauft').waitFor();
  expect(await preview.locator('blockquote').getAttribute('lang')).toBe('de');
  const paragraphs = await preview.locator('p').allTextContents();
  expect(paragraphs).toHaveLength(3);
  await browser.expectAccessibleLayout(page);
  await submitRelease(page, 'Verkauft');
  await expectToast(page, 'Released Studio.');
  await until(async () => (await mailsTo(service, EMAIL, /Fjord/)).length > 0);
  const [mail] = await mailsTo(service, EMAIL, /Fjord/);
  const text = mail!.text.replaceAll(/\s+/g, ' ');
  for (const paragraph of paragraphs) expect(text).toContain(paragraph);
});
