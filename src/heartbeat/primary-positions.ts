import { DAY_MS } from '../core/clock.js';

/** The largest lag of a replica that may confirm heartbeats (docs/decisions/0013). */
export const MAX_LAG_MS = 60_000;
/** While the primary does not respond, its last known position is used for this time. */
export const MAX_POSITION_AGE_MS = DAY_MS;

/**
 * Records positions in the write-ahead log (WAL) of the primary, with the time of each read. A replica that has replayed the
 * oldest position of the last minute lags by at most a minute. An idle primary does not make a replica appear to lag, because
 * its position does not change. All times are those of this process, so the clock of the database has no effect.
 */
export class PrimaryPositions {
  #records: { readonly at: number; readonly position: string }[] = [];

  /** Records a position. @param position an LSN as text @param at the time just before it was read, in Unix milliseconds */
  record(position: string, at: number): void {
    // After the clock was set back, records with later times would stay valid for too long.
    this.#records = this.#records.filter((record) => record.at <= at);
    this.#records.push({ at, position });
  }

  /** The position that a replica must have replayed to confirm heartbeats; undefined if no position of the last day is known. */
  requiredPosition(now: number): string | undefined {
    // Keeps the last position, which is used while the primary is unavailable.
    while (this.#records.length > 1 && this.#records[0]!.at < now - MAX_LAG_MS) this.#records.shift();
    const [oldest] = this.#records;
    // A time in the future was recorded before the clock was set back.
    return oldest && oldest.at >= now - MAX_POSITION_AGE_MS && oldest.at <= now ? oldest.position : undefined;
  }
}
