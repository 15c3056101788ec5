import { EntityManager } from 'typeorm';

/**
 * Whether something happened since a license came to its e-mail address, as SQL: what was before is about a former holder.
 * @param at the column that says when it happened; the license is `l`
 */
export const sinceHolder = (at: string): string => `coalesce(${at} > l.email_since, true)`;

/**
 * Removes from a license what names its former holder, when it gets another e-mail address: labels and machine ids of
 * ended activations, the reasons of decided requests, and requests that still wait, for the new holder did not make them.
 * Active machines keep running under their labels. The caller holds the lock of the license.
 */
export async function clearFormerHolder(manager: EntityManager, licenseId: string): Promise<void> {
  await manager.query(
    `update activation set machine_id = null, hostname_hint = null
     where license_id = $1 and ended_at is not null and (machine_id is not null or hostname_hint is not null)`,
    [licenseId],
  );
  const ofLicense = 'activation_id in (select id from activation where license_id = $1)';
  await manager.query(`delete from release_request where decided_at is null and ${ofLicense}`, [licenseId]);
  await manager.query(`update release_request set reason = null where reason is not null and ${ofLicense}`, [
    licenseId,
  ]);
}
