import { Injectable } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import { Clock } from '../core/clock.js';
import { Config } from '../core/config.js';
import { LicenseKeys } from '../keys/license-keys.js';
import { identifyDatabase } from './database-identity.js';
import { recordErased, readTombstones, recordCancelled, type RecordedErasure } from './erased-ids.js';

/** A connection, a pool of them or a transaction. */
type Database = Pick<DataSource, 'query'>;

/** What this database writes to TOMBSTONE_FILE, and what of the file counts for it (docs/decisions/0024). */
@Injectable()
export class ErasureRecords {
  constructor(
    private readonly clock: Clock,
    private readonly config: Config,
    private readonly keys: LicenseKeys,
  ) {}

  /** The keyed hash of an e-mail address. */
  hash(email: string): string {
    return this.keys.erasedAddress(email);
  }

  /** Writes down what a request erases. @throws JobFailure where the file cannot be written */
  async write(
    database: Database,
    { id, email, at }: { id: string; email: string; at: Date },
    { license, purchase }: { license: readonly string[]; purchase: readonly string[] },
  ): Promise<void> {
    const identity = await identifyDatabase(database, at);
    const origin = { at, database: identity.id, address: this.hash(email) };
    await recordErased(this.config.tombstoneFile, { ...origin, license, purchase, erasure_request: [id] });
  }

  /** Writes down that a request was taken back. @throws JobFailure where the file cannot be written */
  async writeTakenBack(database: Database, id: string): Promise<void> {
    const at = this.clock.now();
    const identity = await identifyDatabase(database, at);
    await recordCancelled(this.config.tombstoneFile, id, { at, database: identity.id });
  }

  /**
   * What counts of the file: not what another restored copy wrote, nor an erasure whose request was taken back here.
   * @throws ConfigError where the file is there and cannot be read
   */
  async read(database: Database): Promise<RecordedErasure> {
    const { lineage, since } = await identifyDatabase(database, this.clock.now());
    const { erased, taken_back } = await readTombstones(
      this.config.tombstoneFile,
      // What was written before this database had a name may be of the one that it was copied from.
      ({ database: writer, at }) => !writer || lineage.has(writer) || (at !== undefined && at < since),
    );
    const cancelled = (await database.query(
      'select id from erasure_request where id = any($1) and cancelled_at is not null',
      [erased.flatMap(({ erasure_request }) => erasure_request)],
    )) as { id: string }[];
    const isCancelled = new Set(cancelled.map(({ id }) => id));
    return {
      erased: erased.filter(({ erasure_request }) => !erasure_request.some((id) => isCancelled.has(id))),
      taken_back,
    };
  }
}
