import { usePlainKeys } from './plain-keys.js';
import { isPlainKey, useShortcuts } from './use-shortcuts.js';
import { goTo } from '../route.js';

/** On a Mac the search has ⌘K, because Ctrl+K in a field deletes to the end of the line. */
const isMac = /mac|iphone|ipad/i.test(navigator.platform);

/** The name, for people, of the key that opens the search in addition to `/`. */
export const SEARCH_KEY = isMac ? '⌘K' : 'Ctrl+K';

/** The keys that open the search, as the attribute `aria-keyshortcuts` names them. */
export const useAriaSearchKeys = () => `${usePlainKeys() ? '/ ' : ''}${isMac ? 'Meta' : 'Control'}+K`;

/** Opens the search with `/`, and with ⌘K or Ctrl+K also while a person types in a field, from any view. */
export function useSearchShortcut(): void {
  useShortcuts((event) => {
    if (!isSearchKey(event)) return false;
    const field = document.querySelector<HTMLInputElement>('[role="search"] input');
    // The search focuses its field when it is opened.
    if (field) startSearch(field);
    else goTo('find');
    return true;
  });
}

/** Moves the focus to the search, and selects its text, so that typing replaces an earlier search. */
export function startSearch(field: HTMLInputElement): void {
  field.focus();
  field.select();
}

function isSearchKey(event: KeyboardEvent): boolean {
  if (event.key === '/') return isPlainKey(event);
  const { metaKey, ctrlKey, altKey, shiftKey } = event;
  const isOnlyModifier = (isMac ? metaKey && !ctrlKey : ctrlKey && !metaKey) && !altKey && !shiftKey;
  return isOnlyModifier && isK(event);
}

/** With a keyboard that types another script, the position of the key counts. */
const isK = ({ key, code }: KeyboardEvent) =>
  key.toLowerCase() === 'k' || (code === 'KeyK' && !/^[a-z]$/i.test(key));
