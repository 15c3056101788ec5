import { DataSource } from 'typeorm';
import { rfc3339, rfc3339OrNull } from '../core/clock.js';
import { queryOne, queryRows } from '../database/sql.js';
import type { FailingMail, WaitingMail } from '../http/responses/api-types.js';
import { BULK_PRIORITY, MAIL_TASK_PREFIX } from './mail.service.js';

/**
 * The kind of the mails with sign-in codes. Each client can request them for each address, within the limits of
 * `SignInService`.
 */
export const CODE_MAIL = 'sign_in_code';

interface Row {
  readonly key: string | null;
  readonly attempts: number;
  readonly max_attempts: number;
  readonly last_error: string | null;
  readonly run_at: Date;
  readonly created_at: Date;
}

/**
 * SQL condition of a job with a failed attempt. The number of attempts is compared too, because a process that is killed during
 * the last attempt stores no error.
 */
export const HAS_FAILED = 'last_error is not null or attempts >= max_attempts';

/**
 * SQL condition of a job that is included in the counts. A running job whose key was added again loses its key (`JobOptions.key`).
 */
export const IS_CURRENT = 'key is not null';

/**
 * SQL condition of a job that no instance runs although it has been due for over 5 minutes. The mails of an import may be due for
 * hours, because they wait for their turn: they are not late while any job is running that an instance locked within the last two
 * minutes. An older lock is that of a killed instance, because an attempt takes about a minute at most.
 */
export const IS_LATE = `attempts < max_attempts and locked_at is null and run_at < now() - interval '5 minutes'
  and (priority < ${BULK_PRIORITY}
    or not exists (select from graphile_worker.jobs where locked_at > now() - interval '2 minutes'))`;

/**
 * Reads the waiting and the failing mails, without personal data. In `failing`, sign-in codes come last, because many can be
 * requested. In `late` they do not count: a code is sent only if a license or a purchase has the address, so the public warning
 * about late codes would reveal whether an address is known.
 */
export async function readWaitingMail(dataSource: DataSource): Promise<WaitingMail> {
  const isCode = `task_identifier = '${MAIL_TASK_PREFIX}${CODE_MAIL}'`;
  const mails = `from graphile_worker.jobs where starts_with(task_identifier, '${MAIL_TASK_PREFIX}') and ${IS_CURRENT}`;
  const [count, rows] = await Promise.all([
    queryOne<Omit<WaitingMail, 'failing'>>(
      dataSource,
      `select (count(*) filter (where attempts < max_attempts))::int as waiting,
              (count(*) filter (where not (${HAS_FAILED})))::int as untried,
              (count(*) filter (where ${HAS_FAILED}))::int as failed,
              (count(*) filter (where ${IS_LATE} and not ${isCode}))::int as late
       ${mails}`,
    ),
    queryRows<Row>(
      dataSource,
      `select key, attempts, max_attempts, last_error, run_at, created_at ${mails} and (${HAS_FAILED})
       order by ${isCode}, created_at limit 100`,
    ),
  ]);
  return { ...count, failing: rows.map(failingMail) };
}

function failingMail({ key, attempts, max_attempts, last_error, run_at, created_at }: Row): FailingMail {
  const [kind, about] = key!.split(' ') as [string, string];
  const isGivenUp = attempts >= max_attempts;
  return {
    kind,
    about,
    reason: last_error ?? 'the service was killed while it sent the mail',
    attempts,
    waiting_since: rfc3339(created_at),
    next_attempt_at: rfc3339OrNull(isGivenUp ? null : run_at),
  };
}
