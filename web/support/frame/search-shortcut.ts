import { useEffect } from 'preact/hooks';
import { goTo } from '../route.js';

/** Opens the search with `/`, ⌘K or Ctrl+K from any view. A dialog and a field that is typed into keep their keys. */
export function useSearchShortcut(): void {
  useEffect(() => {
    const follow = (event: KeyboardEvent) => {
      if (!isShortcut(event) || document.querySelector('dialog[open]')) return;
      event.preventDefault();
      const field = document.querySelector<HTMLElement>('[role="search"] input');
      // The search focuses its field when it is opened.
      if (field) field.focus();
      else goTo('find');
    };
    addEventListener('keydown', follow);
    return () => removeEventListener('keydown', follow);
  }, []);
}

function isShortcut({ key, metaKey, ctrlKey, altKey, target }: KeyboardEvent): boolean {
  if (key.toLowerCase() === 'k') return (metaKey || ctrlKey) && !altKey;
  const isTyping = target instanceof Element && target.matches('input, textarea, select');
  return key === '/' && !metaKey && !ctrlKey && !isTyping;
}
