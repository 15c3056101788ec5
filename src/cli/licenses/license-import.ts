import { isUtf8 } from 'node:buffer';
import { open, stat, type FileHandle } from 'node:fs/promises';
import { basename } from 'node:path';
import { pipeline } from 'node:stream';
import type { Command } from 'commander';
import { CsvError, parse } from 'csv-parse';
import {
  importColumns,
  importLicenses,
  ImportRefused,
  type ImportRow,
} from '../../licenses/license-import.js';
import { withDatabase } from '../database.js';
import { progressBar } from '../terminal/progress-bar.js';
import { actOf, callersPath, fileRefusal, print, Refused, printMessage } from '../terminal/output.js';

/** Far above what a license takes: a quotation mark that is never closed must not swallow the file. */
const MAX_ROW_BYTES = 16_384;

export function importCommand(license: Command): void {
  license
    .command('import')
    .argument('<file>', 'CSV with license_key, email and, if wanted, machines_allowed, expires_at, on_expiry')
    .description('take over licenses with the keys that their holders have; nobody is told')
    .action(importFile);
}

async function importFile(name: string, _options: unknown, command: Command): Promise<void> {
  const path = callersPath(name);
  await using file = await openFile(path);
  try {
    const rows = csvRows(file, path);
    const header = await rows.next();
    const columns = importColumns(header.value?.cells ?? []);
    const imported = await withDatabase((ground) => importLicenses(ground, columns, rows, actOf(command)));
    print(command, { imported }, `${imported} ${imported === 1 ? 'license' : 'licenses'} imported.`);
  } catch (error) {
    if (error instanceof ImportRefused) error.faults.forEach(printMessage);
    throw error;
  }
}

async function openFile(path: string): Promise<FileHandle> {
  const refuse = (error: unknown): never => {
    throw fileRefusal(path, error);
  };
  // Looked at first: to open a pipe is to wait for it.
  if (!(await stat(path).catch(refuse)).isFile()) throw new Refused(`${path} is not a file.`);
  return open(path).catch(refuse);
}

/** The rows of a CSV file that hold anything, the header among them; read as a stream, with a progress bar. */
async function* csvRows(file: FileHandle, path: string): AsyncGenerator<ImportRow, undefined> {
  const bar = progressBar(basename(path));
  let line = 1;
  const parser = parse({
    bom: true,
    delimiter: await delimiterOf(file),
    max_record_size: MAX_ROW_BYTES,
    record_delimiter: '\n',
    relax_column_count: true,
    trim: true,
    // The parser counts to the end of a row.
    on_record: (cells, { lines }) => {
      const row = Object.assign(cells, { line });
      line = lines + 1;
      return row;
    },
  });
  // Whatever goes wrong in either comes out of the parser.
  pipeline(textOf(file, path, bar), parser, () => undefined);
  try {
    for await (const cells of parser as AsyncIterable<string[] & { line: number }>) {
      if (cells.some((cell) => cell.trim() !== '')) yield { line: cells.line, cells };
    }
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    throw noRow(path, line);
  } finally {
    bar(1, 1);
  }
  return undefined;
}

/** A comma or a semicolon, as spreadsheets have it: the first in the file, for no column has either in its name. */
async function delimiterOf(file: FileHandle): Promise<string> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(1024), 0, 1024, 0);
  return /[,;]/.exec(buffer.toString('latin1', 0, bytesRead))?.[0] ?? ',';
}

/** The text of a file, which must be UTF-8, with one kind of line end; in pieces that end where a line does. */
async function* textOf(
  file: FileHandle,
  path: string,
  watch: (done: number, total: number) => void,
): AsyncGenerator<string> {
  const { size } = await file.stat();
  let done = 0;
  let line = 1;
  let rest: Buffer = Buffer.alloc(0);
  const decode = (bytes: Buffer): string => {
    if (!isUtf8(bytes)) {
      throw new Refused(
        `${path}, line ${line + firstBadLine(bytes)}: this is not UTF-8; save the file in that encoding.`,
      );
    }
    const text = bytes.toString().replaceAll(/\r\n?/g, '\n');
    line += text.split('\n').length - 1;
    return text;
  };
  for await (const piece of file.createReadStream({ autoClose: false, start: 0 }) as AsyncIterable<Buffer>) {
    const bytes = Buffer.concat([rest, piece]);
    // The last byte may be the first half of a line end.
    const end = Math.max(bytes.lastIndexOf('\n'), bytes.lastIndexOf('\r', -2)) + 1;
    yield decode(bytes.subarray(0, end));
    rest = bytes.subarray(end);
    if (rest.length > MAX_ROW_BYTES) throw noRow(path, line);
    watch((done += piece.length), size);
  }
  yield decode(rest);
}

function firstBadLine(bytes: Buffer): number {
  const lines = bytes.toString('latin1').split(/\r\n?|\n/);
  return lines.findIndex((text) => !isUtf8(Buffer.from(text, 'latin1')));
}

const noRow = (path: string, line: number) =>
  new Refused(`${path}, line ${line}: a quotation mark is missing or out of place, or the row is too long.`);
