import { isPlainKey, useShortcuts } from '../parts/use-shortcuts.js';

/**
 * Works through the rows of a queue by keyboard: J and K focus the next and the previous row. Another letter presses the button
 * in the focused row whose parent element has this letter as `data-key`.
 */
export function useRowKeys(): void {
  useShortcuts((event) => {
    const { key } = event;
    if (!isPlainKey(event) || !/^[a-z]$/.test(key)) return false;
    const rows = [...document.querySelectorAll<HTMLElement>('tr[data-shortcuts]')];
    const current = document.activeElement?.closest<HTMLElement>('tr[data-shortcuts]') ?? null;
    const index = current ? rows.indexOf(current) : -1;
    if (key === 'j') rows[Math.min(index + 1, rows.length - 1)]?.focus();
    else if (key === 'k') rows[Math.max(index - 1, 0)]?.focus();
    else current?.querySelector<HTMLElement>(`[data-key="${key}"] button`)?.click();
    return true;
  });
}
