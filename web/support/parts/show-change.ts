import { announce, moveFocus } from '../../shared/announcer.js';
import { rowId } from './table.js';

/**
 * Says what has changed, and moves the focus to its row once it is drawn (and the dialog has given the focus back).
 * @param missing where that row is not among those shown
 */
export function showChange(text: string, row?: string, missing?: () => void): void {
  announce(text);
  if (row === undefined) return;
  requestAnimationFrame(() => {
    const shown = document.getElementById(rowId(row));
    if (shown) moveFocus(shown);
    else missing?.();
  });
}
