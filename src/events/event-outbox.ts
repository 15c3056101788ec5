import type pg from 'pg';
import { queryPrepared, valuesByColumn } from '../database/sql.js';
import { EVENT_TIMES, MAX_ATTEMPTS, retryDelayMs, type OutgoingEvent } from './outgoing-event.js';

/** SQL condition of an event that was neither delivered nor given up. */
export const IS_WAITING = 'delivered_at is null and given_up_at is null';

/** An event that an instance sends, with the position by which its row is found, and the number of its failed attempts. */
export interface ClaimedEvent extends OutgoingEvent {
  readonly position: string;
  readonly attempts: number;
}

/** SQL for the id whose events are sent in their order: that of the license. Events without a license share one id. */
const orderingIdOf = (alias: string) =>
  `coalesce(${alias}.license_id, '00000000-0000-0000-0000-000000000000')`;

// The first waiting event of each license, if it is due. The clock of the database measures the pauses, so that instances whose
// clocks differ do not end each other's pauses. An attempt that would wait for over `pauseLimitMs` was planned while that clock was
// ahead, so it is due as well. The lock lasts until the end of the transaction: other instances skip an event that is being sent,
// and do not select the later ones of its license. If the instance is killed, its lock ends with its connection.
const CLAIM = `
  select position, id, type, data, occurred_at, attempts from outgoing_event e
  where ${IS_WAITING} and (next_attempt_at is null or next_attempt_at <= now()
    or next_attempt_at > now() + interval '${EVENT_TIMES.pauseLimitMs} milliseconds') and not exists (
    select from outgoing_event earlier where ${orderingIdOf('earlier')} = ${orderingIdOf('e')} and earlier.position < e.position
      and earlier.delivered_at is null and earlier.given_up_at is null)
  order by next_attempt_at nulls first, position limit $1 for no key update skip locked`;

const SETTLE = `
  update outgoing_event e set delivered_at = o.delivered_at, given_up_at = o.given_up_at, last_error = o.error,
    attempts = e.attempts + (o.error is not null)::integer,
    next_attempt_at = clock_timestamp() + o.pause_ms * interval '1 millisecond'
  from unnest($1::bigint[], $2::text[], $3::timestamptz[], $4::timestamptz[], $5::float8[])
    as o (position, error, delivered_at, given_up_at, pause_ms)
  where e.position = o.position`;

/** A finished attempt to send an event. */
export interface Attempt {
  readonly event: ClaimedEvent;
  /** Null after an acknowledgement, otherwise the reason of the failure. */
  readonly error: string | null;
}

/** Claims the due events that may be sent now, in the transaction of the client, and locks them until its end. */
export async function claimEvents(client: pg.ClientBase, limit: number): Promise<ClaimedEvent[]> {
  return queryPrepared<ClaimedEvent>(client, { name: 'claim events', text: CLAIM, values: [limit] });
}

/** Stores the outcomes of attempts in the transaction that claimed the events. @param now the end of the attempts */
export async function settleAttempts(
  client: pg.ClientBase,
  attempts: readonly Attempt[],
  now: Date,
): Promise<void> {
  const outcomes = attempts.map((attempt) => outcomeOf(attempt, now));
  const values = valuesByColumn(outcomes, ['position', 'error', 'delivered_at', 'given_up_at', 'pause_ms']);
  await queryPrepared(client, { name: 'settle events', text: SETTLE, values });
}

function outcomeOf({ event, error }: Attempt, now: Date) {
  const { position } = event;
  const attempts = event.attempts + 1;
  return {
    position,
    error,
    delivered_at: error === null ? now : null,
    given_up_at: error !== null && attempts >= MAX_ATTEMPTS ? now : null,
    pause_ms: error === null ? null : retryDelayMs(attempts),
  };
}
