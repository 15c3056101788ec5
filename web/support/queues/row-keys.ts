import { useEffect } from 'preact/hooks';

/**
 * Works through the rows of a queue by keyboard: J and K focus the next and the previous row, and other keys press the button
 * of the focused row that has this `data-key`.
 */
export function useRowKeys(): void {
  useEffect(() => {
    const follow = (event: KeyboardEvent) => {
      const { key, target, metaKey, ctrlKey, altKey } = event;
      if (metaKey || ctrlKey || altKey || document.querySelector('dialog[open]')) return;
      if (target instanceof Element && target.matches('input, textarea, select')) return;
      const rows = [...document.querySelectorAll<HTMLElement>('tr[data-worked]')];
      const current = document.activeElement?.closest<HTMLElement>('tr[data-worked]') ?? null;
      const index = current ? rows.indexOf(current) : -1;
      if (key === 'j') rows[Math.min(index + 1, rows.length - 1)]?.focus();
      else if (key === 'k') rows[Math.max(index - 1, 0)]?.focus();
      else if (/^[a-z]$/.test(key))
        current?.querySelector<HTMLElement>(`[data-key="${key}"] button`)?.click();
      else return;
      event.preventDefault();
    };
    addEventListener('keydown', follow);
    return () => removeEventListener('keydown', follow);
  }, []);
}
