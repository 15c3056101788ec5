import { isUtf8 } from 'node:buffer';
import { open, stat, type FileHandle } from 'node:fs/promises';
import { basename } from 'node:path';
import { pipeline } from 'node:stream';
import type { Command } from 'commander';
import { CsvError, parse } from 'csv-parse';
import { importColumns, importLicenses, ImportError, type ImportRow } from '../../licenses/license-import.js';
import { withDatabase } from '../context/command-context.js';
import { progressBar } from '../terminal/progress-bar.js';
import {
  auditContextOf,
  fromWorkingDirectory,
  fileError,
  print,
  CommandError,
  printMessage,
} from '../terminal/output.js';

/** The largest size of a row. Without a limit, a missing closing quotation mark would make the rest of the file one row. */
const MAX_ROW_BYTES = 16_384;

/** Adds the command `license import`. */
export function importCommand(license: Command): void {
  license
    .command('import')
    .argument('<file>', 'CSV with license_key, email and, if wanted, machines_allowed, expires_at, on_expiry')
    .description('import licenses with the keys that their holders have; no mail is sent')
    .action(importFile);
}

async function importFile(name: string, _options: unknown, command: Command): Promise<void> {
  const path = fromWorkingDirectory(name);
  await using file = await openFile(path);
  try {
    const imported = await importRows(csvRows(file, path), command);
    print(command, { imported }, `${imported} ${imported === 1 ? 'license' : 'licenses'} imported.`);
  } catch (error) {
    if (error instanceof ImportError) error.faults.forEach(printMessage);
    throw error;
  }
}

/** Imports the rows of a file, of which the first is the header. @returns the number of licenses */
async function importRows(rows: AsyncGenerator<ImportRow, undefined>, command: Command): Promise<number> {
  try {
    const header = await rows.next();
    const columns = importColumns(header.value?.cells ?? []);
    return await withDatabase((context) => importLicenses(context, columns, rows, auditContextOf(command)));
  } finally {
    // Ending the generator removes the progress bar, also if a step failed before all rows were read.
    await rows.return(undefined);
  }
}

async function openFile(path: string): Promise<FileHandle> {
  const refuse = (error: unknown): never => {
    throw fileError(path, error);
  };
  // The type is checked before the file is opened, because opening a pipe would wait for its writer.
  if (!(await stat(path).catch(refuse)).isFile()) throw new CommandError(`${path} is not a file.`);
  return open(path).catch(refuse);
}

/** Reads a CSV file as a stream, with a progress bar. Yields the rows that are not empty, the header first. */
async function* csvRows(file: FileHandle, path: string): AsyncGenerator<ImportRow, undefined> {
  const showProgress = progressBar(basename(path));
  let line = 1;
  const parser = parse({
    bom: true,
    delimiter: await delimiterOf(file),
    max_record_size: MAX_ROW_BYTES,
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
  pipeline(textOf(file, path, showProgress), parser, () => undefined);
  try {
    for await (const cells of parser as AsyncIterable<string[] & { line: number }>) {
      if (cells.some((cell) => cell.trim() !== '')) yield { line: cells.line, cells };
    }
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    throw invalidRow(path, line);
  } finally {
    // Removes the progress bar.
    showProgress(1, 1);
  }
  return undefined;
}

/** Finds the delimiter: the first comma or semicolon in the header, because no column name contains one of them. */
async function delimiterOf(file: FileHandle): Promise<string> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(1024), 0, 1024, 0);
  return /[,;]/.exec(buffer.toString('latin1', 0, bytesRead))?.[0] ?? ',';
}

/** Yields the text of a UTF-8 file with `\n` as line end, in chunks of whole lines. @throws CommandError if it is not UTF-8 or not CSV */
async function* textOf(
  file: FileHandle,
  path: string,
  onProgress: (done: number, total: number) => void,
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
    if (rest.length > MAX_ROW_BYTES) throw invalidRow(path, line);
    onProgress((done += chunk.length), size);
  }
  yield decode(rest);
}

/** Returns the index of the first line that is not UTF-8. */
function firstInvalidLine(bytes: Buffer): number {
  const lines = bytes.toString('latin1').split(/\r\n?|\n/);
  return lines.findIndex((text) => !isUtf8(Buffer.from(text, 'latin1')));
}

const invalidRow = (path: string, line: number) =>
  new CommandError(
    `${path}, line ${line}: a quotation mark is missing or out of place, or the row is too long.`,
  );
