import { moveFocus } from '../../shared/announcer.js';
import { isPlainKey, useShortcuts } from '../parts/use-shortcuts.js';

const findRows = () => [...document.querySelectorAll<HTMLElement>('tr[data-shortcuts]')];
const findFocusedRow = () => document.activeElement?.closest<HTMLElement>('tr[data-shortcuts]') ?? null;

/**
 * Works through the rows of a view by keyboard: J and K focus the next and the previous row. Another letter presses the control
 * in the focused row whose parent element has this letter as `data-key`. With Shift, it presses that of the selected rows.
 */
export function useRowKeys(): void {
  useShortcuts((event) => {
    if (!isPlainKey(event) || !/^[a-z]$/i.test(event.key)) return false;
    // Caps Lock changes the case of the key, but only Shift means the selected rows.
    const key = event.shiftKey ? event.key.toUpperCase() : event.key.toLowerCase();
    const rows = findRows();
    const current = findFocusedRow();
    const index = current ? rows.indexOf(current) : -1;
    const within = event.shiftKey ? current?.closest('.selectable') : current;
    if (key === 'j') rows[Math.min(index + 1, rows.length - 1)]?.focus();
    else if (key === 'k') rows[Math.max(index - 1, 0)]?.focus();
    else within?.querySelector<HTMLElement>(`[data-key="${key}"] :is(button, input)`)?.click();
    return true;
  });
}

/**
 * Notes the row that has the focus before rows may disappear. @returns a function to call afterwards: if the row has disappeared,
 * it moves the focus to the row in its place, or to the heading
 */
export function keepRowFocus(): () => void {
  const row = findFocusedRow();
  const index = row ? findRows().indexOf(row) : -1;
  return () =>
    requestAnimationFrame(() => {
      if (row && !row.isConnected) moveFocus(findRows()[index] ?? document.querySelector('h1'));
    });
}
