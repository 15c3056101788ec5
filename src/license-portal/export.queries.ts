import { EntityManager } from 'typeorm';
import { timesAsText, type TimesAsText } from '../core/clock.js';
import { queryRows } from '../database/sql.js';
import { PURCHASE_IDS_BY_EMAIL } from '../erasure/erase.js';
import { sinceCurrentHolder } from '../licenses/former-holder.js';
import type { Decision } from '../releases/release-requests.js';

/** The fields of an activation that the export contains in addition to the overview (`findLicenses`). */
interface ExportedActivationFields {
  readonly machine_id: string | null;
  readonly released_by_holder: boolean;
  readonly release_requests: TimesAsText<ReleaseRequest>[];
}

interface ReleaseRequest {
  readonly asked_at: Date;
  readonly reason: string | null;
  readonly language: string | null;
  readonly decided_at: Date | null;
  readonly decision: Decision | null;
}

/**
 * Reads the `ExportedActivationFields`. Machine ids and release requests of a former holder are left out, because they are data
 * about the former holder. @returns the fields by activation id
 */
export async function readActivationFields(
  manager: EntityManager,
  licenseIds: readonly string[],
): Promise<Map<string, ExportedActivationFields>> {
  const rows = await queryRows<{ id: string; machine_id: string | null; released_by_holder: boolean }>(
    manager,
    `select a.id, a.released_by_holder,
            case when ${sinceCurrentHolder('a.activated_at')} then encode(a.machine_id, 'hex') end as machine_id
     from activation a join license l on l.id = a.license_id
     where a.license_id = any($1)`,
    [licenseIds],
  );
  const requests = await queryRows<ReleaseRequest & { activation_id: string }>(
    manager,
    `select r.activation_id, r.asked_at, r.reason, r.language, r.decided_at, r.decision
     from release_request r join activation a on a.id = r.activation_id join license l on l.id = a.license_id
     where a.license_id = any($1) and ${sinceCurrentHolder('r.asked_at')} order by r.asked_at desc`,
    [licenseIds],
  );
  const requestsByActivation = Map.groupBy(requests, ({ activation_id }) => activation_id);
  return new Map(
    rows.map(({ id, machine_id, released_by_holder }) => [
      id,
      {
        machine_id,
        released_by_holder,
        release_requests: (requestsByActivation.get(id) ?? []).map((row) => {
          const { activation_id: _, ...request } = row;
          return timesAsText(request);
        }),
      },
    ]),
  );
}

/**
 * Reads the purchases of an address, newest first. A purchase belongs to an address if its own row or one of its licenses has the
 * address; `email` is null if only a license has it. Other persons may have licenses of the same purchase, so only those of the
 * address are named: a row for each, or one row with `license_id` null.
 */
export async function readPurchases(manager: EntityManager, email: string) {
  return await queryRows<{
    transaction_id: string;
    email: string | null;
    state: string;
    paid: boolean;
    recorded_on: string;
    license_id: string | null;
  }>(
    manager,
    `select p.transaction_id, case when p.email = $1 then p.email end as email, p.state, p.paid, p.recorded_on::text, l.id as license_id
     from purchase p left join license l on l.purchase_id = p.id and l.email = $1
     where p.id in (${PURCHASE_IDS_BY_EMAIL}) order by p.recorded_on desc, p.id desc`,
    [email],
  );
}

interface Lifetime {
  readonly created_at: Date;
  readonly expires_at: Date;
}

/**
 * Reads the unexpired sessions and sign-in codes of a holder, and the queued mails whose recipient is stored (`mail_recipient`).
 * Tokens, codes and the contents of mails are left out.
 */
export async function readSignInData(
  manager: EntityManager,
  email: string,
  licenseIds: readonly string[],
  now: Date,
) {
  const sessions = await queryRows<Lifetime & { license_id: string | null }>(
    manager,
    `select license_id, created_at, expires_at from session
     where (email = $1 or license_id = any($2)) and expires_at > $3 order by created_at desc`,
    [email, licenseIds, now],
  );
  const codes = await queryRows<Lifetime & { tries: number }>(
    manager,
    `select tries, created_at, expires_at from one_time_code
     where email = $1 and expires_at > $2 order by created_at desc`,
    [email, now],
  );
  const mails = await queryRows<{ since: Date }>(
    manager,
    'select since from mail_recipient where email = $1 order by since',
    [email],
  );
  return {
    sessions: sessions.map(timesAsText),
    sign_in_codes: codes.map(timesAsText),
    mails_waiting: mails.map(timesAsText),
  };
}
