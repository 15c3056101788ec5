import { isUtf8 } from 'node:buffer';
import { open, stat, type FileHandle } from 'node:fs/promises';
import { basename } from 'node:path';
import { pipeline } from 'node:stream';
import { CsvError, parse } from 'csv-parse';
import type { ImportRow } from '../../licenses/license-import.js';
import { explainFileError } from '../terminal/files.js';
import { CommandError } from '../terminal/output.js';
import { progressBar } from '../terminal/progress-bar.js';

/** How the rows of a CSV file are read. */
interface CsvOptions {
  /** Matches the possible delimiters. The first match outside quotation marks is the delimiter of the file. */
  readonly delimiters?: RegExp;
  /** The largest size of a row. Without a limit, a missing closing quotation mark would make the rest of the file one row. */
  readonly maxRowBytes?: number;
}

/** Opens a file to read it. @throws CommandError if the path is not a file, or the file cannot be read */
export async function openFile(path: string): Promise<FileHandle> {
  // The type is checked before the file is opened, because opening a pipe would wait for its writer.
  if (!(await explainFileError(path, stat(path))).isFile()) throw new CommandError(`${path} is not a file.`);
  return explainFileError(path, open(path));
}

/** Reads a CSV file as a stream, with a progress bar. Yields the rows that are not empty, the header first. */
export async function* csvRows(
  file: FileHandle,
  path: string,
  { delimiters = /[,;]/, maxRowBytes = 16_384 }: CsvOptions = {},
): AsyncGenerator<ImportRow, undefined> {
  using showProgress = progressBar(basename(path));
  let line = 1;
  const parser = parse({
    bom: true,
    delimiter: await delimiterOf(file, delimiters),
    max_record_size: maxRowBytes,
    record_delimiter: '\n',
    relax_column_count: true,
    trim: true,
    // `lines` is the line in which a row ends. Messages name the line in which the row begins.
    on_record: (cells, { lines }) => {
      const row = Object.assign(cells, { line });
      line = lines + 1;
      return row;
    },
  });
  // The loop below throws an error of the file or of the parser, so the callback ignores it.
  pipeline(textOf(file, path, showProgress, maxRowBytes), parser, () => undefined);
  try {
    for await (const cells of parser as AsyncIterable<string[] & { line: number }>) {
      if (cells.some((cell) => cell.trim() !== '')) yield { line: cells.line, cells };
    }
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    throw error.code === 'CSV_MAX_RECORD_SIZE'
      ? longRow(path, line, maxRowBytes)
      : new CommandError(`${path}, line ${line}: a quotation mark is missing or out of place.`);
  }
}

/** Returns the first of `delimiters` in the first 1,024 bytes, outside quotation marks, because a quoted name may contain one. */
async function delimiterOf(file: FileHandle, delimiters: RegExp): Promise<string> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(1024), 0, 1024, 0);
  const header = buffer.toString('latin1', 0, bytesRead).replaceAll(/"[^"]*"/g, '');
  return delimiters.exec(header)?.[0] ?? ',';
}

/**
 * Yields the text of a UTF-8 file with `\n` as line end, in chunks of whole lines.
 * @throws CommandError if it is not UTF-8, or a line is too long
 */
async function* textOf(
  file: FileHandle,
  path: string,
  onProgress: (done: number, total: number) => void,
  maxLineBytes: number,
): AsyncGenerator<string> {
  const { size } = await file.stat();
  let done = 0;
  let line = 1;
  let rest: Buffer = Buffer.alloc(0);
  const decode = (bytes: Buffer): string => {
    if (!isUtf8(bytes)) {
      throw new CommandError(
        `${path}, line ${line + firstInvalidLine(bytes)}: this is not UTF-8; save the file in that encoding.`,
      );
    }
    const text = bytes.toString().replaceAll(/\r\n?/g, '\n');
    line += text.split('\n').length - 1;
    return text;
  };
  for await (const chunk of file.createReadStream({ autoClose: false, start: 0 }) as AsyncIterable<Buffer>) {
    const bytes = Buffer.concat([rest, chunk]);
    // A `\r` in the last byte does not count as a line end yet, because it may be the first half of `\r\n`.
    const end = Math.max(bytes.lastIndexOf('\n'), bytes.lastIndexOf('\r', -2)) + 1;
    yield decode(bytes.subarray(0, end));
    rest = bytes.subarray(end);
    if (rest.length > maxLineBytes) throw longRow(path, line, maxLineBytes);
    onProgress((done += chunk.length), size);
  }
  yield decode(rest);
}

/** Returns the index of the first line that is not UTF-8. */
function firstInvalidLine(bytes: Buffer): number {
  const lines = bytes.toString('latin1').split(/\r\n?|\n/);
  return lines.findIndex((text) => !isUtf8(Buffer.from(text, 'latin1')));
}

// A row without its closing quotation mark continues in the next lines. Usually only its length shows this.
const longRow = (path: string, line: number, maxBytes: number) =>
  new CommandError(
    `${path}, line ${line}: this row is longer than ${maxBytes / 1024} KiB; look for a quotation mark that is not closed.`,
  );
