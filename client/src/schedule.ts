import type { CallEnd } from './status.js';

/** The times of the client's calls, as pure functions: `random` is from 0 to below 1, results are milliseconds. */

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

/** Delay until a state file that could not be read, such as a locked one, is read again; it may contain a license. */
export const START_AGAIN_MS = 30 * SECOND_MS;

/** How long an activation that the machine limit refused is repeated. */
export const ACTIVATION_REPEAT_DURATION_MS = 10 * MINUTE_MS;
/** The interval at which it is repeated, and the interval while the service asks to retry later. */
export const ACTIVATION_REPEAT_INTERVAL_MS = 5 * SECOND_MS;
export const ACTIVATION_REPEAT_RETRY_MS = MINUTE_MS;

const DEFAULT_HEARTBEAT_SECONDS = 21_600;

/**
 * Delay until the next heartbeat. `isWaitingForNetwork` says whether the status is `needs_network`; `failures` counts the
 * consecutive calls that were not confirmed.
 */
export function afterCallMs(
  end: CallEnd,
  { isWaitingForNetwork, failures }: { isWaitingForNetwork: boolean; failures: number },
  random: number,
): number {
  // The start needed no call.
  if (end.kind === 'not_called') return firstHeartbeatMs(random);
  if (end.kind === 'confirmed') return nextHeartbeatMs(end.heartbeat_after_seconds, random);
  const retry = isWaitingForNetwork ? retryForNetworkMs : retryHeartbeatMs;
  return retry(failures, end.retry_after_seconds, random);
}

/**
 * Delay from the start to the first heartbeat (docs/clients.md#the-timers). It is longer than two minutes, so that an
 * application in a crash loop sends nothing. The bounds are far apart, so that machines that start together send at different
 * times.
 */
export function firstHeartbeatMs(random: number): number {
  return between(2.5 * MINUTE_MS, 8 * MINUTE_MS, random);
}

/**
 * Delay after a confirmation: the interval that the service asked for, ±5 %, so that the heartbeats of many machines stay
 * spread. It is limited: whatever interval the service asks for, the delay is more than 5 and less than 13 hours.
 */
export function nextHeartbeatMs(heartbeat_after_seconds: number | undefined, random: number): number {
  const requested = heartbeat_after_seconds ?? DEFAULT_HEARTBEAT_SECONDS;
  const seconds = Number.isFinite(requested) ? requested : DEFAULT_HEARTBEAT_SECONDS;
  return clamp(seconds * SECOND_MS, 5.5 * HOUR_MS, 12 * HOUR_MS) * between(0.95, 1.05, random);
}

/**
 * Delay after a heartbeat without a confirmation, while the application runs. The next heartbeat is not urgent, so
 * without a `retry-after` the client waits for about the usual interval. With a `retry-after` it waits for at least that
 * time, or for 6 hours if this is less. Repeated failures raise the minimum: 1, 2, 4 … 60 minutes.
 */
export function retryHeartbeatMs(
  failures: number,
  retry_after_seconds: number | undefined,
  random: number,
): number {
  if (retry_after_seconds === undefined) return between(5.4 * HOUR_MS, 6.6 * HOUR_MS, random);
  const atLeast = Math.min(MINUTE_MS * 2 ** Math.max(0, failures - 1), HOUR_MS);
  return clamp(retry_after_seconds * SECOND_MS, atLeast, 6 * HOUR_MS) * between(1, 1.1, random);
}

/**
 * Delay after a failure while the status is `needs_network`: 30 seconds, doubled with each failure up to 15 minutes, or
 * a longer `retry-after` up to 6 hours.
 */
export function retryForNetworkMs(
  failures: number,
  retry_after_seconds: number | undefined,
  random: number,
): number {
  const backOff = Math.min(30 * SECOND_MS * 2 ** Math.max(0, failures - 1), 15 * MINUTE_MS);
  const delay = clamp((retry_after_seconds ?? 0) * SECOND_MS, backOff, 6 * HOUR_MS);
  return delay * between(1, 1.25, random);
}

/** Delay from the start to the first read of the manifest, independent of the first heartbeat: the two cannot be linked. */
export function firstManifestMs(random: number): number {
  return between(2.5 * MINUTE_MS, 20 * MINUTE_MS, random);
}

/** Delay until the next read of the manifest: a day, ±1 hour. */
export function nextManifestMs(random: number): number {
  return between(23 * HOUR_MS, 25 * HOUR_MS, random);
}

function between(low: number, high: number, random: number): number {
  return low + (high - low) * random;
}

function clamp(value: number, low: number, high: number): number {
  return Math.min(Math.max(value, low), high);
}
