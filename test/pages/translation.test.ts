import { test } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import { until } from '../support/until.js';
import { headline, machineRow, openByCode } from './portal-browser.js';
import { startForBrowser } from './service.js';
import { activateMachine } from './steps.js';
import { factValue, openAs, button, dialog, submitReason } from './support-browser.js';

const { service, origin, browser } = await startForBrowser({ environment: { SELF_RELEASES_PER_YEAR: '1' } });

/**
 * Translates the page as Chrome does: each text that may be translated is replaced by two nested `font` elements, here with the
 * text in angle quotes. Texts that are added later are translated too.
 */
const translate = (page: Page) =>
  page.evaluate(`{
    const translations = new WeakSet();
    const translate = (root) => {
      const texts = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
      const found = [];
      while (texts.nextNode()) found.push(texts.currentNode);
      for (const text of found) {
        if (translations.has(text) || !text.data.trim() || text.parentElement.closest('[translate=no]')) continue;
        const [outer, inner] = [document.createElement('font'), document.createElement('font')];
        const translation = document.createTextNode('«' + text.data + '»');
        translations.add(translation);
        inner.append(translation);
        outer.append(inner);
        text.replaceWith(outer);
      }
    };
    translate(document.body);
    new MutationObserver((records) => {
      for (const { target } of records) if (target.isConnected) translate(target);
    }).observe(document.body, { childList: true, subtree: true });
  }`);

const expectContent = (locator: Locator, text: string) =>
  until(async () => (await locator.textContent()) === text);

test('the portal shows what has changed also while the browser translates it, which leaves the names of machines as they are', async () => {
  const license = await service.issue({ email: 'translated@example.com', machines_allowed: 2 });
  await activateMachine(service, license, 'Studio Mac');
  await activateMachine(service, license, 'Old Mac');
  const page = await openByCode(browser, origin, service, license.email);
  await translate(page);
  await expectContent(headline(page), '«2 of 2 machines in use»');
  await button(machineRow(page, 'Old Mac'), /Release/).click();
  await button(dialog(page), '«Release it»').click();
  await expectContent(headline(page), '«1 of 2 machines in use»');
  await expectContent(page.locator('.lead'), '«You can use it on 1 more machine: enter your key there.»');
});

test('the support page shows what has changed also while the browser translates it', async () => {
  const license = await service.issue({ email: 'support@example.com', machines_allowed: 2 });
  const page = await openAs(browser, origin, service, 'admin', `#license/${license.license_id}`);
  await translate(page);
  for (const machines of ['7', '8']) {
    await page.getByRole('button', { name: /Change/ }).click();
    await dialog(page).locator('[name=machines_allowed]').fill(machines);
    await submitReason(page, 'Bought more', '«Change»');
    await expectContent(factValue(page, '«Machines»'), `«0 of ${machines} machines in use»`);
  }
});
