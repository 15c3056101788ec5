import { useRef, useState } from 'preact/hooks';
import { moveFocus } from '../../shared/announcer.js';
import { Button } from '../../shared/button.js';
import { plural } from '../../shared/dates.js';
import { messages } from '../messages.js';

/** The first of many rows, and a button for the rest, under their table: hundreds at once are slow to read and to draw. */
export function useFew<Row>(rows: readonly Row[], few: number) {
  const [all, setAll] = useState(false);
  const foot = useRef<HTMLDivElement>(null);
  function showAll() {
    const table = foot.current!.previousElementSibling!;
    setAll(true);
    // The button goes, and the reading goes on with the first row that was not there.
    requestAnimationFrame(() => moveFocus(table.querySelectorAll<HTMLElement>('tbody > tr')[few] ?? null));
  }
  const more = !all && rows.length > few && (
    <div ref={foot}>
      <Button onClick={showAll}>{plural(rows.length, messages.showAll)}</Button>
    </div>
  );
  return { shown: all ? rows : rows.slice(0, few), more };
}
