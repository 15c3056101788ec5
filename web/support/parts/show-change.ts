import { moveFocus } from '../../shared/notices/announcer.js';
import { toast } from '../../shared/notices/toast.js';
import { rowId } from './table.js';
import { isTextField } from './use-shortcuts.js';

/**
 * Shows a message about a change, and moves the focus to its row.
 * @param row the id of the row; if no row with this id is shown, the heading of the view gets the focus; undefined
 * leaves the focus where it is
 */
export function showChange(text: string, row?: string): void {
  toast(text);
  if (row !== undefined) focusRow(row);
}

/**
 * Moves the focus to a row, or to the heading of the view if the row is not shown. It waits for the next frame, in which the row
 * is rendered and a closed dialog has returned the focus.
 */
export function focusRow(row: string): void {
  requestAnimationFrame(() => {
    const element = document.getElementById(rowId(row));
    // While the rows were loaded, the person may have opened another view and begun to type there.
    if (!element && isTextField(document.activeElement)) return;
    moveFocus(element ?? document.querySelector('h1'));
  });
}
