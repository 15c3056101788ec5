import { CLOCK_TOLERANCE_MS } from '../core/clock.js';
import { execute } from '../database/sql.js';
import { EntityManager } from 'typeorm';
import type { License } from './license.entity.js';

/**
 * An SQL condition: an event happened after the license got its current e-mail address. Earlier events concern a former
 * holder. The condition is true if the license has had this address since its issue, or if the event has no time yet.
 * @param at the column with the time of the event; the license has the alias `l`
 */
export const sinceCurrentHolder = (at: string): string => `coalesce(${at} > l.email_since, true)`;

/**
 * Returns the time to store for an event under a lock of its license: `at`, or the first moment of the current holder if that is
 * later, because the clocks of two instances differ. With `at`, the holder would not learn of the event (`sinceCurrentHolder`). If
 * it is over an hour later, a clock was wrong when the license got its address, and the time stays `at` (docs/decisions/0015).
 */
export function timeUnderCurrentHolder({ email_since }: Pick<License, 'email_since'>, at: Date): Date {
  const firstMoment = (email_since?.getTime() ?? -Infinity) + 1;
  const laterMs = firstMoment - at.getTime();
  return laterMs > 0 && laterMs <= CLOCK_TOLERANCE_MS ? new Date(firstMoment) : at;
}

/**
 * Deletes the sign-in codes of an address that a license had, if no license and no purchase has it any more: an erasure of the new
 * address could not find them, because a license does not keep its earlier addresses. The caller ends
 * the sessions that began with the license key. A session that began with a code for the earlier address stays: it no longer shows
 * this license, and ends within 12 hours.
 *
 * A separate statement locks the codes. Concurrent changes wait for it, so that the deletion of the last one sees the licenses as
 * the others have changed them.
 */
export async function deleteCodesOfFormerAddress(manager: EntityManager, email: string): Promise<void> {
  await execute(manager, 'select 1 from one_time_code where email = $1 order by id for update', [email]);
  await execute(
    manager,
    `delete from one_time_code where email = $1 and not exists (select from license where email = $1)
       and not exists (select from purchase where email = $1)`,
    [email],
  );
}

/**
 * Removes the personal data of the former holder when a license gets another e-mail address: labels and machine ids of
 * ended activations, the reasons of decided release requests, and open release requests. Active machines keep their
 * label and their machine id. The caller holds the lock of the license.
 */
export async function clearDataOfFormerHolder(manager: EntityManager, licenseId: string): Promise<void> {
  await execute(
    manager,
    `update activation set machine_id = null, hostname_hint = null
     where license_id = $1 and ended_at is not null and (machine_id is not null or hostname_hint is not null)`,
    [licenseId],
  );
  const ofLicense = 'activation_id in (select id from activation where license_id = $1)';
  await execute(manager, `delete from release_request where decided_at is null and ${ofLicense}`, [
    licenseId,
  ]);
  await execute(
    manager,
    `update release_request set reason = null where reason is not null and ${ofLicense}`,
    [licenseId],
  );
}
