import { rfc3339, rfc3339OrNull, type RowOf } from '../core/clock.js';
import { queryRows, type SqlConnection } from '../database/sql.js';
import type { Activation as ActivationView, LicenseLine, LicenseView } from '../http/responses/api-types.js';
import type { TypedKeyHashes } from '../keys/license-keys.js';
import { licenseStatus, type LicenseState } from '../licenses/license.rules.js';
import type { Activation } from './activation.entity.js';
import { sinceCurrentHolder } from '../licenses/former-holder.js';

/** The criterion of a search for licenses. Exactly one member is set. */
export interface LicenseQuery {
  readonly id?: string;
  readonly ids?: readonly string[];
  /** The hashes of a typed text, as a license key and as a previous key. */
  readonly key?: TypedKeyHashes;
  readonly email?: string;
  readonly transaction_id?: string;
  readonly activation_id?: string;
}

const CONDITIONS: Readonly<Record<keyof LicenseQuery, string>> = {
  id: 'l.id = $1',
  ids: 'l.id = any($1)',
  key: 'l.key_hash = ($1::bytea[])[1] or l.previous_key_hash = ($1::bytea[])[2]',
  email: 'l.email = $1',
  transaction_id: 'l.purchase_id = (select id from purchase where transaction_id = $1)',
  activation_id: 'l.id = (select license_id from activation where id = $1)',
};

/**
 * The columns of a `LicenseRow`; the license has the alias `l`. The purchase is read by a subquery: the planner
 * has no statistics of e-mail addresses (docs/decisions/0009), so for a join it would expect many licenses and read all purchases.
 */
export const LICENSE_COLUMNS = `
  l.id, l.key_hint, l.previous_key_hint, l.email, l.staff_status, l.expires_at, l.on_expiry, l.machines_allowed, l.created_at,
  l.address_lost_at is not null as is_address_lost,
  (select state from purchase where id = l.purchase_id) as purchase_state`;

/** The columns that `toActivationView` needs, and the license id; the activation has the alias `a`. */
export const ACTIVATION_COLUMNS = `
  a.id, a.license_id, a.hostname_hint, a.app_version, a.activated_at, a.ended_at, a.ended_reason`;
/** Active activations first, then the newest first. */
export const ACTIVATION_ORDER = 'a.ended_at is not null, a.activated_at desc, a.id desc';
/** The newest license first. */
export const LICENSE_ORDER = 'l.created_at desc, l.id desc';

/** A license and the state of its purchase, as read with `LICENSE_COLUMNS`. */
export type LicenseRow = LicenseState &
  Omit<RowOf<LicenseLine, 'created_at' | 'expires_at'>, 'status' | 'machines_in_use'>;

/**
 * Finds the licenses that match one criterion, newest first.
 * @param isForHolder true omits activations that ended before the license got its current e-mail address
 * @param limit how many licenses to return at most
 */
export async function findLicenses(
  database: SqlConnection,
  query: LicenseQuery,
  { isForHolder = false, limit }: { isForHolder?: boolean; limit?: number } = {},
): Promise<LicenseView[]> {
  const [[criterion, value]] = Object.entries(query) as [
    [keyof LicenseQuery, string | TypedKeyHashes | readonly string[]],
  ];
  const licenses = await queryRows<LicenseRow>(
    database,
    `select ${LICENSE_COLUMNS} from license l where ${CONDITIONS[criterion]} order by ${LICENSE_ORDER} limit $2`,
    [value, limit ?? null],
  );
  return withActivations(database, licenses, isForHolder);
}

/** Adds their activations to licenses. @param isForHolder as in `findLicenses` */
export async function withActivations(
  database: SqlConnection,
  licenses: readonly LicenseRow[],
  isForHolder = false,
): Promise<LicenseView[]> {
  const activations = await queryRows<Activation>(
    database,
    `select ${ACTIVATION_COLUMNS} from activation a join license l on l.id = a.license_id
     where a.license_id = any($1) and (not $2 or ${sinceCurrentHolder('a.ended_at')}) order by ${ACTIVATION_ORDER}`,
    [licenses.map(({ id }) => id), isForHolder],
  );
  const byLicense = Map.groupBy(activations, ({ license_id }) => license_id);
  return licenses.map((license) => {
    const own = byLicense.get(license.id) ?? [];
    return { ...toLicenseSummary(license, countActive(own)), activations: own.map(toActivationView) };
  });
}

export const countActive = (activations: readonly Pick<Activation, 'ended_at'>[]): number =>
  activations.filter(({ ended_at }) => ended_at === null).length;

/** Converts a license to its view without the activations, which are only counted. */
export function toLicenseSummary(license: LicenseRow, machines_in_use: number): LicenseLine {
  return {
    id: license.id,
    key_hint: license.key_hint,
    previous_key_hint: license.previous_key_hint,
    email: license.email,
    is_address_lost: license.is_address_lost,
    status: licenseStatus(license),
    expires_at: rfc3339OrNull(license.expires_at),
    on_expiry: license.on_expiry,
    machines_allowed: license.machines_allowed,
    machines_in_use,
    created_at: rfc3339(license.created_at),
  };
}

export function toActivationView(
  activation: Omit<Activation, 'machine_id' | 'license_id' | 'released_by_holder'>,
): ActivationView {
  return {
    id: activation.id,
    hostname_hint: activation.hostname_hint,
    app_version: activation.app_version,
    activated_at: rfc3339(activation.activated_at),
    state: activation.ended_reason ?? 'active',
    ended_at: rfc3339OrNull(activation.ended_at),
    ended_reason: activation.ended_reason,
  };
}
