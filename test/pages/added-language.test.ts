import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Service } from '../support/harness.js';
import { Pages } from './browser.js';
import { startForBrowser } from './service.js';

const MARKUP = '<img src=x onerror="document.title=1"><b>Licentie</b> &amp;';
const LONG = 'ververververververververververververververververververververververververlengd';

const folder = mkdtempSync(join(tmpdir(), 'mooring-languages-'));
let service: Service;
let origin: string;
beforeAll(async () => {
  const put = (name: string, content: object) => writeFileSync(join(folder, name), JSON.stringify(content));
  put('nl.json', { portal: { name: 'Licentieportaal', question: 'Waar is mijn licentie actief?' } });
  put('sv.json', { portal: { name: MARKUP, question: `${MARKUP} ${LONG} 🦊`, signIn: { email: 5 } } });
  put('ar.json', { portal: { question: 'أين ترخيصي مفعّل؟' } });
  writeFileSync(join(folder, 'da.json'), '{ no JSON');
  ({ service, origin } = await startForBrowser({ environment: { LANGUAGES_DIR: folder } }));
});
afterAll(async () => {
  await service.close();
  rmSync(folder, { recursive: true, force: true });
});
const browser = Pages.forThisFile();

test('a language of a file can be chosen, and messages that it lacks are in English', async () => {
  const page = await browser.page(origin, { locale: 'nl-BE' });
  await page.goto('/portal/');
  await page.getByRole('heading', { level: 1, name: 'Waar is mijn licentie actief?' }).waitFor();
  await page.getByLabel('E-mail address').waitFor();
  const names = await page.getByLabel('Language').locator('option').allTextContents();
  expect(names).toEqual(['English', 'Deutsch', 'Français', '日本語', 'العربية', 'Nederlands', 'Svenska']);
  await browser.expectAccessibleLayout(page);
});

test('markup in a file is shown as text, and a long word does not widen the page', async () => {
  const page = await browser.page(origin, { locale: 'sv' });
  await page.goto('/portal/');
  const heading = page.getByRole('heading', { level: 1 });
  await heading.getByText(MARKUP).waitFor();
  expect(await page.locator('main img, main b').count()).toBe(0);
  await page.getByLabel('E-mail address').waitFor();
  expect(await page.title()).toContain(MARKUP);
  await browser.expectAccessibleLayout(page);
});

test('a language that is written from right to left is shown so', async () => {
  const page = await browser.page(origin, { locale: 'ar' });
  await page.goto('/portal/');
  await page.getByRole('heading', { level: 1, name: 'أين ترخيصي مفعّل؟' }).waitFor();
  expect(await page.evaluate('document.documentElement.dir')).toBe('rtl');
  await browser.expectAccessibleLayout(page);
  await page.getByLabel('Language').selectOption('Deutsch');
  await page.getByRole('heading', { level: 1, name: 'Wo ist meine Lizenz aktiv?' }).waitFor();
  expect(await page.evaluate('document.documentElement.dir')).toBe('ltr');
});

test('the service activates with files that have errors, and logs each of them once', async () => {
  const license = await service.issue();
  expect((await service.activate(license)).status).toBe(201);
  const warnings = service.logged.filter((line) => line.includes('LANGUAGES_DIR'));
  expect(warnings.map((line) => (JSON.parse(line) as { file: string }).file)).toEqual([
    'ar.json',
    'da.json',
    'nl.json',
    'sv.json',
  ]);
});
