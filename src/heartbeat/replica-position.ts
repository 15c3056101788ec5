import { DAY_MS } from '../core/clock.js';

/** How far behind the primary a replica may be and still be believed (decision 0013). */
export const MAX_LAG_MS = 60_000;
/** How long the position seen last stands while the primary does not answer. */
export const MAX_SILENCE_MS = DAY_MS;

/**
 * What the primary had written, and when: a replica that has replayed the oldest position of the last minute is at most
 * a minute behind, and one that follows an idle primary is not behind at all. Only our own clock is asked.
 */
export class ReplicaPositions {
  #seen: { readonly at: number; readonly position: string }[] = [];

  /** @param position of the primary's write-ahead log @param at a moment before it was read, in milliseconds */
  note(position: string, at: number): void {
    // A clock that was set back: what was seen later than now would count for too long.
    this.#seen = this.#seen.filter((seen) => seen.at <= at);
    this.#seen.push({ at, position });
  }

  /** What a replica must have replayed to be believed; undefined where none can be. */
  needed(now: number): string | undefined {
    // While the primary is away nothing more is seen of it, and the last position stands.
    while (this.#seen.length > 1 && this.#seen[0]!.at < now - MAX_LAG_MS) this.#seen.shift();
    const [oldest] = this.#seen;
    // One of the future was seen by another clock than ours is now.
    return oldest && oldest.at >= now - MAX_SILENCE_MS && oldest.at <= now ? oldest.position : undefined;
  }
}
