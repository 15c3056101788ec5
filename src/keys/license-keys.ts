import { deriveAuditActorId } from './audit-actor.js';
import { hashErasedAddress } from './erased-address.js';
import { deriveLicenseKey, licenseKeyHash, licenseKeyHint } from './license-key.js';
import { readLicenseKey, withServicePrefix } from './license-key-text.js';
import { deriveSignInCode, deriveStaffLink, type DerivationInput } from './mailed-secrets.js';
import { deriveImportedLicenseId, hashPreviousKey } from './previous-key.js';
import { readPreviousKey } from './previous-key-text.js';
import { deriveId, derivePurchaseIds, type PurchaseIds } from './purchase-ids.js';
import { deriveSecretCheck } from './secret-check.js';
import { createReleaseHint, isValidReleaseHint } from './release-hint.js';

/** A license key, and what the database stores of it. */
interface DerivedKey {
  readonly license_key: string;
  readonly key_hash: Buffer;
  readonly key_hint: string;
}

/**
 * The hashes by which a license may be found for a typed key: as its current key, and as the key that another system issued. Null if
 * the text does not have the form of such a key.
 */
export type TypedKeyHashes = readonly [key_hash: Buffer | null, previous_key_hash: Buffer | null];

/**
 * Derives everything that depends on LICENSE_KEY_SECRET: license keys, ids of licenses, purchases and actors, sign-in codes,
 * sign-in links, release hints, hashes of erased addresses and of previous keys, and the check value of the secret. New license
 * keys have the prefix LICENSE_KEY_PREFIX.
 */
export class LicenseKeys {
  readonly #secret: Buffer;

  constructor(
    secret: Buffer,
    /** LICENSE_KEY_PREFIX. */
    readonly prefix: string,
  ) {
    this.#secret = secret;
  }

  /** Returns the hash of a key. @param key in the form of `readLicenseKey` */
  hash(key: string): Buffer {
    return licenseKeyHash(withServicePrefix(key, this.prefix));
  }

  /** Returns the hashes of a key that a person typed, in any form (docs/keys.md#previous-keys). */
  hashesOfTyped(text: string): TypedKeyHashes {
    const [key, previousKey] = [readLicenseKey(text), readPreviousKey(text)];
    return [
      key === null ? null : this.hash(key),
      previousKey === null ? null : this.hashPrevious(previousKey),
    ];
  }

  /** Returns the keyed hash of a key that another system issued. @param key the result of `readPreviousKey` */
  hashPrevious(key: string): Buffer {
    return hashPreviousKey(this.#secret, key);
  }

  /** Derives the id of the license that is imported for a previous key. @param key the result of `readPreviousKey` */
  importedLicenseId(key: string): string {
    return deriveImportedLicenseId(this.#secret, key);
  }

  /** Derives a license key, with its hash and hint. @param generation increases when staff replace the key */
  derive(licenseId: string, generation: number): DerivedKey {
    const license_key = deriveLicenseKey(this.#secret, this.prefix, licenseId, generation);
    return { license_key, key_hash: licenseKeyHash(license_key), key_hint: licenseKeyHint(license_key) };
  }

  /** The value by which a database recognises the secret, see `deriveSecretCheck`. */
  get secretCheck(): Buffer {
    return deriveSecretCheck(this.#secret);
  }

  /** Derives the ids of a purchase and its license. @param transactionId the transaction id of the payment processor */
  purchaseIds(transactionId: string): PurchaseIds {
    return derivePurchaseIds(this.#secret, transactionId);
  }

  /** Derives the id of the license that a staff member issues with an idempotency key (docs/keys.md#license-ids). */
  issuedLicenseId(staffId: string, idempotencyKey: string): string {
    return deriveId(this.#secret, 'mooring issued license id v1\0', `${staffId}\0${idempotencyKey}`);
  }

  /** Derives the 8 digits of a sign-in code. @param row the table row of the code */
  signInCode(row: DerivationInput): string {
    return deriveSignInCode(this.#secret, row);
  }

  /** Derives the secret of a mailed sign-in link of staff. @param row the table row of the link */
  staffLink(row: DerivationInput): string {
    return deriveStaffLink(this.#secret, row);
  }

  /** Derives the id by which a URL names an actor of the audit trail. */
  auditActorId(actor: string): string {
    return deriveAuditActorId(this.#secret, actor);
  }

  /** Creates the hint of a `release_url`, see `createReleaseHint`. @param email in the form of `canonicalEmail` */
  releaseHint(license_id: string, email: string, now: Date): string {
    return createReleaseHint(this.#secret, { license_id, email }, now);
  }

  /** Whether `releaseHint` created the hint for this license and address, less than ten minutes ago. */
  isValidReleaseHint(hint: string, license: { license_id: string; email: string }, now: Date): boolean {
    return isValidReleaseHint(this.#secret, hint, license, now);
  }

  /** Returns the keyed hash of an erased e-mail address, for TOMBSTONE_FILE. @param email in the form of `canonicalEmail` */
  hashErasedAddress(email: string): string {
    return hashErasedAddress(this.#secret, email);
  }
}
