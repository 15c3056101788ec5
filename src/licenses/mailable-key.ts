import { EntityManager } from 'typeorm';
import { queryRow } from '../database/sql.js';
import { LicenseKeys } from '../keys/license-keys.js';
import type { License } from './license.entity.js';
import type { PurchaseState } from './license.rules.js';

/**
 * The reason why a key cannot be mailed. `erased`: the license does not exist or has no address, also if a restore lost
 * the address. `not_made_here`: the key cannot be derived, because it was imported or LICENSE_KEY_SECRET has changed.
 */
type NotMailableReason = 'erased' | 'refunded' | 'revoked' | 'not_made_here';

/** The facts that decide whether the key of a license can be mailed. */
type KeyFacts = Pick<License, 'id' | 'key_hash' | 'key_generation' | 'email' | 'staff_status'> & {
  readonly purchase_state: PurchaseState | null;
};

type Row = KeyFacts &
  Pick<MailableKey, 'machines_allowed' | 'expires_at' | 'on_expiry' | 'previous_key_hint'>;

/** The license key and the terms that are mailed to the holder. */
type MailableKey = Pick<License, 'machines_allowed' | 'expires_at' | 'on_expiry'> & {
  readonly email: string;
  readonly license_key: string;
  /** The last four characters of the key of another system that this key replaces; null if it replaces none. */
  readonly previous_key_hint: string | null;
};

const FIND_LICENSE = `
  select l.id, l.key_hash, l.key_generation, l.email, l.machines_allowed, l.expires_at, l.on_expiry, l.staff_status,
         p.state as purchase_state, case when l.key_generation = 1 then l.previous_key_hint end as previous_key_hint
  from license l left join purchase p on p.id = l.purchase_id where l.id = $1`;

/** Whether `mailableKey` would return the key of this license. */
export function isKeyMailable(keys: LicenseKeys, license: KeyFacts): boolean {
  return typeof deriveMailable(keys, license) !== 'string';
}

/** Derives the current key of a license (docs/keys.md#license-keys), or returns why it cannot be mailed. */
export async function mailableKey(
  manager: EntityManager,
  keys: LicenseKeys,
  id: string,
): Promise<MailableKey | NotMailableReason> {
  const license = await queryRow<Row>(manager, FIND_LICENSE, [id]);
  if (!license) return 'erased';
  const key = deriveMailable(keys, license);
  if (typeof key === 'string') return key;
  const { machines_allowed, expires_at, on_expiry, previous_key_hint } = license;
  return { ...key, machines_allowed, expires_at, on_expiry, previous_key_hint };
}

/**
 * Compares the hash of the derived key with the stored one, so that a wrong key is never mailed if the license was imported or
 * LICENSE_KEY_SECRET has changed.
 */
function deriveMailable(
  keys: LicenseKeys,
  { id, key_hash, key_generation, email, staff_status, purchase_state }: KeyFacts,
): Pick<MailableKey, 'email' | 'license_key'> | NotMailableReason {
  if (email === null) return 'erased';
  if (purchase_state === 'refunded') return 'refunded';
  if (staff_status === 'revoked') return 'revoked';
  const derived = keys.derive(id, key_generation);
  if (!derived.key_hash.equals(key_hash)) return 'not_made_here';
  return { email, license_key: derived.license_key };
}
