import { expect, test } from '@jest/globals';
import type { Locator } from 'playwright-core';
import { BUILT_IN_LANGUAGES } from '../../src/languages/built-in.js';
import { codeAfter } from '../license-portal/harness.js';
import { expectNoEnglish } from './english-text.js';
import { startForBrowser } from './service.js';
import { activateMachine, expectToast } from './steps.js';

const { service, origin, browser } = await startForBrowser({ environment: { SELF_RELEASES_PER_YEAR: '1' } });

test.each([
  ['French', 'fr', 'fr-FR'],
  ['Japanese', 'ja', 'ja-JP'],
])(
  'a holder signs in and releases a machine in %s, and no text is in English',
  async (_name, tag, locale) => {
    const { signIn, machines, release } = BUILT_IN_LANGUAGES[tag]!.portal;
    const license = await service.issue({ email: `${tag}@example.com`, machines_allowed: 2 });
    await activateMachine(service, license, 'Mac A');
    const page = await browser.openPage(origin, { locale, path: '/portal/' });
    const submit = page.getByRole('button', { name: signIn.submit });
    await submit.click();
    await expectNoEnglish(page, tag, page.getByText(signIn.missingKey));
    await browser.expectLayout(page);
    await page.getByLabel(signIn.key, { exact: true }).fill(license.license_key);
    await page.getByLabel(signIn.email, { exact: true }).fill(license.email);
    await submit.click();
    await expectNoEnglish(page, tag, page.getByRole('table', { name: machines.caption, exact: true }));
    await browser.expectLayout(page);
    await page.getByRole('button', { name: `${release.self} Mac A` }).click();
    const dialog = page.getByRole('dialog', { name: release.selfTitle.replace('{machine}', 'Mac A') });
    await expectNoEnglish(page, tag, dialog);
    const mail = () => dialog.getByRole('button', { name: signIn.mailCode }).click();
    const code = await codeAfter(service, license.email, mail);
    const field = dialog.getByLabel(signIn.code, { exact: true });
    await field.fill(code === '00000000' ? '11111111' : '00000000');
    await expectNoEnglish(page, tag, dialog.getByRole('alert'));
    await browser.expectLayout(page);
    await field.fill(code);
    await expectToast(page, release.done);
    const ended = page.getByRole('table', { name: machines.captionEnded, exact: true });
    await expectNoEnglish(page, tag, ended);
    await browser.expectLayout(page);
    expect(await page.locator('html').getAttribute('lang')).toBe(tag);
  },
);

/** The lines of an element, as the browser breaks its text. */
const linesOf = (locator: Locator) =>
  locator.evaluate((element) => {
    const text = element.firstChild!;
    const range = element.ownerDocument.createRange();
    const lines = new Map<number, string>();
    for (const [index, character] of [...element.textContent].entries()) {
      range.setStart(text, index);
      range.setEnd(text, index + 1);
      const { top } = range.getBoundingClientRect();
      lines.set(top, (lines.get(top) ?? '') + character);
    }
    return [...lines.values()];
  });

test('a line of a Japanese text does not begin inside a word', async () => {
  const license = await service.issue({ email: 'lines@example.com', machines_allowed: 2 });
  const { signIn } = BUILT_IN_LANGUAGES['ja']!.portal;
  const page = await browser.openPage(origin, { locale: 'ja-JP', path: '/portal/' });
  await page.getByLabel(signIn.key, { exact: true }).fill(license.license_key);
  await page.getByLabel(signIn.email, { exact: true }).fill(license.email);
  await page.keyboard.press('Enter');
  const headline = page.getByRole('heading', { level: 1, name: 'コンピューター' });
  await headline.waitFor();
  await page.setViewportSize({ width: 320, height: 640 });
  // The number of lines depends on the fonts of the machine.
  expect((await linesOf(headline)).filter((line) => line.includes('コンピューター'))).toHaveLength(1);
});
