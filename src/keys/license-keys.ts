import type { DerivationInput } from './derived-from.js';
import { hashErasedAddress } from './erased-address.js';
import { deriveLicenseKey, licenseKeyHash, licenseKeyHint } from './license-key.js';
import { deriveSignInCode } from './sign-in-code.js';
import { derivePurchaseIds, type PurchaseIds } from './purchase-ids.js';
import { createReleaseHint, isValidReleaseHint } from './release-hint.js';
import { deriveStaffLink } from './staff-link.js';

export interface DerivedKey {
  readonly license_key: string;
  readonly key_hash: Buffer;
  readonly key_hint: string;
}

/**
 * Derives license keys, ids of purchases, sign-in codes, sign-in links and release hints with the secret and prefix of the
 * settings.
 */
export class LicenseKeys {
  readonly #secret: Buffer;

  constructor(
    secret: Buffer,
    private readonly prefix: string,
  ) {
    this.#secret = secret;
  }

  /** The hash of a typed key. @param key in the form of `readLicenseKey`; a key without a prefix gets that of the settings */
  hash(key: string): Buffer {
    return licenseKeyHash(key.includes('_') ? key : `${this.prefix}_${key}`);
  }

  /** Derives a license key, with its hash and hint. */
  derive(licenseId: string, generation: number): DerivedKey {
    const license_key = deriveLicenseKey(this.#secret, this.prefix, licenseId, generation);
    return { license_key, key_hash: licenseKeyHash(license_key), key_hint: licenseKeyHint(license_key) };
  }

  /** Derives the ids of a purchase and its license. @param transactionId the transaction id of the payment processor */
  purchaseIds(transactionId: string): PurchaseIds {
    return derivePurchaseIds(this.#secret, transactionId);
  }

  /** Derives the 8 digits of a sign-in code. @param row the table row of the code */
  signInCode(row: DerivationInput): string {
    return deriveSignInCode(this.#secret, row);
  }

  /** Derives the secret of a mailed sign-in link of staff. @param row the table row of the link */
  staffLink(row: DerivationInput): string {
    return deriveStaffLink(this.#secret, row);
  }

  /** The hint with which the portal opens after a refused activation. @param email in the form of `canonicalEmail` */
  releaseHint(license_id: string, email: string, now: Date): string {
    return createReleaseHint(this.#secret, { license_id, email }, now);
  }

  /** Whether `releaseHint` created the hint for this license and address, at most ten minutes ago. */
  isValidReleaseHint(hint: string, license: { license_id: string; email: string }, now: Date): boolean {
    return isValidReleaseHint(this.#secret, hint, license, now);
  }

  /** The keyed hash of an erased e-mail address, for TOMBSTONE_FILE. @param email in the form of `canonicalEmail` */
  hashErasedAddress(email: string): string {
    return hashErasedAddress(this.#secret, email);
  }
}
