import { staffId } from '../call.js';

const STORAGE_NAME = 'search';

/** Keeps the text of the search field over a reload that the page itself causes, until `takeSearchText`. */
export function keepSearchText(text: string): void {
  try {
    sessionStorage.setItem(STORAGE_NAME, JSON.stringify([staffId(), text]));
  } catch {
    // The browser stores nothing for this site, so the text is lost.
  }
}

/** Returns the kept text and removes it; empty if there is none, or if it is that of another person. */
export function takeSearchText(): string {
  try {
    const [staff, text] = JSON.parse(sessionStorage.getItem(STORAGE_NAME) ?? '[]') as string[];
    sessionStorage.removeItem(STORAGE_NAME);
    return text && staff === staffId() ? text : '';
  } catch {
    return '';
  }
}
