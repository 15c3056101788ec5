import { moveFocus } from '../../shared/announcer.js';
import { toast } from '../../shared/toast.js';
import { rowId } from './table.js';

/**
 * Says what has changed, and moves the focus to its row once it is drawn (and the dialog has given the focus back).
 * @param row the id of the row; if it is not shown, the heading of the view gets the focus
 */
export function showChange(text: string, row?: string): void {
  toast(text);
  if (row === undefined) return;
  requestAnimationFrame(() => moveFocus(document.getElementById(rowId(row)) ?? document.querySelector('h1')));
}
