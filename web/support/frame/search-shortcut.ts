import { isPlainKey, useShortcuts } from '../parts/use-shortcuts.js';
import { goTo } from '../route.js';

/** Opens the search with `/`, ⌘K or Ctrl+K from any view. */
export function useSearchShortcut(): void {
  useShortcuts((event) => {
    if (!isSearchKey(event)) return false;
    const field = document.querySelector<HTMLElement>('[role="search"] input');
    // The search focuses its field when it is opened.
    if (field) field.focus();
    else goTo('find');
    return true;
  });
}

function isSearchKey(event: KeyboardEvent): boolean {
  const { key, metaKey, ctrlKey, altKey } = event;
  return key.toLowerCase() === 'k' ? (metaKey || ctrlKey) && !altKey : key === '/' && isPlainKey(event);
}
