import { DataSource } from 'typeorm';
import { timesAsText, type RowOf } from '../core/clock.js';
import { queryOne } from '../database/sql.js';
import type { EventBacklog } from '../http/responses/api-types.js';
import { IS_WAITING } from './event-outbox.js';

// `reason` is that of the newest failing event or, if none is failing, of the newest that was given up.
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
  return timesAsText(await queryOne<RowOf<EventBacklog, 'oldest_waiting'>>(dataSource, BACKLOG));
}
