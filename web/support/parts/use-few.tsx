import { useState } from 'preact/hooks';
import { Button } from '../../shared/button.js';
import { plural } from '../../shared/dates.js';
import { words } from '../words.js';

/** The first of many rows, and a button for the rest: hundreds at once are slow to read and to draw. */
export function useFew<Row>(rows: readonly Row[], few: number) {
  const [all, setAll] = useState(false);
  const more = !all && rows.length > few && (
    <Button onClick={() => setAll(true)}>{plural(rows.length, words.showAll)}</Button>
  );
  return { shown: all ? rows : rows.slice(0, few), more };
}
