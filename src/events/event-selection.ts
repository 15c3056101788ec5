import { DataSource } from 'typeorm';
import { recordAudit, type AuditContext } from '../audit/audit.js';
import { timesAsText, type TimesAsText } from '../core/clock.js';
import { affectedRows, queryRows } from '../database/sql.js';
import type { OutgoingEvent } from './outgoing-event.js';

/** Which events a command is about. Members that are undefined select all. */
export interface EventSelection {
  readonly ids?: readonly string[] | undefined;
  readonly license_id?: string | undefined;
  /** Events that happened at or after this time. */
  readonly since?: Date | undefined;
  readonly state?: EventState | undefined;
}

export const EVENT_STATES = ['waiting', 'delivered', 'given_up'] as const;
export type EventState = (typeof EVENT_STATES)[number];

interface Row {
  readonly id: string;
  readonly type: string;
  readonly data: OutgoingEvent['data'];
  readonly occurred_at: Date;
  readonly state: EventState;
  readonly attempts: number;
  readonly last_error: string | null;
  /**
   * The time of the next attempt of a waiting event, by the clock of the database. Null before its first attempt, and for an event
   * that does not wait.
   */
  readonly next_attempt_at: Date | null;
}
/** An event as the command line prints it. */
export type EventView = TimesAsText<Row>;

const STATE = `case when delivered_at is not null then 'delivered' when given_up_at is not null then 'given_up' else 'waiting' end`;
const IS_SELECTED = `($1::uuid[] is null or id = any($1)) and ($2::uuid is null or license_id = $2)
  and ($3::timestamptz is null or occurred_at >= $3) and ($4::text is null or ${STATE} = $4)`;
const valuesOf = ({ ids, license_id, since, state }: EventSelection) => [
  ids ?? null,
  license_id ?? null,
  since ?? null,
  state ?? null,
];

/** Lists the newest events first. */
export async function listEvents(
  dataSource: DataSource,
  selection: EventSelection,
  limit: number,
): Promise<EventView[]> {
  const rows = await queryRows<Row>(
    dataSource,
    `select id, type, data, occurred_at, ${STATE} as state, attempts, last_error,
            case when ${STATE} = 'waiting' then next_attempt_at end as next_attempt_at
     from outgoing_event where ${IS_SELECTED} order by position desc limit $5`,
    [...valuesOf(selection), limit],
  );
  return rows.map(timesAsText);
}

/**
 * Lets the selected events be sent again, also delivered ones: with the same ids, in their order. Their attempts
 * are counted from zero.
 * @returns the number of events
 */
export async function resendEvents(
  dataSource: DataSource,
  selection: EventSelection,
  audit: AuditContext,
  now: Date,
): Promise<number> {
  return dataSource.transaction(async (manager) => {
    const events = await affectedRows(
      manager,
      `update outgoing_event set delivered_at = null, given_up_at = null, last_error = null, attempts = 0,
         queued_at = $5, next_attempt_at = null where ${IS_SELECTED}`,
      [...valuesOf(selection), now],
    );
    if (events > 0)
      await recordAudit(manager, audit, { action: 'events.resend', change: { events }, at: now });
    return events;
  });
}
