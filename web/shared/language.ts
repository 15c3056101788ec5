import { directionOf, lookUpLanguage } from '../../src/languages/tags.js';
import type { Languages } from './api-types.js';
import { common } from './messages.js';
import { showTexts } from './translated.js';

/** A page is shown in English if the texts of another language do not arrive in this time. */
const TIMEOUT_MS = 5_000;
/** The name under which the browser stores the chosen language. */
const STORAGE_NAME = 'language';

/** The languages of the service. The texts of a language without a version are in the page itself. */
let languages: Languages['languages'] = [{ tag: 'en', version: null }];
/** The language that was requested last, so that a slow answer does not replace a later choice. */
let requested = 'en';
let pageName = '';
let renderPage = () => {};

export const availableLanguages = (): readonly string[] => languages.map(({ tag }) => tag);

/** The language of the page. */
export const currentLanguage = (): string => document.documentElement.lang;

/**
 * Renders a page in the language that its reader chose, or else in the best one for the browser; in English if the texts cannot
 * be loaded. @param page the name of the page's section in the file of a language
 */
export async function openInLanguage(page: 'portal' | 'privacy', render: () => void): Promise<void> {
  [pageName, renderPage] = [page, render];
  try {
    ({ languages } = (await fetchJson('../languages')) as Languages);
    const wanted = [...storedChoice(), ...navigator.languages];
    await show(lookUpLanguage(wanted, availableLanguages()) ?? 'en');
  } catch {
    render();
  }
}

/** Shows the page in another language, and remembers the choice. @throws if the texts cannot be loaded */
export async function chooseLanguage(tag: string): Promise<void> {
  if (!(await show(tag))) return;
  try {
    localStorage.setItem(STORAGE_NAME, tag);
  } catch {
    // The browser stores nothing for this site, so the choice is for this visit only.
  }
}

/** @returns false if another language was requested meanwhile */
async function show(tag: string): Promise<boolean> {
  requested = tag;
  const texts = await readTexts(tag);
  if (requested !== tag) return false;
  showTexts(texts);
  document.documentElement.lang = tag;
  document.documentElement.dir = directionOf(tag);
  document.querySelector('.skip')!.textContent = common.skip;
  renderPage();
  return true;
}

async function readTexts(tag: string): Promise<Parameters<typeof showTexts>[0]> {
  const version = languages.find((language) => language.tag === tag)?.version;
  if (!version) return undefined;
  return (await fetchJson(`../languages/${tag}/${pageName}?v=${version}`)) as Parameters<typeof showTexts>[0];
}

async function fetchJson(url: string): Promise<unknown> {
  const answer = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) });
  if (!answer.ok) throw new Error(`The answer was ${answer.status}.`);
  return answer.json();
}

function storedChoice(): string[] {
  try {
    const choice = localStorage.getItem(STORAGE_NAME);
    return choice === null ? [] : [choice];
  } catch {
    return [];
  }
}
