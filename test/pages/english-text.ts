import { expect } from '@jest/globals';
import { readFileSync } from 'node:fs';
import type { Locator, Page } from 'playwright-core';

type Texts = string | { readonly [name: string]: Texts };
const textsOf = (texts: Texts): string[] =>
  typeof texts === 'string' ? [texts] : Object.values(texts).flatMap(textsOf);

/** The pieces, between placeholders, of the messages of the portal and the privacy page in one language. */
function piecesOf(tag: string): string[] {
  const path = new URL(`../../src/languages/${tag}.json`, import.meta.url);
  const { shared, portal, privacy } = JSON.parse(readFileSync(path, 'utf8')) as Record<string, Texts>;
  return textsOf({ shared: shared!, portal: portal!, privacy: privacy! })
    .flatMap((text) => text.split(/\{\w+\}|#/))
    .map((piece) => piece.trim());
}

/** The longer pieces of English messages that no message in this language contains. */
export function findEnglishPieces(tag: string): string[] {
  const text = piecesOf(tag).join('\n');
  return piecesOf('en').filter((piece) => piece.length >= 12 && !text.includes(piece));
}

/** Frequent English words that are no words of the other languages. */
const ENGLISH_WORD = /\b(the|this|that|your?|and|with|is|are|of|to|for|not)\b/i;

/** All texts that a page shows or announces, except options, texts marked as English, and texts of people outside the service. */
const SHOWN_TEXTS = `(() => {
  const texts = [document.title];
  const isOwn = (element) => !element.closest('body [lang=en], bdi, script, noscript, option');
  const nodes = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (nodes.nextNode()) {
    const { data, parentElement } = nodes.currentNode;
    if (isOwn(parentElement) && parentElement.checkVisibility()) texts.push(data);
  }
  for (const element of document.body.querySelectorAll('*'))
    for (const name of ['aria-label', 'aria-description', 'title', 'placeholder', 'alt', 'data-exact'])
      if (element.hasAttribute(name) && isOwn(element)) texts.push(element.getAttribute(name));
  return texts;
})()`;

/**
 * Expects that a page in this language shows an element, and no English text.
 * @param label of a machine, which may be English
 */
export async function expectNoEnglish(page: Page, tag: string, shown: Locator, label = ''): Promise<void> {
  await shown.first().waitFor();
  const texts = (await page.evaluate(SHOWN_TEXTS)) as string[];
  expect(texts.length).toBeGreaterThan(5);
  const pieces = findEnglishPieces(tag);
  const isEnglish = (text: string) =>
    ENGLISH_WORD.test(text.replaceAll(label, '')) || pieces.some((piece) => text.includes(piece));
  expect(texts.filter(isEnglish)).toEqual([]);
}
