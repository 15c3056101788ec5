import { DataSource } from 'typeorm';
import { DAY_MS } from '../core/clock.js';
import { ConfigError } from '../core/config.js';
import { findWriteFault } from '../core/write-fault.js';
import { Batch } from '../database/batch.js';
import { REQUEST_TIMEOUTS_MS } from '../database/request-timeouts.js';
import { queryOne } from '../database/sql.js';
import { LICENSE_END } from '../licenses/license-end.js';
import { TimeoutError, withTimeout } from '../database/timeout.js';
import { readTombstones, toRequestIds } from './erased-ids.js';

/**
 * The time for which backups are kept (docs/operations/backups.md#backup-retention). TOMBSTONE_FILE consists of blocks, one for
 * each erasure or cancellation. Blocks older than this may be removed.
 */
const MAX_BACKUP_AGE_DAYS = 30;
/** Operators remove older blocks every six months, so that none is kept for longer than this (docs/privacy.md#erasure). */
const MAX_BLOCK_AGE_DAYS = 184 + MAX_BACKUP_AGE_DAYS;
/** The number of licenses that are listed by id; further ones are only counted. */
const MAX_LISTED_LICENSES = 100;

interface FileState {
  /** The number of erasures of the last 30 days that are missing in TOMBSTONE_FILE. Null if the file cannot be read. */
  readonly unrecorded: number | null;
  /** Whether TOMBSTONE_FILE can be written: otherwise no erasure is carried out. */
  readonly is_writable: boolean;
  /** Whether TOMBSTONE_FILE has blocks that operators should have removed. */
  readonly has_old_blocks: boolean;
}

/**
 * For warnings and metrics: the erasures that a restore would undo, and the valid licenses that lost their address in a restore.
 */
export interface ErasureState extends FileState {
  /**
   * The number of valid licenses that lost their address: a restored backup had the address of a former, erased holder. Staff must
   * set the address of the present holder.
   */
  readonly licenses_without_address: number;
  /** The ids of these licenses, at most 100. */
  readonly license_ids: readonly string[];
}

/** What is known about TOMBSTONE_FILE itself. */
interface TombstoneFile {
  /** The ids of the recorded erasures. Null if the file cannot be read. */
  readonly recordedIds: ReadonlySet<string> | null;
  readonly is_writable: boolean;
  /** The time of the oldest block. */
  readonly oldestAt?: Date | undefined;
}

/**
 * Reads TOMBSTONE_FILE for the warnings. A shared folder that does not answer keeps each read waiting in one of the few threads of
 * Node, without which the service can neither read a file nor write its log. Therefore one read runs at a time.
 */
export class TombstoneReader {
  /** Callers share the next read, so that each sees the erasures that were recorded before its call. */
  readonly #reads: Batch<null, TombstoneFile>;

  constructor(file: string) {
    const read = async (callers: readonly null[]) => {
      const state = await readTombstoneFile(file);
      return callers.map(() => state);
    };
    this.#reads = new Batch(read, Infinity, 1);
  }

  /** A file that does not answer in time can be neither read nor written. */
  async read(): Promise<TombstoneFile> {
    try {
      return await withTimeout(this.#reads.add(null), REQUEST_TIMEOUTS_MS.tombstones);
    } catch (error) {
      if (error instanceof TimeoutError) return { recordedIds: null, is_writable: false };
      throw error;
    }
  }
}

async function readTombstoneFile(file: string): Promise<TombstoneFile> {
  const is_writable = !(await findWriteFault(file, 'file'));
  try {
    let oldestAt: Date | undefined;
    const { erased } = await readTombstones(file, ({ at }) => {
      if (at && !(oldestAt && oldestAt <= at)) oldestAt = at;
      return true;
    });
    return { recordedIds: new Set(toRequestIds(erased)), is_writable, oldestAt };
  } catch (error) {
    if (error instanceof ConfigError) return { recordedIds: null, is_writable };
    throw error;
  }
}

/** The condition of a license that lost its address and has not ended; `$2` is the current time. */
const NEEDS_ADDRESS = `address_lost_at is not null and (${LICENSE_END} <= $2) is not true`;

/** Compares the erasures in the database with TOMBSTONE_FILE. */
export async function readErasureState(
  dataSource: DataSource,
  tombstones: TombstoneReader,
  now: Date,
): Promise<ErasureState> {
  const since = new Date(now.getTime() - MAX_BACKUP_AGE_DAYS * DAY_MS);
  const state = await queryOne<Omit<ErasureState, keyof FileState> & { carried_out_ids: string[] }>(
    dataSource,
    // `honoured_at` is the time at which a request was carried out.
    `select array(select id::text from erasure_request where honoured_at > $1) as carried_out_ids,
       (select count(*)::integer from license where ${NEEDS_ADDRESS}) as licenses_without_address,
       array(select id::text from license where ${NEEDS_ADDRESS}
             order by address_lost_at, id limit ${MAX_LISTED_LICENSES}) as license_ids`,
    [since, now],
  );
  const { carried_out_ids, ...licenses } = state;
  const { recordedIds, is_writable, oldestAt } = await tombstones.read();
  const oldestAllowed = new Date(now.getTime() - MAX_BLOCK_AGE_DAYS * DAY_MS);
  return {
    unrecorded: recordedIds && carried_out_ids.filter((id) => !recordedIds.has(id)).length,
    is_writable,
    has_old_blocks: oldestAt !== undefined && oldestAt < oldestAllowed,
    ...licenses,
  };
}
