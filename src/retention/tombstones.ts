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

/** What the file says. */
export interface Buried {
  readonly erased: readonly Tombstones[];
  /** Ids of requests. */
  readonly taken_back: readonly string[];
}

// A line that a crash cut short is none.
const LINE =
  /^(license|purchase|erasure_request|taken_back) ([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/gm;

/**
 * Writes down what is erased, before that is committed: a database restored from a backup no longer knows. Ids alone,
 * which name nobody once their rows are empty.
 * @throws JobFailure where the file cannot be written
 */
export async function bury(file: string, ids: Tombstones): Promise<void> {
  const { license, purchase, erasure_request } = ids;
  const lines = Object.entries({ license, purchase, erasure_request }).flatMap(([table, of]) =>
    of.map((id) => `${table} ${id}\n`),
  );
  await append(file, lines.join(''));
}

/**
 * Writes down that a request was taken back: it may have been written down, and then failed, before; and a restored
 * backup in which it still waits must not carry it out. @throws JobFailure where the file cannot be written
 */
export async function spare(file: string, request: string): Promise<void> {
  await append(file, `taken_back ${request}\n`);
}

async function append(file: string, lines: string): Promise<void> {
  try {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    // A block of its own, after whatever a crash left.
    await appendFile(file, `\n\n${lines}`, { mode: 0o600, flush: true });
  } catch (error) {
    throw new JobFailure(
      `TOMBSTONE_FILE cannot be written (${String((error as NodeJS.ErrnoException).code)})`,
    );
  }
}

/** What was erased so far, a block each, and which requests were taken back. @throws ConfigError where the file is there and cannot be read */
export async function readTombstones(file: string): Promise<Buried> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw new ConfigError(`TOMBSTONE_FILE cannot be read: ${file} (${error.code}).`);
  });
  const blocks = text
    .split('\n\n')
    .map((block) => [...block.matchAll(LINE)].map(([, kind, id]) => [kind!, id!] as const));
  // What was written last of a request holds.
  const last = new Map(blocks.flat().map(([kind, id]) => [id, kind]));
  const erased = blocks.flatMap((lines) => {
    const of = (table: string) => lines.flatMap(([kind, id]) => (kind === table ? [id] : []));
    const ids = { license: of('license'), purchase: of('purchase'), erasure_request: of('erasure_request') };
    // The request stands last: a block without one was cut short, and what it names was not erased.
    return ids.erasure_request.some((id) => last.get(id) === 'erasure_request') ? [ids] : [];
  });
  const taken_back = [...last].flatMap(([id, kind]) => (kind === 'taken_back' ? [id] : []));
  return { erased, taken_back };
}
