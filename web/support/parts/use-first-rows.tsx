import { useRef, useState } from 'preact/hooks';
import { moveFocus } from '../../shared/notices/announcer.js';
import { Button } from '../../shared/forms/button.js';
import { plural } from '../../shared/dates/dates.js';
import { messages } from '../messages.js';

/**
 * Limits a table to its first rows, because hundreds of rows are slow to render. @returns the rows to show, and a button that
 * shows all, to be rendered directly after the table
 * @param isNeeded whether a row has to be shown from the beginning; then all are
 */
export function useFirstRows<Row>(
  rows: readonly Row[],
  limit: number,
  isNeeded: (row: Row) => boolean = () => false,
) {
  const [isAllShown, setIsAllShown] = useState(() => rows.slice(limit).some(isNeeded));
  const buttonBox = useRef<HTMLDivElement>(null);
  function showAll() {
    const table = buttonBox.current!.previousElementSibling!;
    setIsAllShown(true);
    // The button disappears, so the focus moves to the first row that was hidden.
    requestAnimationFrame(() => moveFocus(table.querySelectorAll<HTMLElement>('tbody > tr')[limit] ?? null));
  }
  const showAllButton = !isAllShown && rows.length > limit && (
    <div ref={buttonBox}>
      <Button onClick={showAll}>{plural(rows.length, messages.showAll)}</Button>
    </div>
  );
  return { shown: isAllShown ? rows : rows.slice(0, limit), showAllButton };
}
