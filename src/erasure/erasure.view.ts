import { DataSource } from 'typeorm';
import { DAY_MS, rfc3339, rfc3339OrNull, utcDay } from '../core/clock.js';
import type { Erased } from './erase.js';

/** Deletion requests are honoured within 30 days (seed, 8). */
export const DUE_DAYS = 30;
/** A holder's own can be taken back for this long. */
export const COOLING_DAYS = 3;

/** A deletion request as `READ` gives it. */
export interface Row {
  readonly id: string;
  readonly email: string | null;
  readonly asked_by: 'holder' | 'staff';
  readonly reason: string | null;
  readonly received_on: string;
  readonly due_on: string;
  readonly runs_at: Date;
  readonly honoured_at: Date | null;
  readonly cancelled_at: Date | null;
  readonly erased: Erased | null;
}

/** A deletion request as staff see it. */
export interface ErasureView extends Omit<Row, 'runs_at' | 'honoured_at' | 'cancelled_at'> {
  readonly state: 'waiting' | 'honoured' | 'taken_back';
  /** Below 0 it is overdue; null once it has ended. */
  readonly days_left: number | null;
  readonly runs_at: string;
  readonly honoured_at: string | null;
  readonly cancelled_at: string | null;
}

export const READ = `
  select id, email, asked_by, reason, received_on::text, (received_on + ${DUE_DAYS})::text as due_on, runs_at,
         honoured_at, cancelled_at, erased
  from erasure_request`;
/** That it waits. */
export const OPEN = 'honoured_at is null and cancelled_at is null';

export function erasureView({ runs_at, honoured_at, cancelled_at, ...row }: Row, now: Date): ErasureView {
  const today = Date.parse(utcDay(now));
  const ended = honoured_at ?? cancelled_at;
  return {
    ...row,
    state: honoured_at ? 'honoured' : cancelled_at ? 'taken_back' : 'waiting',
    days_left: ended ? null : Math.round((Date.parse(row.due_on) - today) / DAY_MS),
    runs_at: rfc3339(runs_at),
    honoured_at: rfc3339OrNull(honoured_at),
    cancelled_at: rfc3339OrNull(cancelled_at),
  };
}

/** A deletion request that waits, as its holder sees it. */
export type WaitingErasure = Pick<ErasureView, 'id' | 'received_on' | 'runs_at'>;

export const waitingView = ({ id, received_on, runs_at }: ErasureView): WaitingErasure => ({
  id,
  received_on,
  runs_at,
});

/** The request that waits for an address; null where none does. */
export async function waitingErasure(
  dataSource: Pick<DataSource, 'query'>,
  email: string,
): Promise<WaitingErasure | null> {
  const sql = 'select id, received_on::text, runs_at from erasure_request where email = $1';
  const [row] = (await dataSource.query(sql, [email])) as Pick<Row, 'id' | 'received_on' | 'runs_at'>[];
  return row ? { ...row, runs_at: rfc3339(row.runs_at) } : null;
}
