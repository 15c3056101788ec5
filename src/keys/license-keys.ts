import type { DerivedFrom } from './derived-from.js';
import { hashErasedAddress } from './erased-address.js';
import { deriveLicenseKey, licenseKeyHash, licenseKeyHint } from './license-key.js';
import { deriveSignInCode } from './sign-in-code.js';
import { deriveSoldIds, type SoldIds } from './sold-ids.js';
import { deriveStaffLink } from './staff-link.js';

export interface DerivedKey {
  readonly license_key: string;
  readonly key_hash: Buffer;
  readonly key_hint: string;
}

/** Makes license keys, the ids of what is sold, sign-in codes and mailed sign-in links with this deployment's secret and prefix. The secret never leaves it. */
export class LicenseKeys {
  readonly #secret: Buffer;

  constructor(
    secret: Buffer,
    private readonly prefix: string,
  ) {
    this.#secret = secret;
  }

  /** The key of a license id and generation, with what the database keeps of it. */
  derive(licenseId: string, generation: number): DerivedKey {
    const license_key = deriveLicenseKey(this.#secret, this.prefix, licenseId, generation);
    return { license_key, key_hash: licenseKeyHash(license_key), key_hint: licenseKeyHint(license_key) };
  }

  /** The ids of a purchase and its license. @param transactionId the processor's */
  soldIds(transactionId: string): SoldIds {
    return deriveSoldIds(this.#secret, transactionId);
  }

  /** The 8 digits of a sign-in code. @param row the code's */
  signInCode(row: DerivedFrom): string {
    return deriveSignInCode(this.#secret, row);
  }

  /** The secret of a staff member's mailed link. @param row the link's */
  staffLink(row: DerivedFrom): string {
    return deriveStaffLink(this.#secret, row);
  }

  /** The keyed hash of an erased e-mail address, for TOMBSTONE_FILE. @param email as `canonicalEmail` gives it */
  erasedAddress(email: string): string {
    return hashErasedAddress(this.#secret, email);
  }
}
