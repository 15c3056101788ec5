import type { ComponentChild, ComponentChildren } from 'preact';
import { useLayoutEffect } from 'preact/hooks';
import { moveFocus } from '../../shared/notices/announcer.js';
import { StackedTable } from '../../shared/tables/stacked-table.js';

export interface Column<Row> {
  readonly name: string;
  readonly cell: (row: Row) => ComponentChild;
  /** Whether its cells are the headers of the rows. */
  readonly isRowHeader?: boolean;
  /** The accessible name of the row header, if its cell contains more than the name of the row. */
  readonly rowName?: (row: Row) => string;
  readonly isNumber?: boolean;
  /** A class of its header, with which the style sheet sets the width of the column; not used with `isNumber`. */
  readonly headerClass?: string;
  /** Whether a stacked cell is shown without the name of its column, because the content explains itself. */
  readonly hidesName?: boolean;
}

interface Props<Row> {
  readonly caption: ComponentChildren;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly idOf: (row: Row) => string;
  /** The ids of the rows that are highlighted, because they have just changed or were searched for. */
  readonly changed?: readonly (string | undefined)[];
  /** Whether keyboard shortcuts act on the rows (`useRowShortcuts`). */
  readonly hasRowShortcuts?: boolean;
}

/** The `id` attribute of a row, by which the focus can be moved to it. */
export const rowId = (id: string) => `row-${id}`;

/**
 * A table of rows that can get the focus. On a narrow screen a cell has the name of its column, unless it is a row header or the
 * column hides the name.
 */
export function Table<Row>({ caption, columns, rows, idOf, changed = [], hasRowShortcuts }: Props<Row>) {
  useLayoutEffect(() => {
    if (hasRowShortcuts) returnToLeftRow();
  }, []);
  return (
    <StackedTable
      caption={caption}
      columns={columns.map(({ name, isNumber, headerClass }) => ({
        name,
        class: isNumber ? 'number' : headerClass,
      }))}
    >
      {rows.map((row) => (
        <tr
          key={idOf(row)}
          id={rowId(idOf(row))}
          role="row"
          tabIndex={-1}
          // Preact writes `false` in a data attribute as a text, and `row-keys.ts` looks only for the attribute.
          data-shortcuts={hasRowShortcuts || undefined}
          class={changed.includes(idOf(row)) ? 'changed' : ''}
          onClick={noteLeftRow}
        >
          {columns.map((column) => cellOf(column, row))}
        </tr>
      ))}
    </StackedTable>
  );
}

/** Notes the row whose link leads to another view, in the entry of the history: going back then continues in this row. */
function noteLeftRow({ target, currentTarget }: MouseEvent & { readonly currentTarget: HTMLElement }): void {
  if ((target as Element).closest('a')) history.replaceState({ row: currentTarget.id }, '');
}

const leftRow = () => ((history.state ?? {}) as { readonly row?: string }).row;

/** Whether going back led to this entry of the history, and it was left from the row with this id. */
export const wasLeftFrom = (id: string) => rowId(id) === leftRow();

/** Moves the focus to the noted row, once, unless a control is in use already. */
function returnToLeftRow(): void {
  const row = leftRow();
  if (row === undefined || !document.activeElement?.matches('h1, body')) return;
  moveFocus(document.getElementById(row));
  history.replaceState(null, '');
}

function cellOf<Row>({ name, cell, isRowHeader, rowName, isNumber, hidesName }: Column<Row>, row: Row) {
  const inner = (
    <>
      {!isRowHeader && !hidesName && (
        <span class="cell-name" aria-hidden="true">
          {`${name} `}
        </span>
      )}
      {cell(row)}
    </>
  );
  const className = isNumber ? 'number' : '';
  if (!isRowHeader)
    return (
      <td key={name} role="cell" class={className}>
        {inner}
      </td>
    );
  return (
    <th key={name} role="rowheader" scope="row" class={className} aria-label={rowName?.(row)}>
      {inner}
    </th>
  );
}
