import { appendFile, mkdir, readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { ConfigError } from '../core/config.js';
import { JobFailure } from '../mail/jobs.js';

/** What one request erased: ids by their table, and by what a restored copy recognises the address. */
export interface ErasedIds {
  readonly license: readonly string[];
  readonly purchase: readonly string[];
  readonly erasure_request: readonly string[];
  /** These three are missing in what a version before decision 0024 wrote. */
  readonly at?: Date;
  /** The keyed hash of the e-mail address. */
  readonly address?: string;
  /** The identity of the database that wrote the block. */
  readonly database?: string;
}

/** What the file says. */
export interface RecordedErasure {
  readonly erased: readonly ErasedIds[];
  /** Ids of requests. */
  readonly taken_back: readonly string[];
}

/** Who wrote a block, and when: undefined where it does not say. */
export type Origin = Pick<ErasedIds, 'database' | 'at'>;

const UUID = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}';
/** The kinds of line, and the form of what each says. */
const FORMS = {
  at: '\\d{4}-[0-9T:.-]+Z',
  database: UUID,
  address: '[0-9a-f]{64}',
  license: UUID,
  purchase: UUID,
  erasure_request: UUID,
  taken_back: UUID,
};
// A line that a crash cut short is none.
const LINE = new RegExp(
  `^(?:${Object.entries(FORMS)
    .map(([kind, form]) => `${kind} ${form}`)
    .join('|')})$`,
  'gm',
);

/**
 * Writes down what is erased, before that is committed: a database restored from a backup no longer knows. Nothing names
 * a person once the rows are empty, except to one who has LICENSE_KEY_SECRET and guesses the address.
 * @throws JobFailure where the file cannot be written
 */
export async function recordErased(file: string, tombstones: ErasedIds): Promise<void> {
  const { license, purchase, erasure_request, address } = tombstones;
  const lines = [
    ...originLines(tombstones),
    ...(address ? [`address ${address}\n`] : []),
    ...Object.entries({ license, purchase, erasure_request }).flatMap(([table, of]) =>
      of.map((id) => `${table} ${id}\n`),
    ),
  ];
  await append(file, lines.join(''));
}

/**
 * Writes down that a request was taken back: it may have been written down, and then failed, before; and a restored
 * backup in which it still waits must not carry it out. @throws JobFailure where the file cannot be written
 */
export async function recordCancelled(file: string, request: string, origin: Origin = {}): Promise<void> {
  await append(file, [...originLines(origin), `taken_back ${request}\n`].join(''));
}

const originLines = ({ database, at }: Origin): string[] => [
  ...(at ? [`at ${at.toISOString()}\n`] : []),
  ...(database ? [`database ${database}\n`] : []),
];

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

/**
 * What was erased so far, a block each, and which requests were taken back.
 * @param counts whether a block of this origin counts @throws ConfigError where the file is there and cannot be read
 */
export async function readTombstones(
  file: string,
  counts: (origin: Origin) => boolean = () => true,
): Promise<RecordedErasure> {
  const blocks = (await read(file))
    .split('\n\n')
    .map(parseBlock)
    .filter(({ origin }) => counts(origin));
  // What was written last of a request holds.
  const last = new Map(blocks.flatMap(({ lines }) => lines).map(([kind, value]) => [value, kind]));
  const erased = blocks.flatMap(({ origin, lines }) => {
    const of = (wanted: string) => lines.flatMap(([kind, value]) => (kind === wanted ? [value] : []));
    const ids = { license: of('license'), purchase: of('purchase'), erasure_request: of('erasure_request') };
    const [address] = of('address');
    // The request stands last: a block without one was cut short, and what it names was not erased.
    const isWhole = ids.erasure_request.some((id) => last.get(id) === 'erasure_request');
    return isWhole ? [{ ...ids, ...origin, ...(address && { address }) }] : [];
  });
  // One whose commit failed is written again: by then another license may have the address, or another address the license.
  const latest = new Map(erased.map((block) => [block.erasure_request.join(), block]));
  const taken_back = [...last].flatMap(([id, kind]) => (kind === 'taken_back' ? [id] : []));
  return { erased: [...latest.values()], taken_back };
}

async function read(file: string): Promise<string> {
  return readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw new ConfigError(`TOMBSTONE_FILE cannot be read: ${file} (${error.code}).`);
  });
}

function parseBlock(block: string): { origin: Origin; lines: [kind: string, value: string][] } {
  const lines = [...block.matchAll(LINE)].map(([line]) => line.split(' ') as [string, string]);
  const first = (wanted: string) => lines.find(([kind]) => kind === wanted)?.[1];
  const [database, at] = [first('database'), new Date(first('at') ?? NaN)];
  const isDated = !Number.isNaN(at.getTime());
  return { origin: { ...(database && { database }), ...(isDated && { at }) }, lines };
}
