import { appendFile, mkdir, readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { ConfigError } from '../config.js';
import { JobFailure } from '../mail/jobs.js';

/** The ids of what one request erased, by the table they stand in. */
export interface Tombstones {
  readonly license: readonly string[];
  readonly purchase: readonly string[];
  readonly erasure_request: readonly string[];
}

// A line that a crash cut short is none.
const LINE = /^(license|purchase|erasure_request) ([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/gm;

/**
 * Writes down what is erased, before it is: a database restored from a backup no longer knows. Ids alone, which name
 * nobody once their rows are empty.
 * @throws JobFailure where the file cannot be written
 */
export async function bury(file: string, ids: Tombstones): Promise<void> {
  const lines = Object.entries(ids).flatMap(([table, of]) =>
    (of as string[]).map((id) => `${table} ${id}\n`),
  );
  try {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    // A block of its own, after whatever a crash left.
    await appendFile(file, `\n\n${lines.join('')}`, { mode: 0o600, flush: true });
  } catch (error) {
    throw new JobFailure(
      `TOMBSTONE_FILE cannot be written (${String((error as NodeJS.ErrnoException).code)})`,
    );
  }
}

/** What was erased so far, a block each. @throws ConfigError where the file is there and cannot be read */
export async function readTombstones(file: string): Promise<Tombstones[]> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw new ConfigError(`TOMBSTONE_FILE cannot be read: ${file} (${error.code}).`);
  });
  return text.split('\n\n').flatMap((block) => {
    const found = [...block.matchAll(LINE)];
    const of = (table: string) => found.filter(([, name]) => name === table).map(([, , id]) => id!);
    const ids = { license: of('license'), purchase: of('purchase'), erasure_request: of('erasure_request') };
    return found.length > 0 ? [ids] : [];
  });
}
