import { DAY_MS, timesAsText, utcDay, type RowOf } from '../core/clock.js';
import { queryRow, type SqlConnection } from '../database/sql.js';
import type { Erasure, WaitingErasure } from '../http/responses/api-types.js';

/** The time within which an erasure request must be carried out (docs/privacy.md#erasure). */
export const ERASURE_DEADLINE_DAYS = 30;
/** The time in which a holder can cancel a request. */
export const CANCELLATION_PERIOD_DAYS = 3;

/**
 * A row of `SELECT_ERASURES`. The job of the request runs at `runs_at`. The legal deadline is another one: the request must be
 * carried out by the end of the day `due_on`.
 */
export type ErasureRow = Omit<
  RowOf<Erasure, 'runs_at' | 'honoured_at' | 'cancelled_at'>,
  'state' | 'days_left'
>;

/** Reads rows of the type `ErasureRow`. */
export const SELECT_ERASURES = `
  select id, email, asked_by, reason, received_on::text, (received_on + ${ERASURE_DEADLINE_DAYS})::text as due_on, runs_at,
         honoured_at, cancelled_at, erased
  from erasure_request`;
/** SQL condition: the request is neither carried out nor cancelled. */
export const IS_WAITING = 'honoured_at is null and cancelled_at is null';

/** Converts a row to its view for staff. */
export function toErasureView(row: ErasureRow, now: Date): Erasure {
  const today = Date.parse(utcDay(now));
  const { honoured_at, cancelled_at } = row;
  return {
    ...timesAsText(row),
    state: honoured_at ? 'honoured' : cancelled_at ? 'taken_back' : 'waiting',
    days_left: honoured_at || cancelled_at ? null : Math.round((Date.parse(row.due_on) - today) / DAY_MS),
  };
}

/** Converts a waiting request to its view for the holder. */
export const toWaitingErasure = ({ id, received_on, runs_at }: Erasure): WaitingErasure => ({
  id,
  received_on,
  runs_at,
});

/** Finds the waiting request of an address. A request that is carried out or cancelled has no address. */
export async function findWaitingErasure(
  database: SqlConnection,
  email: string,
): Promise<WaitingErasure | null> {
  const sql = 'select id, received_on::text, runs_at from erasure_request where email = $1';
  const row = await queryRow<Pick<ErasureRow, 'id' | 'received_on' | 'runs_at'>>(database, sql, [email]);
  return row ? timesAsText(row) : null;
}
