import { EntityManager } from 'typeorm';
import { rfc3339, timesAsText, type TimesAsText } from '../core/clock.js';
import { queryRows } from '../database/sql.js';
import { sinceCurrentHolder } from '../licenses/former-holder.js';
import type { StaffStatus } from '../licenses/license.rules.js';

/** The fields of a license that the export adds to those of `findLicenses`. The migrations describe the columns. */
interface LicenseFields {
  readonly staff_status: StaffStatus;
  /** The number of keys that the license has had. */
  readonly key_generation: number;
  readonly ended_at: Date | null;
  readonly end_changed_at: Date;
  readonly email_since: Date | null;
  readonly new_key_mailed_at: Date | null;
  /** The times at which its keys were replaced, since it has its current holder. */
  readonly keys_replaced_at: readonly Date[];
}

const LICENSE_FIELDS = `
  select l.id, l.staff_status, l.key_generation, l.ended_at, l.end_changed_at, l.email_since, l.new_key_mailed_at,
         array(select k.replaced_at from replaced_key k
               where k.license_id = l.id and ${sinceCurrentHolder('k.replaced_at')} order by 1) as keys_replaced_at
  from license l where l.id = any($1)`;

/** Reads the `LicenseFields`. @returns them by license id */
export async function readLicenseFields(manager: EntityManager, licenseIds: readonly string[]) {
  const rows = await queryRows<LicenseFields & { id: string }>(manager, LICENSE_FIELDS, [licenseIds]);
  return new Map(
    rows.map(({ id, keys_replaced_at, ...row }) => [
      id,
      { ...timesAsText(row), keys_replaced_at: keys_replaced_at.map(rfc3339) },
    ]),
  );
}

/**
 * Reads the audit events of licenses, newest first. The actor is left out as data about staff. Events from before a license
 * got its current e-mail address are left out as data about a former holder. @returns them by license id
 */
export async function readHistories(manager: EntityManager, licenseIds: readonly string[]) {
  const rows = await queryRows<{
    license_id: string;
    at: Date;
    action: string;
    reason: string | null;
    change: object;
  }>(
    manager,
    `select e.license_id, e.at, e.action, e.reason, e.change
     from audit_event e join license l on l.id = e.license_id
     where e.license_id = any($1) and ${sinceCurrentHolder('e.at')} order by e.at desc, e.id desc`,
    [licenseIds],
  );
  return groupByLicense(rows);
}

/**
 * Reads the stored events for the program of the vendor, newest first, without those of a former holder.
 * @returns them by license id
 */
export async function readEvents(manager: EntityManager, licenseIds: readonly string[]) {
  const rows = await queryRows<{
    license_id: string;
    type: string;
    data: object;
    occurred_at: Date;
    delivered_at: Date | null;
  }>(
    manager,
    `select e.license_id, e.type, e.data, e.occurred_at, e.delivered_at
     from outgoing_event e join license l on l.id = e.license_id
     where e.license_id = any($1) and ${sinceCurrentHolder('e.occurred_at')} order by e.position desc`,
    [licenseIds],
  );
  return groupByLicense(rows);
}

/** Groups rows by the id of their license, with times as text. */
function groupByLicense<Row extends { readonly license_id: string }>(
  rows: readonly Row[],
): Map<string, TimesAsText<Omit<Row, 'license_id'>>[]> {
  const toView = (row: Row) => {
    const { license_id: _, ...view } = row;
    return timesAsText(view);
  };
  const byLicense = Map.groupBy(rows, ({ license_id }) => license_id);
  return new Map([...byLicense].map(([id, own]) => [id, own.map(toView)]));
}
