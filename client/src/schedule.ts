import type { CallEnd } from './status.js';

/** When the client calls. All pure: `random` is a number from 0 up to 1, results are milliseconds. */

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** A state file that another program holds is let go of sooner or later, and may hold a license. */
export const START_AGAIN_MS = 30 * SECOND;

export const DEFAULT_HEARTBEAT_SECONDS = 21_600;

/** The next heartbeat. @param failures calls in a row that were not confirmed */
export function afterCallMs(
  end: CallEnd,
  { isLateRestart, failures }: { isLateRestart: boolean; failures: number },
  random: number,
): number {
  if (end.kind === 'not_called') return firstHeartbeatMs(random);
  if (end.kind === 'confirmed') return nextHeartbeatMs(end.heartbeat_after_seconds, random);
  const retry = isLateRestart ? retryLateRestartMs : retryHeartbeatMs;
  return retry(failures, end.retry_after_seconds, random);
}

/**
 * A few minutes after startup (docs/contract.md#heartbeat), and never in the first two, in which a crash loop or a computer
 * that starts all machines at once would make them send at the same moment.
 */
export function firstHeartbeatMs(random: number): number {
  return between(2.5 * MINUTE, 8 * MINUTE, random);
}

/**
 * What the service asked for, give or take 5 %, so that a fleet never falls into step. Bounded: no answer, however
 * broken, makes the client hammer (two heartbeats within five hours) or go silent.
 */
export function nextHeartbeatMs(heartbeat_after_seconds: number | undefined, random: number): number {
  const asked = heartbeat_after_seconds ?? DEFAULT_HEARTBEAT_SECONDS;
  const sane = Number.isFinite(asked) ? asked : DEFAULT_HEARTBEAT_SECONDS;
  return clamp(sane * SECOND, 5.5 * HOUR, 12 * HOUR) * between(0.95, 1.05, random);
}

/**
 * After a heartbeat that brought no confirmation, while the application runs. Nothing is urgent then, so without a
 * `retry-after` the next try is the next interval, jittered more widely. A `retry-after` is never undercut, and a
 * server that keeps asking for haste is believed less each time: at least 1, 2, 4 … 60 minutes.
 */
export function retryHeartbeatMs(
  failures: number,
  retry_after_seconds: number | undefined,
  random: number,
): number {
  if (retry_after_seconds === undefined) return between(5.4 * HOUR, 6.6 * HOUR, random);
  const atLeast = Math.min(MINUTE * 2 ** Math.max(0, failures - 1), HOUR);
  return clamp(retry_after_seconds * SECOND, atLeast, 6 * HOUR) * between(1, 1.1, random);
}

/** While a late restart waits for the network a person waits too: half a minute, doubled up to a quarter of an hour. */
export function retryLateRestartMs(
  failures: number,
  retry_after_seconds: number | undefined,
  random: number,
): number {
  const backOff = Math.min(30 * SECOND * 2 ** Math.max(0, failures - 1), 15 * MINUTE);
  const asked = clamp((retry_after_seconds ?? 0) * SECOND, backOff, 6 * HOUR);
  return asked * between(1, 1.25, random);
}

/** Soon after the start, but not beside it and not in step with the heartbeat: the read is anonymous. */
export function firstManifestMs(random: number): number {
  return between(2.5 * MINUTE, 20 * MINUTE, random);
}

/** Daily, give or take an hour. */
export function nextManifestMs(random: number): number {
  return between(23 * HOUR, 25 * HOUR, random);
}

function between(low: number, high: number, random: number): number {
  return low + (high - low) * random;
}

function clamp(value: number, low: number, high: number): number {
  return Math.min(Math.max(value, low), high);
}
