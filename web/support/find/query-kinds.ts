import { readLicenseKey } from '../../../src/keys/license-key-text.js';

/** The members of a search (`LicenseSearch` in docs/openapi.yaml). */
export type QueryKind = 'email' | 'license_key' | 'license_id' | 'transaction_id' | 'activation_id';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * The kinds that a text may be, by its form, in the order in which they are searched. A text with `@` is searched as an e-mail
 * address only; any other text may be a transaction id.
 */
export function queryKinds(text: string): [QueryKind, ...QueryKind[]] {
  if (text.includes('@')) return ['email'];
  if (UUID.test(text)) return ['activation_id', 'license_id', 'transaction_id'];
  if (readLicenseKey(text) !== null) return ['license_key', 'transaction_id'];
  return ['transaction_id'];
}
