import { EntityManager } from 'typeorm';
import { queryRow } from '../database/sql.js';
import { LicenseKeys } from '../keys/license-keys.js';
import type { License } from './license.entity.js';
import type { PurchaseState } from './license.rules.js';

/**
 * The reason why a key cannot be mailed. `erased`: the license does not exist or has no address, also if a restore lost
 * the address. `not_made_here`: the key cannot be derived, because it was imported or LICENSE_KEY_SECRET has changed.
 */
export type NotMailableReason = 'erased' | 'refunded' | 'revoked' | 'not_made_here';

type Row = Pick<
  License,
  'key_hash' | 'key_generation' | 'email' | 'machines_allowed' | 'expires_at' | 'on_expiry' | 'staff_status'
> & {
  readonly purchase_state: PurchaseState | null;
};

/** The license key and the terms that are mailed to the holder. */
export type MailableKey = Pick<Row, 'machines_allowed' | 'expires_at' | 'on_expiry'> & {
  readonly email: string;
  readonly license_key: string;
};

const FIND_LICENSE = `
  select l.key_hash, l.key_generation, l.email, l.machines_allowed, l.expires_at, l.on_expiry, l.staff_status,
         p.state as purchase_state
  from license l left join purchase p on p.id = l.purchase_id where l.id = $1`;

/**
 * Derives the current key of a license (docs/keys.md#license-keys), or returns why it cannot be mailed. The hash of the
 * derived key is compared with the stored one, so that a wrong key is never mailed if the license was imported or
 * LICENSE_KEY_SECRET has changed.
 */
export async function mailableKey(
  manager: EntityManager,
  keys: LicenseKeys,
  id: string,
): Promise<MailableKey | NotMailableReason> {
  const license = await queryRow<Row>(manager, FIND_LICENSE, [id]);
  if (!license || license.email === null) return 'erased';
  if (license.purchase_state === 'refunded') return 'refunded';
  if (license.staff_status === 'revoked') return 'revoked';
  const { license_key, key_hash } = keys.derive(id, license.key_generation);
  if (!key_hash.equals(license.key_hash)) return 'not_made_here';
  const { email, machines_allowed, expires_at, on_expiry } = license;
  return { email, machines_allowed, expires_at, on_expiry, license_key };
}
