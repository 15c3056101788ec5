import type { FileHandle } from 'node:fs/promises';
import { basename } from 'node:path';
import { columnName, type SourceRow } from '../../license-import/source-row.js';
import { columnsOf, type ExportFormat } from '../../license-import/systems.js';
import { CommandError } from '../terminal/output.js';
import { progressBar } from '../terminal/progress-bar.js';
import { csvRows } from './csv-rows.js';
import { jsonDocuments } from './json-documents.js';
import { jsonRows } from './json-rows.js';

/** The largest row of a CSV export. It has many more columns than a file of license keys, and may have comments of buyers. */
const MAX_ROW_BYTES = 262_144;

/** A row of an export. If it is refused, `content` is written to the file of the refused rows. */
export interface ExportRow extends SourceRow {
  /** The cells of a CSV file in their order, or the values of a JSON file by their paths. */
  readonly content: readonly string[] | Readonly<Record<string, string>>;
}

/** The rows of an export, and the header of a CSV file. Disposal removes the progress bar, also if no row was read. */
interface ExportRows extends AsyncDisposable {
  /** The names of the columns of a CSV file; undefined for JSON. */
  readonly header: readonly string[] | undefined;
  readonly rows: AsyncGenerator<ExportRow, undefined>;
}

/**
 * Opens the rows of an export. The first character shows whether the file is JSON or CSV.
 * @param named the columns that `--map` and `--only` name. In a JSON file, where each object has its own members, a column is only
 *   missing if no object has it.
 * @throws CommandError if a named column is missing; for CSV also if a needed column is missing, or if a column that is read has
 *   the name of another one
 */
export async function openExport(
  file: FileHandle,
  path: string,
  format: ExportFormat,
  named: readonly string[],
): Promise<ExportRows> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(1024), 0, 1024, 0);
  const isJson = /^\uFEFF?\s*[[{]/.test(buffer.toString('utf8', 0, bytesRead));
  if (!isJson) return openCsv(file, path, format, named);
  const missing = await firstMissing(readJson(file, path, format), named);
  if (missing !== undefined) throw new CommandError(noColumn(path, missing));
  const rows = readJson(file, path, format);
  return { header: undefined, rows, [Symbol.asyncDispose]: () => rows[Symbol.asyncDispose]() };
}

/**
 * Returns the first name that no row has; undefined if each is in some row, or if there are no rows. Reading stops when all names
 * are found, usually after the first row.
 */
async function firstMissing(
  rows: AsyncGenerator<ExportRow, undefined>,
  names: readonly string[],
): Promise<string | undefined> {
  if (names.length === 0) return undefined;
  let missing: readonly string[] | undefined;
  for await (const { cell } of rows) {
    missing = (missing ?? names).filter((name) => cell(columnName(name)) === undefined);
    if (missing.length === 0) return undefined;
  }
  return missing?.[0];
}

// A missing column is refused: its field would silently have the default, so that every license is active, or never expires.
const noColumn = (path: string, name: string) =>
  `${path} has no column ${name}, which --map or --only names.`;

async function* readJson(
  file: FileHandle,
  path: string,
  { resourceType }: ExportFormat,
): AsyncGenerator<ExportRow, undefined> {
  using showProgress = progressBar(basename(path));
  const documents = jsonDocuments(jsonText(file, path, showProgress), path);
  for await (const row of jsonRows(documents, resourceType)) yield { ...row, content: row.values };
}

async function* jsonText(
  file: FileHandle,
  path: string,
  onProgress: (done: number, total: number) => void,
): AsyncGenerator<string> {
  const { size } = await file.stat();
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const chunk = Buffer.alloc(65_536);
  let done = 0;
  try {
    // The file is not read as a stream: if a stream is destroyed before its end, all later reads of the same file handle fail.
    for (let bytesRead; (bytesRead = (await file.read(chunk, 0, chunk.length, done)).bytesRead) > 0;) {
      yield decoder.decode(chunk.subarray(0, bytesRead), { stream: true });
      onProgress((done += bytesRead), size);
    }
    yield decoder.decode();
  } catch (error) {
    if ((error as { code?: string }).code !== 'ERR_ENCODING_INVALID_ENCODED_DATA') throw error;
    throw new CommandError(`${path} is not UTF-8; save the file in that encoding.`);
  }
}

async function openCsv(
  file: FileHandle,
  path: string,
  format: ExportFormat,
  named: readonly string[],
): Promise<ExportRows> {
  const lines = csvRows(file, path, { delimiters: /[,;\t]/, maxRowBytes: MAX_ROW_BYTES });
  const header = (await lines.next()).value?.cells ?? [];
  const columns = header.map(columnName);
  const fault = headerFault(path, columns, format, named);
  if (fault !== undefined) {
    await lines.return(undefined);
    throw new CommandError(fault);
  }
  const names = new Map(columns.map((name, i) => [name, i]));
  async function* rows(): AsyncGenerator<ExportRow, undefined> {
    for await (const { line, cells } of lines) yield csvRow(`line ${line}`, names, cells, header.length);
  }
  return { header, rows: rows(), [Symbol.asyncDispose]: () => lines[Symbol.asyncDispose]() };
}

/** Returns why the rows below a header cannot be read, without text of the file; undefined if they can. */
function headerFault(
  path: string,
  columns: readonly string[],
  format: ExportFormat,
  named: readonly string[],
): string | undefined {
  for (const field of ['previous_key', 'email'] as const) {
    const known = format.columns[field] ?? [];
    if (known.length === 0) return `No column is known for ${field}: name it with --map "COLUMN=${field}".`;
    if (!known.some((column) => columns.includes(column)))
      return `${path} has no column for ${field}; looked for ${known.join(', ')} (without spaces and punctuation). --map "COLUMN=${field}" names another one.`;
  }
  const missing = named.find((column) => !columns.includes(columnName(column)));
  if (missing !== undefined) return noColumn(path, missing);
  const read = [...columnsOf(format), ...named.map(columnName)];
  const twice = read.find((column) => columns.indexOf(column) !== columns.lastIndexOf(column));
  return (
    twice &&
    `${path} has two columns ${twice} (without spaces and punctuation): rename the one that is not meant.`
  );
}

// Gumroad writes an apostrophe before a cell that a spreadsheet would take for a formula.
const FORMULA_QUOTE = /^'(?=[=+\-@%|])/;

function csvRow(
  place: string,
  names: ReadonlyMap<string, number>,
  cells: readonly string[],
  columnCount: number,
): ExportRow {
  const cell = (column: string) => {
    const index = names.get(column);
    return index === undefined ? undefined : (cells[index] ?? '').replace(FORMULA_QUOTE, '');
  };
  // Spreadsheets may leave out empty cells at the end of a row. In a row with too many cells, some are in a wrong column.
  const fault =
    cells.length > columnCount
      ? `the row has ${cells.length} cells, but the header has ${columnCount}: write the cell that contains the separator in quotation marks`
      : undefined;
  return { place, cell, content: cells, fault };
}
