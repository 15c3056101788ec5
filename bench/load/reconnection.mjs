import { performance } from 'node:perf_hooks';
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import { retryHeartbeatMs } from '../../client/src/schedule.ts';
import { MIN_RETRY_SECONDS } from '../../src/http/limits/return-times.ts';
import { emptyCounts, Exchange } from './exchange.mjs';
import { seededRandom } from './poisson.mjs';

/** Requests that are sent before responses are read again. */
export const SENT_IN_A_TURN = 20;

/**
 * Simulates clients that all return within `returnSeconds`, and repeat a failed call by the rule of the reference client. The
 * times of the rule run `speed` times as fast, so that a small reconnection has the shape of one with `speed` times the clients.
 * It ends when each client was answered, or had no answer and returns only after `limitSeconds`, because its next heartbeat is
 * hours later. `returningLater` is the number of these clients.
 */
export async function reconnection(activations, { port, clients, returnSeconds, speed, seed, limitSeconds }) {
  const exchange = new Exchange(port, activations, 'new');
  const random = seededRandom(seed);
  const counts = emptyCounts();
  const limitMs = limitSeconds * 1000;
  const began = performance.now();
  const answeredAfterMs = [];
  let returningLater = 0;
  const waiting = new TimeBuckets();
  for (let client = 0; client < clients; client += 1) waiting.add(random() * returnSeconds * 1000, 0);
  const call = async (failures) => {
    const { outcome, retryAfter } = await exchange.send();
    counts[outcome] += 1;
    const now = performance.now() - began;
    if (outcome === 'right') return void answeredAfterMs.push(now);
    const returnsAt =
      now + retryHeartbeatMs(failures + 1, retryAfterAtFullSize(retryAfter, speed), random()) / speed;
    if (outcome === 'unanswered' && returnsAt > limitMs) returningLater += 1;
    else waiting.add(returnsAt, failures + 1);
  };
  while (answeredAfterMs.length + returningLater < clients && performance.now() - began < limitMs) {
    const due = waiting.take(performance.now() - began, SENT_IN_A_TURN);
    for (const failures of due) void call(failures);
    await (due.length > 0 ? nextTurn() : pause(1));
  }
  exchange.end();
  answeredAfterMs.sort((a, b) => a - b);
  return { counts, answeredAfterMs, returningLater };
}

/**
 * Returns the `retry-after` of the large reconnection: the part above the minimum grows with the number of refused clients, which
 * is `speed` times as large there.
 */
const retryAfterAtFullSize = (retryAfter, speed) =>
  retryAfter && MIN_RETRY_SECONDS + Math.max(0, retryAfter - MIN_RETRY_SECONDS) * speed;

/** Calls that wait for their time, in buckets of a millisecond. */
class TimeBuckets {
  #buckets = new Map();
  #next = 0;

  add(at, value) {
    const bucket = Math.max(Math.ceil(at), this.#next);
    const values = this.#buckets.get(bucket);
    if (values) values.push(value);
    else this.#buckets.set(bucket, [value]);
  }

  /** Removes and returns at most `count` values that are due. */
  take(now, count) {
    const taken = [];
    for (; this.#next <= now; this.#next += 1) {
      const values = this.#buckets.get(this.#next) ?? [];
      taken.push(...values.splice(0, count - taken.length));
      if (values.length > 0) return taken;
      this.#buckets.delete(this.#next);
    }
    return taken;
  }
}
