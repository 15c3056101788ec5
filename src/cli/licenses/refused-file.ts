import { existsSync } from 'node:fs';
import { once } from 'node:events';
import { open, rename, rm, type FileHandle } from 'node:fs/promises';
import { writeError } from '../terminal/files.js';
import { CommandError } from '../terminal/output.js';
import type { ExportRow } from './export-rows.js';

/** Returns the first free name of FILE.refused.csv, FILE.refused.2.csv and so on: the user may have corrected an earlier file. */
export function nextRefusedPath(path: string, extension: 'csv' | 'json'): string {
  for (let number = 1; ; number += 1) {
    const free = `${path}.refused.${number === 1 ? '' : `${number}.`}${extension}`;
    if (!existsSync(free)) return free;
  }
}

/**
 * The file of the refused rows, with the reason in a last column. The user can correct it and import it. It is created with the
 * first refused row, under another name until it is complete.
 */
export class RefusedFile {
  /** The open `.part` file; undefined for standard output, and before the first refused row. */
  #file: FileHandle | undefined;
  #hasRows = false;

  /**
   * @param path `-` for standard output @param header the names of the columns of a CSV file; undefined for JSON
   * @throws CommandError if the file exists: the user may have corrected it
   */
  constructor(
    readonly path: string,
    private readonly header: readonly string[] | undefined,
  ) {
    if (path !== '-' && existsSync(path))
      throw new CommandError(
        `${path} exists already, and is not overwritten: give another name with --refused.`,
      );
  }

  async add({ content }: ExportRow, reason: string): Promise<void> {
    if (!this.#hasRows) await this.#open();
    const line = Array.isArray(content)
      ? csvLine([...this.#padded(content as readonly string[]), reason])
      : `${JSON.stringify({ ...content, refused: reason })}\n`;
    await this.#write(line);
  }

  /** Closes the file. @returns its path; null if no row was refused */
  async close(): Promise<string | null> {
    if (!this.#hasRows) return null;
    await this.#file?.close();
    if (this.#file) await rename(this.#part, this.path);
    return this.path;
  }

  /** Removes the incomplete file after a failure. */
  async discard(): Promise<void> {
    if (!this.#file) return;
    await this.#file.close();
    await rm(this.#part, { force: true });
  }

  get #part(): string {
    return `${this.path}.part`;
  }

  async #open(): Promise<void> {
    this.#hasRows = true;
    // Only the user of the command may read the file, because the rows have keys and addresses.
    if (this.path !== '-') this.#file = await open(this.#part, 'w', 0o600).catch(this.#refuse);
    if (this.header) await this.#write(csvLine([...this.header, 'refused']));
  }

  async #write(line: string): Promise<void> {
    if (this.#file) await this.#file.appendFile(line).catch(this.#refuse);
    else if (!process.stdout.write(line)) await once(process.stdout, 'drain');
  }

  readonly #refuse = (error: unknown): never => {
    throw new CommandError(
      `${writeError(this.#part, error).message} Correct this, or name a file in another folder with --refused, and start the import again: it continues.`,
    );
  };

  /**
   * Pads a row with fewer cells than the header, so that the reason is below `refused`. A row with more cells keeps them all: when
   * the user deletes the surplus cells, the reason moves there too.
   */
  #padded(cells: readonly string[]): readonly string[] {
    return [...cells, ...Array<string>(Math.max(0, this.header!.length - cells.length)).fill('')];
  }
}

const csvLine = (cells: readonly string[]): string =>
  `${cells.map((cell) => (/[",;\t\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(',')}\n`;
