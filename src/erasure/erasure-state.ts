import { DataSource } from 'typeorm';
import { DAY_MS } from '../core/clock.js';
import { ConfigError } from '../core/config.js';
import { readTombstones } from './erased-ids.js';

/** No backup is kept longer (docs/operations.md#how-long): older lines of the file may have been removed. */
const BACKUP_DAYS = 30;
/** Licenses that are named; more are only counted. */
const NAMED_LICENSES = 100;

/** What a restore would bring back, and what one has left to do. */
export interface ErasureState {
  /** Deletion requests of the last 30 days that TOMBSTONE_FILE lacks; null where the file cannot be read. */
  readonly unrecorded: number | null;
  /** Licenses that run without an e-mail address since a restore. */
  readonly licenses_without_address: number;
  /** The first of their ids. */
  readonly license_ids: readonly string[];
}

/** Holds the deletion requests that were carried out against what TOMBSTONE_FILE says. */
export async function readErasureState(
  dataSource: DataSource,
  tombstoneFile: string,
  now: Date,
): Promise<ErasureState> {
  const since = new Date(now.getTime() - BACKUP_DAYS * DAY_MS);
  const [state] = (await dataSource.query(
    `select array(select id::text from erasure_request where honoured_at > $1) as honoured,
       (select count(*)::integer from license where address_lost_at is not null and ended_at is null)
         as licenses_without_address,
       array(select id::text from license where address_lost_at is not null and ended_at is null
             order by address_lost_at, id limit ${NAMED_LICENSES}) as license_ids`,
    [since],
  )) as [Omit<ErasureState, 'unrecorded'> & { honoured: string[] }];
  const { honoured, ...licenses } = state;
  return { unrecorded: await countUnrecorded(honoured, tombstoneFile), ...licenses };
}

async function countUnrecorded(honoured: readonly string[], file: string): Promise<number | null> {
  if (honoured.length === 0) return 0;
  try {
    const { erased } = await readTombstones(file);
    const recorded = new Set(erased.flatMap(({ erasure_request }) => erasure_request));
    return honoured.filter((id) => !recorded.has(id)).length;
  } catch (error) {
    if (error instanceof ConfigError) return null;
    throw error;
  }
}
