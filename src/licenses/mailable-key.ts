import { EntityManager } from 'typeorm';
import { LicenseKeys } from '../keys/license-keys.js';
import type { License } from './license.entity.js';
import type { PurchaseState } from './license.rules.js';

/** Why a key is not mailed. */
export type NotMailable = 'erased' | 'refunded' | 'not_made_here';

type Row = Pick<License, 'key_hash' | 'key_generation' | 'email' | 'machines_allowed' | 'expires_at'> & {
  readonly purchase_state: PurchaseState | null;
};

/** A license's key as its holder is told it. */
export type MailableKey = Pick<Row, 'machines_allowed' | 'expires_at'> & {
  readonly email: string;
  readonly license_key: string;
};

const LICENSE = `
  select l.key_hash, l.key_generation, l.email, l.machines_allowed, l.expires_at, p.state as purchase_state
  from license l left join purchase p on p.id = l.purchase_id where l.id = $1`;

/**
 * The key in force and whom it goes to, or why it is not mailed. It is derived anew and first held against its hash: an
 * imported key, or a changed LICENSE_KEY_SECRET, is said plainly and never mailed wrong (keys, License keys).
 */
export async function mailableKey(
  manager: EntityManager,
  keys: LicenseKeys,
  id: string,
): Promise<MailableKey | NotMailable> {
  const [license] = (await manager.query(LICENSE, [id])) as Row[];
  if (!license || license.email === null) return 'erased';
  if (license.purchase_state === 'refunded') return 'refunded';
  const { license_key, key_hash } = keys.derive(id, license.key_generation);
  if (!key_hash.equals(license.key_hash)) return 'not_made_here';
  const { email, machines_allowed, expires_at } = license;
  return { email, machines_allowed, expires_at, license_key };
}
