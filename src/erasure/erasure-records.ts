import { Injectable } from '@nestjs/common';
import { Clock } from '../core/clock.js';
import { Config } from '../core/config.js';
import { queryIds, type SqlConnection } from '../database/sql.js';
import { LicenseKeys } from '../keys/license-keys.js';
import { identifyDatabase } from './database-identity.js';
import {
  appendCancelled,
  appendErased,
  readTombstones,
  toRequestIds,
  type RecordedErasures,
} from './erased-ids.js';

/**
 * Appends the erasures and cancellations of this database to TOMBSTONE_FILE, one block for each request, and reads the blocks that
 * concern this database (docs/decisions/0024).
 */
@Injectable()
export class ErasureRecords {
  constructor(
    private readonly clock: Clock,
    private readonly config: Config,
    private readonly keys: LicenseKeys,
  ) {}

  /** Returns the keyed hash of an e-mail address. */
  hashAddress(email: string): string {
    return this.keys.hashErasedAddress(email);
  }

  /**
   * Records the ids that a request erases: its own, and the ids of its licenses and purchases.
   * @throws JobFailure if the file cannot be written
   */
  async recordErased(
    database: SqlConnection,
    { id, email, at }: { id: string; email: string; at: Date },
    { license, purchase }: { license: readonly string[]; purchase: readonly string[] },
  ): Promise<void> {
    const identity = await identifyDatabase(database, at);
    const origin = { at, database: identity.id, address: this.hashAddress(email) };
    await appendErased(this.config.tombstoneFile, { ...origin, license, purchase, erasure_request: [id] });
  }

  /** Records that a request was cancelled. @throws JobFailure if the file cannot be written */
  async recordCancelled(database: SqlConnection, id: string): Promise<void> {
    const at = this.clock.now();
    const identity = await identifyDatabase(database, at);
    await appendCancelled(this.config.tombstoneFile, id, { at, database: identity.id });
  }

  /**
   * Reads the blocks that were written by this database or a database from which it was restored, and all blocks from before this
   * database got its id. Leaves out later blocks of other copies, such as the copy of a restore drill, and the erasures whose
   * request was cancelled in this database.
   * @throws ConfigError if the file exists and cannot be read
   */
  async read(database: SqlConnection): Promise<RecordedErasures> {
    const { lineage, since } = await identifyDatabase(database, this.clock.now());
    const { erased, cancelled } = await readTombstones(
      this.config.tombstoneFile,
      // A block of a version before docs/decisions/0024 names no database, and is used. A block from before `since`, when this
      // database got its id, is used too, even if its writer is not in the lineage: the writer may be a standby that was promoted
      // after the backup was made, and a promoted standby gets an id of its own.
      ({ database: writer, at }) => !writer || lineage.has(writer) || (at !== undefined && at < since),
    );
    const cancelledHere = await queryIds(
      database,
      'select id from erasure_request where id = any($1) and cancelled_at is not null',
      [toRequestIds(erased)],
    );
    const cancelledIds = new Set(cancelledHere);
    return {
      erased: erased.filter(({ erasure_request }) => !erasure_request.some((id) => cancelledIds.has(id))),
      cancelled,
    };
  }
}
