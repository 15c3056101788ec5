import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { expectTitle } from './portal-browser.js';
import { startForBrowser } from './service.js';
import { temporaryFolder } from '../support/folders.js';

const MARKUP = '<img src=x onerror="document.title=1"><b>Licentie</b> &amp;';
const LONG_WORD = 'ververververververververververververververververververververververververlengd';

const folder = temporaryFolder();
const writeLanguage = (name: string, messages: object) =>
  writeFileSync(join(folder, name), JSON.stringify(messages));
writeLanguage('nl.json', {
  portal: { name: 'Licentieportaal', question: 'Waar is mijn licentie actief?' },
});
writeLanguage('sv.json', {
  portal: { name: MARKUP, question: `${MARKUP} ${LONG_WORD} 🦊`, signIn: { email: 5 } },
});
writeLanguage('ar.json', { portal: { question: 'أين ترخيصي مفعّل؟' } });
writeLanguage('pt-BR.json', { portal: { question: 'Onde minha licença está ativa?' } });
writeFileSync(join(folder, 'da.json'), '{ no JSON');
mkdirSync(join(folder, 'descriptions'));
writeLanguage('descriptions/nl.json', { 'Licenses.': 'Licenties.' });
const { service, origin, browser } = await startForBrowser({ environment: { LANGUAGES_DIR: folder } });

test('a language in LANGUAGES_DIR is used and offered, and messages that it lacks are in English', async () => {
  const page = await browser.openPage(origin, { locale: 'nl-BE', path: '/portal/' });
  await page.getByRole('heading', { level: 1, name: 'Waar is mijn licentie actief?' }).waitFor();
  await page.getByLabel('E-mail address').waitFor();
  const names = await page.getByLabel('Language').locator('option').allTextContents();
  expect(names).toEqual([
    'English',
    'Deutsch',
    'Français',
    '日本語',
    'العربية',
    'Nederlands',
    'Português (Brasil)',
    'Svenska',
  ]);
});

test('descriptions of stored data that a language lacks are in English, and marked as such', async () => {
  const page = await browser.openPage(origin, { locale: 'nl', path: '/privacy/' });
  const header = page.getByRole('rowheader');
  await header.getByText('Licenties', { exact: true }).waitFor();
  await page.getByText('Descriptions without a translation are in English.').waitFor();
  const marked = header.locator('[lang=en]');
  expect(await marked.count()).toBe((await header.count()) - 1);
  await marked.getByText('Staff members of the vendor', { exact: true }).waitFor();
  const kept = page.getByRole('cell').locator('[lang=en]');
  await kept.getByText('24 months from the day it was received', { exact: true }).waitFor();
  await browser.expectLayout(page);
});

test('a language with a region is chosen in the footer and shown, also after a reload', async () => {
  const page = await browser.openPage(origin, { path: '/portal/' });
  await page.getByLabel('Language').selectOption('pt-BR');
  const heading = page.getByRole('heading', { level: 1, name: 'Onde minha licença está ativa?' });
  await heading.waitFor();
  await page.reload();
  await heading.waitFor();
  expect(await page.evaluate('document.documentElement.lang')).toBe('pt-BR');
});

test('markup in a language file is shown as text, and a long word does not widen the page', async () => {
  const page = await browser.openPage(origin, { locale: 'sv', path: '/portal/' });
  const heading = page.getByRole('heading', { level: 1 });
  await heading.getByText(MARKUP).waitFor();
  expect(await page.locator('main img, main b').count()).toBe(0);
  await page.getByLabel('E-mail address').waitFor();
  await expectTitle(page, `${MARKUP} ${LONG_WORD} 🦊 · com.example.app`);
  await browser.expectLayout(page);
});

test('a page in a language that is written from right to left has that direction', async () => {
  const page = await browser.openPage(origin, { locale: 'ar', path: '/portal/' });
  await page.getByRole('heading', { level: 1, name: 'أين ترخيصي مفعّل؟' }).waitFor();
  expect(await page.evaluate('document.documentElement.dir')).toBe('rtl');
  await browser.expectLayout(page);
  await page.getByLabel('Language').selectOption('Deutsch');
  await page.getByRole('heading', { level: 1, name: 'Wo ist meine Lizenz aktiv?' }).waitFor();
  expect(await page.evaluate('document.documentElement.dir')).toBe('ltr');
});

test('a machine can be activated although language files are incomplete or invalid, and each such file is logged once', async () => {
  const license = await service.issue();
  expect((await service.activate(license)).status).toBe(201);
  const warnings = service.logged.filter((line) => line.includes('LANGUAGES_DIR'));
  expect(warnings.map((line) => (JSON.parse(line) as { file: string }).file)).toEqual([
    'ar.json',
    'da.json',
    'nl.json',
    'pt-BR.json',
    'sv.json',
    'descriptions/nl.json',
  ]);
});
