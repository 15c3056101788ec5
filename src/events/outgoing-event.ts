/** The types of the events (docs/events.md#types). */
export const EVENT_TYPES = [
  'license.issued',
  'license.limit_reached',
  'license.ended',
  'license.reinstated',
  'license.erased',
  'activation.created',
  'activation.released',
  'manifest.published',
] as const;
export type EventType = (typeof EVENT_TYPES)[number];

/** The part of a row of `outgoing_event` that is sent. */
export interface OutgoingEvent {
  readonly id: string;
  readonly type: EventType;
  /** Ids, a reason word, or sequence and version of a manifest; never personal data. */
  readonly data: Readonly<Record<string, string | number>>;
  readonly occurred_at: Date;
}

/** The times of the delivery. An object, so that tests can change them. */
export const EVENT_TIMES = {
  /** The interval at which an instance looks for events that have become due. */
  pollMs: 1_000,
  /** The pause after a round of attempts that all failed, and after an error of the database. */
  failurePauseMs: 3_000,
  /** The time limit of an attempt. */
  attemptMs: 10_000,
  /** The pause before the second attempt. Each later pause is three times as long, up to the longest one. */
  firstRetryMs: 5_000,
  longestRetryMs: 3 * 3_600_000,
  /**
   * No pause is as long as this. If a stored one is, it was stored while the clock of the database was ahead, and the event is sent
   * at once.
   */
  pauseLimitMs: 4 * 3_600_000,
};

/**
 * After this number of failed attempts an event is given up: about four days, if they follow each other as `retryDelayMs` says. The
 * limit is a number of attempts, not of days, because an event may wait for days before its first attempt.
 */
export const MAX_ATTEMPTS = 40;

/**
 * The pause before the next attempt, up to a fifth longer or shorter, so that the events of an outage are not all repeated at once.
 * @param attempts the number of failed attempts, from 1 @param random a number from 0 to 1
 */
export function retryDelayMs(attempts: number, random = Math.random()): number {
  const { firstRetryMs, longestRetryMs } = EVENT_TIMES;
  return Math.min(firstRetryMs * 3 ** (attempts - 1), longestRetryMs) * (0.8 + 0.4 * random);
}
