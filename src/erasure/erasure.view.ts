import { DAY_MS, timesAsText, utcDay, type TimesAsText } from '../core/clock.js';
import { queryRow, type SqlConnection } from '../database/sql.js';
import type { ErasureResult } from './erase.js';

/** The time within which an erasure request must be carried out (docs/privacy.md#erasure). */
export const ERASURE_DEADLINE_DAYS = 30;
/** The time in which a holder can cancel a request. */
export const CANCELLATION_PERIOD_DAYS = 3;

/** A row of `SELECT_ERASURES`. */
export interface ErasureRow {
  readonly id: string;
  readonly email: string | null;
  readonly asked_by: 'holder' | 'staff';
  readonly reason: string | null;
  readonly received_on: string;
  /** The legal deadline (`YYYY-MM-DD`): the request must be carried out by the end of this day. */
  readonly due_on: string;
  /** The time at which the job of the request runs. It is not the deadline, which is `due_on`. */
  readonly runs_at: Date;
  readonly honoured_at: Date | null;
  readonly cancelled_at: Date | null;
  /** Null before the request is carried out. */
  readonly erased: ErasureResult | null;
}

/** An erasure request in responses to staff. */
export interface ErasureView extends TimesAsText<ErasureRow> {
  /** `honoured`: the request was carried out. `taken_back`: the request was cancelled. */
  readonly state: 'waiting' | 'honoured' | 'taken_back';
  /** Days until `due_on`, negative afterwards; null for a request that is carried out or cancelled. */
  readonly days_left: number | null;
}

/** Reads rows of the type `ErasureRow`. */
export const SELECT_ERASURES = `
  select id, email, asked_by, reason, received_on::text, (received_on + ${ERASURE_DEADLINE_DAYS})::text as due_on, runs_at,
         honoured_at, cancelled_at, erased
  from erasure_request`;
/** SQL condition: the request is neither carried out nor cancelled. */
export const IS_WAITING = 'honoured_at is null and cancelled_at is null';

/** Converts a row to its view for staff. */
export function toErasureView(row: ErasureRow, now: Date): ErasureView {
  const today = Date.parse(utcDay(now));
  const { honoured_at, cancelled_at } = row;
  return {
    ...timesAsText(row),
    state: honoured_at ? 'honoured' : cancelled_at ? 'taken_back' : 'waiting',
    days_left: honoured_at || cancelled_at ? null : Math.round((Date.parse(row.due_on) - today) / DAY_MS),
  };
}

/** A waiting erasure request in responses to its holder. */
export type WaitingErasure = Pick<ErasureView, 'id' | 'received_on' | 'runs_at'>;

/** Converts a waiting request to its view for the holder. */
export const toWaitingErasure = ({ id, received_on, runs_at }: ErasureView): WaitingErasure => ({
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
