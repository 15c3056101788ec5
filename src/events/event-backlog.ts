import { DataSource } from 'typeorm';
import { timesAsText, type TimesAsText } from '../core/clock.js';
import { queryOne } from '../database/sql.js';
import { IS_WAITING } from './event-outbox.js';

interface Row {
  /** Whether new events are recorded at present. */
  readonly is_recording: boolean;
  /** Events that will be attempted, including those that have failed before. */
  readonly waiting: number;
  /** Waiting events with a failed attempt. Later events of the same license wait behind each. */
  readonly failing: number;
  /** Events that were given up after four days. Retention deletes them within 30 more days. */
  readonly given_up: number;
  /** The largest number of failed attempts of a waiting event. */
  readonly attempts: number;
  /** The failure of the newest failing event or, if none is failing, of the newest that was given up; null if there is neither. */
  readonly reason: string | null;
  /** When the oldest waiting event happened; null if none waits. */
  readonly oldest_waiting: Date | null;
}
/** The events that were not delivered, as operators see them. */
export type EventBacklog = TimesAsText<Row>;

const BACKLOG = `
  select exists (select from event_recording) as is_recording,
    count(*) filter (where given_up_at is null)::int as waiting,
    count(*) filter (where given_up_at is null and last_error is not null)::int as failing,
    count(given_up_at)::int as given_up,
    coalesce(max(attempts) filter (where given_up_at is null), 0) as attempts,
    (array_agg(last_error order by given_up_at is not null, position desc) filter (where last_error is not null))[1] as reason,
    min(occurred_at) filter (where given_up_at is null) as oldest_waiting
  from outgoing_event where (${IS_WAITING}) or given_up_at is not null`;

/** Counts the events that were not delivered. */
export async function readEventBacklog(dataSource: DataSource): Promise<EventBacklog> {
  return timesAsText(await queryOne<Row>(dataSource, BACKLOG));
}
