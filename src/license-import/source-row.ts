/** A row of an export: a line of a CSV file, or an object of a JSON file. */
export interface SourceRow {
  /** Where the row begins, for messages: `line 7`, or `line 3, item 17`. */
  readonly place: string;
  /** Why the cells cannot be trusted, for example because they are in wrong columns; undefined if they can be trusted. */
  readonly fault?: string | undefined;
  /** Returns the text of a cell; undefined if the file has no such column. @param column in the form of `columnName` */
  cell(this: void, column: string): string | undefined;
}

/**
 * Returns the form in which names of columns are compared, without case, spaces and punctuation: `License Key`, `license_key` and
 * `licenseKey` are one column.
 */
export const columnName = (text: string): string =>
  text
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, '');
