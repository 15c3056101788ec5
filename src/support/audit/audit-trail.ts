import { DataSource } from 'typeorm';
import { timesAsText, type RowOf } from '../../core/clock.js';
import { queryRows } from '../../database/sql.js';
import type { AuditAnswer, AuditEvent } from '../../http/responses/api-types.js';
import type { AuditQuery } from './audit.dto.js';

/** Limits the events. A member that is undefined limits nothing. */
export type AuditFilter = Omit<AuditQuery, 'actor_id'> & {
  /** Null for an unknown actor, who has no events. */
  readonly actor?: string | null;
};

const CONDITIONS: { readonly [Name in keyof AuditFilter]-?: (parameter: string) => string } = {
  license_id: (parameter) => `e.license_id = ${parameter}`,
  actor: (parameter) => `e.actor = ${parameter}`,
  action: (parameter) => `e.action = ${parameter}`,
  from: (parameter) => `e.at >= ${parameter}`,
  to: (parameter) => `e.at < ${parameter}`,
  // The time is compared in the database, because a Date has only milliseconds.
  cursor: (parameter) => `(e.at, e.id) < (select at, id from audit_event where id = ${parameter})`,
};

/** Reads the newest events that a filter selects, newest first. The trail contains ids, so names are read from other tables. */
export async function readAuditTrail(
  dataSource: DataSource,
  filter: AuditFilter,
  limit: number,
): Promise<AuditEvent[]> {
  const names = (Object.keys(CONDITIONS) as (keyof AuditFilter)[]).filter(
    (name) => filter[name] !== undefined,
  );
  const conditions = names.map((name, index) => CONDITIONS[name](`$${index + 1}`));
  const rows = await queryRows<RowOf<AuditEvent, 'at'>>(
    dataSource,
    `select e.id, e.at, e.actor, e.action, e.license_id, e.reason, e.change,
            (select key_hint from license where id = e.license_id) as key_hint,
            (select hostname_hint from activation where id = (e.change ->> 'activation_id')::uuid) as hostname_hint,
            (select email from staff where id = (e.change ->> 'staff_id')::uuid) as staff_email
     from audit_event e ${conditions.length > 0 ? `where ${conditions.join(' and ')}` : ''}
     order by e.at desc, e.id desc limit ${limit}`,
    names.map((name) => filter[name]),
  );
  return rows.map(timesAsText);
}

/** The largest number of events in a page. */
const AUDIT_PAGE_SIZE = 50;

/** Reads a page of the events that a filter selects. @returns also the cursor of the next page; null after the last one */
export async function readAuditPage(dataSource: DataSource, filter: AuditFilter): Promise<AuditAnswer> {
  const events = await readAuditTrail(dataSource, filter, AUDIT_PAGE_SIZE + 1);
  const page = events.slice(0, AUDIT_PAGE_SIZE);
  return { events: page, next_cursor: events.length > page.length ? page.at(-1)!.id : null };
}

/** The number of events that an export reads at once. */
const EXPORT_BATCH_ROWS = 500;

/**
 * Yields all events that a filter selects, newest first, in batches. Each batch is a short statement of its own, so that an
 * export never needs more memory or a longer statement than other requests, and holds no connection while its client reads.
 */
export async function* readAuditBatches(
  dataSource: DataSource,
  filter: AuditFilter,
): AsyncGenerator<AuditEvent[], void> {
  let { cursor } = filter;
  for (;;) {
    const events = await readAuditTrail(dataSource, { ...filter, cursor }, EXPORT_BATCH_ROWS);
    yield events;
    if (events.length < EXPORT_BATCH_ROWS) return;
    cursor = events.at(-1)!.id;
  }
}

/**
 * Reads all actors or all actions of the audit trail, in alphabetical order. PostgreSQL would read the whole index for
 * `select distinct`. This reads one entry of the index for each value.
 */
export async function readValues(dataSource: DataSource, column: 'actor' | 'action'): Promise<string[]> {
  const rows = await queryRows<{ value: string }>(
    dataSource,
    `with recursive distinct_value (value) as (
       (select ${column} from audit_event order by ${column} limit 1)
       union all
       select (select ${column} from audit_event where ${column} > value order by ${column} limit 1)
       from distinct_value where value is not null)
     select value from distinct_value where value is not null`,
  );
  return rows.map(({ value }) => value);
}
