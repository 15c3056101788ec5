import { appendFile, mkdir, readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { ConfigError } from '../core/config.js';
import { syncFolder } from '../core/new-file.js';
import { JobFailure } from '../mail/jobs.js';

/**
 * A block of TOMBSTONE_FILE: the ids that one request erased, by table, and the hash by which a restored copy recognizes the
 * address.
 */
export interface ErasedIds {
  readonly license: readonly string[];
  readonly purchase: readonly string[];
  readonly erasure_request: readonly string[];
  /** The time of the erasure. This and the next two members are missing in blocks of versions before docs/decisions/0024. */
  readonly at?: Date;
  /** The keyed hash of the e-mail address. */
  readonly address?: string;
  /** The identity of the database that wrote the block. */
  readonly database?: string;
}

/** Returns the ids of the erasure requests of blocks. */
export const toRequestIds = (blocks: readonly ErasedIds[]): string[] =>
  blocks.flatMap(({ erasure_request }) => erasure_request);

/**
 * Whether a block was written for the erasure of the address with this keyed hash. A block that names a purchase of this address
 * may be about another one, because the licenses of one purchase may have different holders. A block of a version before
 * docs/decisions/0024 has no address, and is taken to be about every address.
 */
export const isAboutAddress = ({ address }: ErasedIds, hash: string): boolean =>
  address === undefined || address === hash;

/** Groups blocks by each of the ids that `idsOf` returns. */
export function blocksById(
  blocks: readonly ErasedIds[],
  idsOf: (block: ErasedIds) => readonly string[],
): Map<string, ErasedIds[]> {
  const byId = new Map<string, ErasedIds[]>();
  for (const block of blocks) for (const id of idsOf(block)) byId.set(id, [...(byId.get(id) ?? []), block]);
  return byId;
}

/** The content of TOMBSTONE_FILE. */
export interface RecordedErasures {
  readonly erased: readonly ErasedIds[];
  /** The ids of cancelled requests. */
  readonly cancelled: readonly string[];
}

/** The database that wrote a block, and the time. A member is undefined if the block does not contain it. */
export type TombstoneOrigin = Pick<ErasedIds, 'database' | 'at'>;

const UUID = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}';
/** The kinds of line, each with the pattern of its value. `taken_back` is the id of a cancelled request. */
const LINE_FORMATS = {
  at: '\\d{4}-[0-9T:.-]+Z',
  database: UUID,
  address: '[0-9a-f]{64}',
  license: UUID,
  purchase: UUID,
  erasure_request: UUID,
  taken_back: UUID,
};
// An incomplete line, which a crash can leave, does not match.
const LINE_PATTERN = new RegExp(
  `^(?:${Object.entries(LINE_FORMATS)
    .map(([kind, form]) => `${kind} ${form}`)
    .join('|')})$`,
  'gm',
);

/**
 * Appends a block with the erased ids, because a database that is restored from a backup lacks the erasure. The caller commits
 * the erasure afterwards, so that no erasure is missing in the file. The block identifies a person only to a reader who
 * has a backup that contains these ids, or who has LICENSE_KEY_SECRET and guesses the address.
 * @throws JobFailure if the file cannot be written
 */
export async function appendErased(file: string, block: ErasedIds): Promise<void> {
  const { license, purchase, erasure_request, address } = block;
  const lines = [
    ...formatOrigin(block),
    ...(address ? [`address ${address}\n`] : []),
    ...Object.entries({ license, purchase, erasure_request }).flatMap(([table, ids]) =>
      ids.map((id) => `${table} ${id}\n`),
    ),
  ];
  await appendBlock(file, lines.join(''));
}

/**
 * Appends a block that cancels a request: an earlier attempt may have recorded its erasure and then failed, and a service with a
 * restored backup in which the request still waits must not carry it out. @throws JobFailure if the file cannot be written
 */
export async function appendCancelled(
  file: string,
  requestId: string,
  origin: TombstoneOrigin = {},
): Promise<void> {
  await appendBlock(file, [...formatOrigin(origin), `taken_back ${requestId}\n`].join(''));
}

const formatOrigin = ({ database, at }: TombstoneOrigin): string[] => [
  ...(at ? [`at ${at.toISOString()}\n`] : []),
  ...(database ? [`database ${database}\n`] : []),
];

async function appendBlock(file: string, lines: string): Promise<void> {
  try {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    // The empty line separates the block from an incomplete one that a crash may have left.
    await appendFile(file, `\n\n${lines}`, { mode: 0o600, flush: true });
    await syncFolder(dirname(file));
  } catch (error) {
    throw new JobFailure(
      `TOMBSTONE_FILE cannot be written (${String((error as NodeJS.ErrnoException).code)})`,
    );
  }
}

/**
 * Reads TOMBSTONE_FILE: the erased ids, one entry for each request, and the cancelled requests. A missing file is empty.
 * @param isRelevant returns whether blocks of this origin are used
 * @throws ConfigError if the file exists and cannot be read
 */
export async function readTombstones(
  file: string,
  isRelevant: (origin: TombstoneOrigin) => boolean = () => true,
): Promise<RecordedErasures> {
  const blocks = (await readText(file))
    .split('\n\n')
    .map(parseBlock)
    .filter(({ origin }) => isRelevant(origin));
  // Of several lines about a request, erased or cancelled, the last one counts.
  const lastKind = new Map(blocks.flatMap(({ lines }) => lines).map(([kind, value]) => [value, kind]));
  const erased = blocks.flatMap(({ origin, lines }) => {
    const valuesOf = (wanted: string) => lines.flatMap(([kind, value]) => (kind === wanted ? [value] : []));
    const ids = {
      license: valuesOf('license'),
      purchase: valuesOf('purchase'),
      erasure_request: valuesOf('erasure_request'),
    };
    const [address] = valuesOf('address');
    // The request id is the last line of a block. A block without a request id is incomplete, and its ids were not erased. A block
    // is also ignored if a later line cancels the request.
    const isValid = ids.erasure_request.some((id) => lastKind.get(id) === 'erasure_request');
    return isValid ? [{ ...ids, ...origin, ...(address && { address }) }] : [];
  });
  // An erasure whose commit failed is recorded again when it is repeated. The last block counts, because licenses may have got
  // another address in between.
  const latest = new Map(erased.map((block) => [block.erasure_request.join(), block]));
  const cancelled = [...lastKind].flatMap(([id, kind]) => (kind === 'taken_back' ? [id] : []));
  return { erased: [...latest.values()], cancelled };
}

async function readText(file: string): Promise<string> {
  return readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw new ConfigError(`TOMBSTONE_FILE cannot be read: ${file} (${error.code}).`);
  });
}

function parseBlock(block: string): { origin: TombstoneOrigin; lines: [kind: string, value: string][] } {
  const lines = [...block.matchAll(LINE_PATTERN)].map(([line]) => line.split(' ') as [string, string]);
  const firstValueOf = (wanted: string) => lines.find(([kind]) => kind === wanted)?.[1];
  const [database, at] = [firstValueOf('database'), new Date(firstValueOf('at') ?? NaN)];
  const isDated = !Number.isNaN(at.getTime());
  return { origin: { ...(database && { database }), ...(isDated && { at }) }, lines };
}
