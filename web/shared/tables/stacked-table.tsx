import type { ComponentChildren } from 'preact';

interface Props {
  /** Further classes of the table. */
  readonly class?: string;
  readonly caption: ComponentChildren;
  readonly columns: readonly { readonly name: string; readonly class?: string | undefined }[];
  /** The rows. Their elements have roles too. */
  readonly children: ComponentChildren;
}

/** A table whose cells are stacked on a narrow screen. The roles are explicit, because a table laid out as blocks loses them. */
export function StackedTable({ class: className = '', caption, columns, children }: Props) {
  return (
    <table class={`stacked ${className}`} role="table">
      <caption>{caption}</caption>
      <thead role="rowgroup">
        <tr role="row">
          {columns.map((column) => (
            <th key={column.name} role="columnheader" scope="col" class={column.class}>
              {column.name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody role="rowgroup">{children}</tbody>
    </table>
  );
}
