import { moveFocus } from '../../shared/announcer.js';
import { toast } from '../../shared/toast.js';
import { rowId } from './table.js';

/**
 * Shows a message about a change, and moves the focus to its row. It waits for the next frame, in which the row is rendered and
 * a closed dialog has returned the focus.
 * @param row the id of the row; if it is not shown, the heading of the view gets the focus
 */
export function showChange(text: string, row?: string): void {
  toast(text);
  if (row === undefined) return;
  requestAnimationFrame(() => moveFocus(document.getElementById(rowId(row)) ?? document.querySelector('h1')));
}
