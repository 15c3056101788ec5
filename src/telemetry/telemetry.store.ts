import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Clock, utcDay } from '../core/clock.js';
import { Config } from '../core/config.js';
import { isObject } from '../core/json-object.js';
import { Batch, BatchQueueFull } from '../database/batch.js';
import { poolOf } from '../database/data-source.js';
import { queryPrepared } from '../database/sql.js';
import { withTimeout } from '../database/timeout.js';
import { AppLogger } from '../core/logger.js';
import { DailyLimit } from './daily-limit.js';
import { readTelemetry, TELEMETRY_FIELDS, TELEMETRY_NAMES, type TelemetryName } from './telemetry.fields.js';

/** The largest block that is stored (docs/contract.md#heartbeat). A block is the telemetry of one heartbeat. */
const MAX_BLOCK_BYTES = 8 * 1024;

const COLUMNS = ['id', 'received_on', ...TELEMETRY_NAMES];
const TYPES = ['uuid', 'date', ...TELEMETRY_NAMES.map((name) => TELEMETRY_FIELDS[name].type)];
// The statement is a transaction of its own, so that no transaction id links telemetry to a license.
const INSERT_ROWS = `insert into telemetry_inbox (${COLUMNS.join(', ')})
  select * from unnest(${TYPES.map((type, index) => `$${index + 1}::${type}[]`).join(', ')})`;

/** The member `telemetry` of the heartbeat response. */
export interface TelemetryOutcome {
  readonly stored: boolean;
  readonly dropped: readonly TelemetryName[];
}

type Values = readonly (string | number | null)[];

/**
 * Stores telemetry without a license, a machine or a time of day. On the day of its arrival, the place of a row in the file
 * of the inbox shows about when it arrived. From the next day on, nothing shows this time, and nothing but its own values
 * links a row to a license or a machine (docs/privacy.md#telemetry).
 */
@Injectable()
export class TelemetryStore {
  readonly #inserts = new Batch<Values, true>((rows) => this.insert(rows));
  /** A histogram of the number of rows in an insert. */
  readonly batchSizes = this.#inserts.sizes;
  /** The number of blocks since the start of the process, by result. */
  readonly blocks = { stored: 0, refused: 0, over_limit: 0, failed: 0 };
  /** The number of known members with an invalid value since the start. Unknown members are not counted. */
  droppedMembers = 0;
  readonly #dailyLimit: DailyLimit;

  constructor(
    private readonly dataSource: DataSource,
    private readonly clock: Clock,
    private readonly log: AppLogger,
    config: Config,
  ) {
    this.#dailyLimit = new DailyLimit(config.telemetryRowsPerDay);
  }

  /**
   * Stores a block and waits for the commit. It never throws: a telemetry failure must not fail the heartbeat.
   * @param block the member `telemetry` as the client sent it
   * @param timeoutMs the time limit for the commit. After it, the result is `stored: false`, although the row may be stored
   */
  async store(block: unknown, timeoutMs: number): Promise<TelemetryOutcome> {
    if (!isObject(block) || isTooLarge(block)) return this.end('refused');
    const now = this.clock.now();
    if (this.isOverLimit(now)) return this.end('over_limit');
    const { values, dropped } = readTelemetry(block as Record<string, unknown>);
    this.droppedMembers += dropped.length;
    // No time is left to wait for the commit. The block is not stored, because the response would say `stored: false`
    // before the commit, and a client that sends the block again would store it twice.
    if (timeoutMs <= 0) {
      this.#dailyLimit.uncount(now);
      return this.end('failed', dropped);
    }
    try {
      const insert = this.#inserts.add(values);
      // The insert can end after the time limit. If it fails, the row no longer counts for the daily limit; if it
      // succeeds, the row is stored and counts, although the response had `stored: false`.
      insert.catch(() => this.#dailyLimit.uncount(now));
      await withTimeout(insert, timeoutMs);
      return this.end('stored', dropped);
    } catch (error) {
      // A full queue is not logged, because it would log one line for each heartbeat.
      if (!(error instanceof BatchQueueFull)) this.log.failed('telemetry not stored', error);
      return this.end('failed', dropped);
    }
  }

  /** Counts a block by its result. */
  private end(
    result: keyof TelemetryStore['blocks'],
    dropped: readonly TelemetryName[] = [],
  ): TelemetryOutcome {
    this.blocks[result] += 1;
    return { stored: result === 'stored', dropped };
  }

  // The limit keeps one client from filling the disk. Each instance has its own limit, and logs one line on each day on
  // which telemetry above it arrives.
  private isOverLimit(now: Date): boolean {
    const outcome = this.#dailyLimit.count(now);
    if (outcome === 'reached')
      this.log.warning('daily telemetry limit reached, further telemetry of today is not stored');
    return outcome !== 'counted';
  }

  // Sorts the rows of a batch by their random ids, so that their places in the inbox do not show in which order they
  // arrived. The inbox still has the batches in the order of arrival, until `moveInbox` reorders all rows.
  private async insert(rows: readonly Values[]): Promise<true[]> {
    const shuffled = rows
      .map((values) => [randomUUID(), ...values] as const)
      .toSorted(([a], [b]) => (a < b ? -1 : 1));
    const receivedOn = utcDay(this.clock.now());
    const days = rows.map(() => receivedOn);
    const columns = TELEMETRY_NAMES.map((_name, index) => shuffled.map((row) => row[index + 1]));
    const values = [shuffled.map(([id]) => id), days, ...columns];
    const statement = { name: 'insert telemetry', text: INSERT_ROWS, values };
    await queryPrepared<unknown>(poolOf(this.dataSource), statement);
    return rows.map(() => true);
  }
}

// `JSON.stringify` throws only for a block that is nested thousands of levels deep, which is then counted as too large.
function isTooLarge(block: object): boolean {
  try {
    return Buffer.byteLength(JSON.stringify(block)) > MAX_BLOCK_BYTES;
  } catch {
    return true;
  }
}
