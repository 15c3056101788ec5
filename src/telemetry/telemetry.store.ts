import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { v4 as uuidv4 } from 'uuid';
import { Clock, utcDay } from '../core/clock.js';
import { Config } from '../core/config.js';
import { Batch, TooManyWait } from '../database/batch.js';
import { poolOf } from '../database/data-source.js';
import { withTimeout } from '../database/timeout.js';
import { AppLogger } from '../core/logger.js';
import { DailyLimit } from './daily-limit.js';
import { readTelemetry, TELEMETRY_FIELDS, TELEMETRY_NAMES, type TelemetryName } from './telemetry.fields.js';

/** A block over this is not stored (contract, heartbeat). */
const MAX_BLOCK_BYTES = 8 * 1024;

const COLUMNS = ['id', 'received_on', ...TELEMETRY_NAMES];
const TYPES = ['uuid', 'date', ...TELEMETRY_NAMES.map((name) => TELEMETRY_FIELDS[name].type)];
// One statement of its own, and so its own transaction: it touches telemetry and nothing else.
const INSERT = `insert into telemetry_inbox (${COLUMNS.join(', ')})
  select * from unnest(${TYPES.map((type, index) => `$${index + 1}::${type}[]`).join(', ')})`;

/** What the answer says of a block. */
export interface TelemetryOutcome {
  readonly stored: boolean;
  readonly dropped: readonly TelemetryName[];
}

type Values = readonly (string | number | null)[];

/** Keeps the telemetry of heartbeats, so that nothing links a row to a license, a binding or a time (privacy). */
@Injectable()
export class TelemetryStore {
  readonly #inserts = new Batch<Values, true>((rows) => this.insert(rows));
  /** How many went out together. */
  readonly batchSizes = this.#inserts.sizes;
  /** Since the start: blocks, by what became of them. */
  readonly blocks = { stored: 0, refused: 0, over_limit: 0, failed: 0 };
  /** Since the start: members that are known and had a bad value. An unknown one leaves no trace, here neither. */
  droppedMembers = 0;
  readonly #today: DailyLimit;

  constructor(
    private readonly dataSource: DataSource,
    private readonly clock: Clock,
    private readonly log: AppLogger,
    config: Config,
  ) {
    this.#today = new DailyLimit(config.telemetryRowsPerDay);
  }

  /**
   * Stores a block and waits for the commit. Never throws: telemetry cannot cost a user the license.
   * @param block the member `telemetry` as it was sent @param milliseconds how long the commit is waited for; one that
   * comes later counts as failed, though the row is there
   */
  async store(block: unknown, milliseconds: number): Promise<TelemetryOutcome> {
    if (typeof block !== 'object' || block === null || Array.isArray(block) || isTooLarge(block)) {
      this.blocks.refused += 1;
      return { stored: false, dropped: [] };
    }
    if (this.isOverLimit()) {
      this.blocks.over_limit += 1;
      return { stored: false, dropped: [] };
    }
    const { values, dropped } = readTelemetry(block as Record<string, unknown>);
    this.droppedMembers += dropped.length;
    try {
      const stored = await withTimeout(this.#inserts.add(values), milliseconds);
      this.blocks.stored += 1;
      return { stored, dropped };
    } catch (error) {
      this.blocks.failed += 1;
      // At the worst moment a line for each would be one too many.
      if (!(error instanceof TooManyWait)) this.log.failed('telemetry not stored', error);
      return { stored: false, dropped };
    }
  }

  // A client that sends telemetry without end must not fill the disk. One log line a day says that rows are missing.
  private isOverLimit(): boolean {
    const outcome = this.#today.take(this.clock.now());
    if (outcome === 'reached') this.log.warning('telemetry limit of the day reached');
    return outcome !== 'counted';
  }

  // Rows of the same few milliseconds, in the order of their random ids: no trace of who came first.
  private async insert(rows: readonly Values[]): Promise<true[]> {
    const shuffled = rows
      .map((values) => [uuidv4(), ...values] as const)
      .toSorted(([a], [b]) => (a < b ? -1 : 1));
    const receivedOn = utcDay(this.clock.now());
    const days = rows.map(() => receivedOn);
    const columns = TELEMETRY_NAMES.map((_name, index) => shuffled.map((row) => row[index + 1]));
    const values = [shuffled.map(([id]) => id), days, ...columns];
    await poolOf(this.dataSource).query({ name: 'insert telemetry', text: INSERT, values });
    return rows.map(() => true);
  }
}

// A block too deep to be written out again is too large in its own way.
function isTooLarge(block: object): boolean {
  try {
    return Buffer.byteLength(JSON.stringify(block)) > MAX_BLOCK_BYTES;
  } catch {
    return true;
  }
}
