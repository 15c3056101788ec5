import { expect, test } from '@jest/globals';
import { mailsTo } from '../erasure/harness.js';
import { until } from '../support/until.js';
import { startForBrowser } from './service.js';
import { activateMachine, expectToast } from './steps.js';
import { button, dialog, insertReleaseRequest, openAs, submitRelease } from './support-browser.js';

const EMAIL = 'mailed@example.com';

const { service, origin, browser } = await startForBrowser({
  environment: { MAIL_LANGUAGE: 'de', PRODUCT_NAME: 'Fjord' },
});

test('the dialog of a release shows the mail to the holder in the language in which it is sent', async () => {
  const license = await service.issue({ email: EMAIL });
  await insertReleaseRequest(service, await activateMachine(service, license, 'Studio', EMAIL), null);
  const page = await openAs(browser, origin, service, 'support', '#requests');
  await button(page, 'Release Studio, as asked').click();
  await dialog(page).locator('[name=reason]').fill('Verkauft');
  const preview = dialog(page).getByRole('figure', { name: 'The mail to the holder says, in German' });
  await preview.getByText('Grund: Verkauft').waitFor();
  expect(await preview.locator('blockquote').getAttribute('lang')).toBe('de');
  const paragraphs = await preview.locator('p').allTextContents();
  expect(paragraphs).toHaveLength(3);
  await submitRelease(page, 'Verkauft');
  await expectToast(page, 'Released Studio.');
  await until(async () => (await mailsTo(service, EMAIL, /Fjord/)).length > 0);
  const [mail] = await mailsTo(service, EMAIL, /Fjord/);
  const text = mail!.text.replaceAll(/\s+/g, ' ');
  for (const paragraph of paragraphs) expect(text).toContain(paragraph);
});

test('the dialog shows the mail in the language of each request, and in MAIL_LANGUAGE for a request without a known language', async () => {
  const license = await service.issue({ email: EMAIL, machines_allowed: 3 });
  for (const [label, language] of [
    ['Tokyo', 'ja'],
    ['Hamburg', null],
    ['Utrecht', 'nl'],
  ] as const)
    await insertReleaseRequest(
      service,
      await activateMachine(service, license, label, EMAIL),
      null,
      language,
    );
  const page = await openAs(browser, origin, service, 'support', '#requests');
  const quoted = () =>
    dialog(page)
      .getByRole('figure')
      .evaluateAll((figures) =>
        figures.map((figure) => [
          figure.querySelector('figcaption')!.textContent,
          figure.querySelector('blockquote')!.lang,
        ]),
      );
  await page.getByRole('checkbox', { name: /^Select all/ }).check();
  await button(page, 'Decline selected').click();
  await dialog(page).getByText('理由: …').waitFor();
  expect(await quoted()).toEqual([
    ['For 2 machines, the mail to the holder says, in German', 'de'],
    ['For 1 machine, the mail to the holder says, in Japanese', 'ja'],
  ]);
  await browser.expectLayout(page);
  await page.keyboard.press('Escape');

  // The release of the machine decides its request, too.
  await page.goto(`/support/#license/${license.license_id}`);
  await button(page, 'Release Tokyo').click();
  await dialog(page).getByText('理由: …').waitFor();
  expect(await quoted()).toEqual([['The mail to the holder says, in Japanese', 'ja']]);
});
