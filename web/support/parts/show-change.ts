import { announce, moveFocus } from '../../shared/announcer.js';
import { rowId } from './table.js';

/** Says what has changed, and moves the focus to its row once it is drawn (and the dialog has given the focus back). */
export function showChange(text: string, row?: string): void {
  announce(text);
  if (row !== undefined) requestAnimationFrame(() => moveFocus(document.getElementById(rowId(row))));
}
