import type { ComponentChild, ComponentChildren } from 'preact';

export interface Column<Row> {
  readonly name: string;
  readonly cell: (row: Row) => ComponentChild;
  /** It names its row. */
  readonly head?: boolean;
  readonly number?: boolean;
  /** Its cells need no name beside them: what they are is plain. */
  readonly plain?: boolean;
}

interface Props<Row> {
  readonly caption: ComponentChildren;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly idOf: (row: Row) => string;
  /** The row that has just changed. */
  readonly changed?: string | undefined;
  /** Whether the rows are worked through by keyboard (`useRowKeys`). */
  readonly isWorked?: boolean;
}

/** The index of a row, so that the focus can be moved to it. */
export const rowId = (id: string) => `row-${id}`;

/** A table that becomes stacks on a narrow screen; the roles keep it a table for those who do not see it. */
export function Table<Row>({ caption, columns, rows, idOf, changed, isWorked }: Props<Row>) {
  return (
    <table role="table" class="stacked">
      <caption>{caption}</caption>
      <thead role="rowgroup">
        <tr role="row">
          {columns.map(({ name, number }) => (
            <th key={name} role="columnheader" scope="col" class={number ? 'number' : ''}>
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody role="rowgroup">
        {rows.map((row) => (
          <tr
            key={idOf(row)}
            id={rowId(idOf(row))}
            role="row"
            tabIndex={-1}
            data-worked={isWorked}
            class={changed === idOf(row) ? 'changed' : ''}
          >
            {columns.map((column) => cellOf(column, row))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function cellOf<Row>({ name, cell, head, number, plain }: Column<Row>, row: Row) {
  const inner = (
    <>
      {!head && !plain && (
        <span class="cell-name" aria-hidden="true">
          {`${name} `}
        </span>
      )}
      {cell(row)}
    </>
  );
  const className = number ? 'number' : '';
  if (!head)
    return (
      <td key={name} role="cell" class={className}>
        {inner}
      </td>
    );
  return (
    <th key={name} role="rowheader" scope="row" class={className}>
      {inner}
    </th>
  );
}
