import { directionOf, lookUpLanguage } from '../../../src/languages/tags.js';
import type { Languages } from '../../../src/http/responses/api-types.js';
import { common } from '../texts/messages.js';
import { showTexts, type Texts } from '../texts/receive-texts.js';

/** The time limit of each request for texts. After a failure a page is shown in English, with the texts of its own files. */
const TIMEOUT_MS = 5_000;
/** The name under which the browser stores the chosen language. */
const STORAGE_NAME = 'language';

/** The languages of the service; English alone if it did not answer. */
let languages: Languages['languages'] = [{ tag: 'en', version: '' }];
/** The number of choices, so that a slow answer, or its failure, does not replace a later choice. */
let choices = 0;
let pageName = '';
let renderPage = () => {};

export const availableLanguages = (): readonly string[] => languages.map(({ tag }) => tag);

/** The language of the page. */
export const currentLanguage = (): string => document.documentElement.lang;

/**
 * Renders a page in the language that its reader chose, or else in the best one for the browser; in English if the texts cannot
 * be loaded. @param page the name of the page's section in the file of a language @param english the URL of the texts in English
 */
export async function openInLanguage(
  page: 'portal' | 'privacy',
  english: string,
  render: () => void,
): Promise<void> {
  [pageName, renderPage] = [page, render];
  try {
    // The answer has the texts in the language that the browser prefers, so that most visits need one request.
    const { tag, texts, ...answer } = (await fetchJson(`../languages?page=${page}`)) as Required<Languages>;
    ({ languages } = answer);
    const wanted = lookUpLanguage([...storedChoice(), ...navigator.languages], availableLanguages()) ?? 'en';
    show(wanted, wanted === tag ? (texts as Texts) : await fetchTexts(wanted));
  } catch {
    show('en', (await fetchJson(english)) as Texts);
  }
}

/** Shows the page in another language, and remembers the choice. @throws if the texts of the last choice cannot be loaded */
export async function chooseLanguage(tag: string): Promise<void> {
  const choice = ++choices;
  const texts = await fetchTexts(tag).catch((error: unknown) => {
    if (choice === choices) throw error;
  });
  if (choice !== choices) return;
  show(tag, texts!);
  try {
    localStorage.setItem(STORAGE_NAME, tag);
  } catch {
    // The browser stores nothing for this site, so the choice is for this visit only.
  }
}

function show(tag: string, texts: Texts): void {
  showTexts(texts);
  document.documentElement.lang = tag;
  document.documentElement.dir = directionOf(tag);
  document.querySelector('.skip')!.textContent = common.skip;
  renderPage();
}

async function fetchTexts(tag: string): Promise<Texts> {
  const version = languages.find((language) => language.tag === tag)?.version;
  return (await fetchJson(`../languages/${tag}/${pageName}?v=${version}`)) as Texts;
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
