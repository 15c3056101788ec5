import { moveFocus } from '../../shared/notices/announcer.js';
import { isPlainKey, useShortcuts } from '../parts/use-shortcuts.js';

const findRows = () => [...document.querySelectorAll<HTMLElement>('tr[data-shortcuts]')];
const findFocusedRow = () => document.activeElement?.closest<HTMLElement>('tr[data-shortcuts]') ?? null;

/**
 * Works through the rows of a view by keyboard: J and K focus the next and the previous row. Another letter presses the control
 * in the focused row whose parent element has this letter as `data-key`. With Shift, it presses the control of the selection bar,
 * which acts on all selected rows: its `data-key` is a capital letter, and that of a row a small one. Enter follows the link of the
 * focused row, such as that to its license.
 */
export function useRowShortcuts(): void {
  useShortcuts((event) => {
    if (!isPlainKey(event)) return false;
    if (event.key === 'Enter') return followLink();
    if (!/^[a-z]$/i.test(event.key)) return false;
    // Caps Lock changes the case of the key, but only Shift means the selected rows.
    const key = event.shiftKey ? event.key.toUpperCase() : event.key.toLowerCase();
    const rows = findRows();
    const current = findFocusedRow();
    const index = current ? rows.indexOf(current) : -1;
    const within = event.shiftKey ? findSelectedTable(current) : current;
    if (key === 'j') return focus(rows[Math.min(index + 1, rows.length - 1)]);
    if (key === 'k') return focus(rows[Math.max(index - 1, 0)]);
    const control = within?.querySelector<HTMLElement>(`[data-key="${key}"] :is(button, input)`);
    control?.click();
    return Boolean(control);
  });
}

/** @returns whether there is a row to focus */
function focus(row: HTMLElement | undefined): boolean {
  row?.focus();
  return Boolean(row);
}

/** Finds the table, with its selection bar, for a key with Shift: that of the focused row, or else one with a selected row. */
const findSelectedTable = (current: HTMLElement | null) =>
  (current ?? document.querySelector('.selectable-table tbody :checked'))?.closest('.selectable-table');

/** Enter on a control in the row is left to the browser. @returns whether the row itself has the focus, and has a link */
function followLink(): boolean {
  const row = findFocusedRow();
  const link = row === document.activeElement ? row?.querySelector('a') : null;
  link?.click();
  return Boolean(link);
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
