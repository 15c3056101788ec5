import { DataSource } from 'typeorm';
import { DAY_MS } from '../core/clock.js';
import { ConfigError } from '../core/config.js';
import { findWriteFault } from '../core/write-fault.js';
import { queryOne } from '../database/sql.js';
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
  /** Valid licenses without an address: a backup had that of a former, erased holder. Staff must set that of the present one. */
  readonly licenses_without_address: number;
  /** The ids of these licenses, at most 100. */
  readonly license_ids: readonly string[];
}

/** Compares the erasures in the database with TOMBSTONE_FILE. */
export async function readErasureState(
  dataSource: DataSource,
  tombstoneFile: string,
  now: Date,
): Promise<ErasureState> {
  const since = new Date(now.getTime() - MAX_BACKUP_AGE_DAYS * DAY_MS);
  const state = await queryOne<Omit<ErasureState, keyof FileState> & { carried_out_ids: string[] }>(
    dataSource,
    // `honoured_at` is the time at which a request was carried out.
    `select array(select id::text from erasure_request where honoured_at > $1) as carried_out_ids,
       (select count(*)::integer from license where address_lost_at is not null and ended_at is null)
         as licenses_without_address,
       array(select id::text from license where address_lost_at is not null and ended_at is null
             order by address_lost_at, id limit ${MAX_LISTED_LICENSES}) as license_ids`,
    [since],
  );
  const { carried_out_ids, ...licenses } = state;
  const oldest = new Date(now.getTime() - MAX_BLOCK_AGE_DAYS * DAY_MS);
  return { ...(await readFileState(carried_out_ids, tombstoneFile, oldest)), ...licenses };
}

/**
 * Returns the number of these requests that are not in the file, or null if the file cannot be read; whether the file can be
 * written; and whether it has blocks from before `oldest`.
 */
async function readFileState(requestIds: readonly string[], file: string, oldest: Date): Promise<FileState> {
  const is_writable = !(await findWriteFault(file, 'file'));
  try {
    let has_old_blocks = false;
    const { erased } = await readTombstones(file, ({ at }) => {
      has_old_blocks ||= at !== undefined && at < oldest;
      return true;
    });
    const recordedIds = new Set(toRequestIds(erased));
    const unrecorded = requestIds.filter((id) => !recordedIds.has(id)).length;
    return { unrecorded, is_writable, has_old_blocks };
  } catch (error) {
    if (error instanceof ConfigError) return { unrecorded: null, is_writable, has_old_blocks: false };
    throw error;
  }
}
