import { DataSource } from 'typeorm';
import { rfc3339, rfc3339OrNull } from '../core/clock.js';
import { MAIL_TASK } from './mail.service.js';

/** A mail that could not be delivered so far. */
export interface FailingMail {
  readonly kind: string;
  /** The id of what it is about. */
  readonly about: string;
  readonly reason: string;
  readonly attempts: number;
  readonly waiting_since: string;
  /** Null where it was given up. */
  readonly next_attempt_at: string | null;
}

export interface WaitingMail {
  /** Mails not sent yet, those that fail among them. */
  readonly waiting: number;
  /** Those among them that are due for minutes, and at which no instance works. */
  readonly late: number;
  /** Those that failed so far, or for good. */
  readonly failed: number;
  /** The first hundred of them, longest waiting first. */
  readonly failing: FailingMail[];
}

interface Row {
  readonly key: string | null;
  readonly attempts: number;
  readonly max_attempts: number;
  readonly last_error: string | null;
  readonly run_at: Date;
  readonly created_at: Date;
}

/** Whoever is killed at the last try writes no error down. */
export const FAILED = 'last_error is not null or attempts >= max_attempts';

/** What waits to be sent, and what cannot be and why. Nothing here names a person. */
export async function waitingMail(dataSource: DataSource): Promise<WaitingMail> {
  const mails = `from graphile_worker.jobs where starts_with(task_identifier, '${MAIL_TASK}') and key is not null`;
  const [[count], rows] = (await Promise.all([
    dataSource.query(
      `select (count(*) filter (where attempts < max_attempts))::int as waiting,
              (count(*) filter (where ${FAILED}))::int as failed,
              (count(*) filter (where attempts < max_attempts and locked_at is null
                                and run_at < now() - interval '5 minutes'))::int as late
       ${mails}`,
    ),
    dataSource.query(
      `select key, attempts, max_attempts, last_error, run_at, created_at ${mails} and (${FAILED})
       order by created_at limit 100`,
    ),
  ])) as [[Omit<WaitingMail, 'failing'>], Row[]];
  return { ...count, failing: rows.map(failingMail) };
}

function failingMail({ key, attempts, max_attempts, last_error, run_at, created_at }: Row): FailingMail {
  const [kind, about] = key!.split(' ') as [string, string];
  const givenUp = attempts >= max_attempts;
  return {
    kind,
    about,
    reason: last_error ?? 'the service was killed while it was sent',
    attempts,
    waiting_since: rfc3339(created_at),
    next_attempt_at: rfc3339OrNull(givenUp ? null : run_at),
  };
}
