import { createHmac, type Hmac } from 'node:crypto';
import { stringify } from 'uuid';
import { deriveLicenseKey, licenseKeyHash, licenseKeyHint } from './license-key.js';
import { readLicenseKey, withServicePrefix } from './license-key-text.js';
import type { DerivationInput } from './mailed-secrets.js';
import { readPreviousKey } from './previous-key-text.js';
import { createReleaseHint, isValidReleaseHint } from './release-hint.js';

/** The length of the id of an actor in base64url, 96 bits: a collision between two actors of a vendor is practically impossible. */
const ACTOR_ID_LENGTH = 16;
/** The number of sign-in codes of 8 digits. */
const CODE_COUNT = 10n ** 8n;

/** The ids of a purchase and of the license that is issued for it. */
export interface PurchaseIds {
  readonly purchase_id: string;
  readonly license_id: string;
}

/** A license key, and what the database stores of it. */
interface DerivedKey {
  readonly license_key: string;
  readonly key_hash: Buffer;
  readonly key_hint: string;
}

/**
 * The hashes by which a license may be found for a typed key: as its current key, and as the key that another system issued. Null
 * if the text does not have the form of such a key.
 */
export type TypedKeyHashes = readonly [key_hash: Buffer | null, previous_key_hash: Buffer | null];

/**
 * Derives everything that depends on LICENSE_KEY_SECRET: license keys, ids of licenses, purchases and actors, sign-in codes,
 * sign-in links, challenges of passkeys, release hints, hashes of erased addresses and of previous keys, and the check value of the
 * secret. New license keys have the prefix LICENSE_KEY_PREFIX.
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

  /** Returns the hash of a key. @param key the result of `readLicenseKey` */
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

  /**
   * Returns the keyed hash of a key that another system issued. A plain hash would reveal the keys of a system whose keys are
   * short.
   * @param key the result of `readPreviousKey`
   */
  hashPrevious(key: string): Buffer {
    return this.#keyedHash('mooring previous key v1\0', key).digest();
  }

  /**
   * Derives the id of the license that is imported for a previous key. The same key therefore has the same license and the same new
   * key in each import, also after a restore from a backup. @param key the result of `readPreviousKey`
   */
  importedLicenseId(key: string): string {
    return this.#id('mooring imported license id v1\0', key);
  }

  /** Derives a license key, with its hash and hint. @param generation increases when staff replace the key */
  derive(licenseId: string, generation: number): DerivedKey {
    const license_key = deriveLicenseKey(this.#secret, this.prefix, licenseId, generation);
    return { license_key, key_hash: licenseKeyHash(license_key), key_hint: licenseKeyHint(license_key) };
  }

  /** The 32 bytes that a database stores, to recognize whether LICENSE_KEY_SECRET has changed. They do not reveal the secret. */
  get secretCheck(): Buffer {
    return this.#hmac('mooring license key secret check v1\0').digest();
  }

  /**
   * Derives the ids of a purchase and its license from the transaction id of the payment processor. A purchase that a restored
   * backup lacks gets the same ids when it is reported again, and its license gets the license key that the buyer already has
   * (docs/decisions/0021).
   */
  purchaseIds(transactionId: string): PurchaseIds {
    return {
      purchase_id: this.#id('mooring purchase id v1\0', transactionId),
      license_id: this.#id('mooring license id v1\0', transactionId),
    };
  }

  /** Derives the id of the license that a staff member issues with an idempotency key (docs/keys.md#license-ids). */
  issuedLicenseId(staffId: string, idempotencyKey: string): string {
    return this.#id('mooring issued license id v1\0', `${staffId}\0${idempotencyKey}`);
  }

  /**
   * Derives the 8 digits of a sign-in code from its table row. Neither the code nor a hash of the code is stored: a hash could be
   * compared with the hashes of all codes within seconds. A mail that is sent twice contains the same code.
   */
  signInCode({ id, nonce }: DerivationInput): string {
    const digest = this.#hmac('mooring sign-in code v2\0').update(id).update(nonce).digest('hex');
    // The remainder of a number of 256 bits, divided by one of 27 bits, has no measurable bias.
    return String(BigInt(`0x${digest}`) % CODE_COUNT).padStart(8, '0');
  }

  /**
   * Derives the secret in a mailed sign-in link of staff, 43 characters of base64url, from the table row of the link.
   * Neither a table nor the mail job contains this secret. A mail that is sent twice contains the same link.
   */
  staffLink({ id, nonce }: DerivationInput): string {
    return this.#hmac('mooring staff link v2\0').update(id).update(nonce).digest('base64url');
  }

  /** Derives the 32 bytes of a challenge of WebAuthn. @param staffId who registers a passkey; null for a sign-in */
  passkeyChallenge(id: string, staffId: string | null): Buffer {
    return this.#keyedHash('mooring passkey challenge v1\0', `${id}\0${staffId ?? ''}`).digest();
  }

  /** Derives the id by which a URL names an actor of the audit trail, because no URL contains an e-mail address. */
  auditActorId(actor: string): string {
    return this.#hmac('mooring audit actor v1\0').update(actor).digest('base64url').slice(0, ACTOR_ID_LENGTH);
  }

  /** Creates the hint of a `release_url`, see `createReleaseHint`. @param email in the form of `canonicalEmail` */
  releaseHint(license_id: string, email: string, now: Date): string {
    return createReleaseHint(this.#secret, { license_id, email }, now);
  }

  /** Whether `releaseHint` created the hint for this license and address, less than ten minutes ago. */
  isValidReleaseHint(hint: string, license: { license_id: string; email: string }, now: Date): boolean {
    return isValidReleaseHint(this.#secret, hint, license, now);
  }

  /**
   * Returns the keyed hash by which an erased e-mail address is recognized after a restore, as 64 hex digits (docs/decisions/0024).
   * @param email in the form of `canonicalEmail`
   */
  hashErasedAddress(email: string): string {
    return this.#keyedHash('mooring erased address v1\0', email).digest('hex');
  }

  /** Derives a UUID in the form of version 7, whose first 48 bits are not a time. @param domainSeparator each use has its own */
  #id(domainSeparator: string, text: string): string {
    const bytes = this.#hmac(domainSeparator).update(text).digest().subarray(0, 16);
    bytes[6] = 0x70 | (bytes[6]! & 0x0f);
    bytes[8] = 0x80 | (bytes[8]! & 0x3f);
    return stringify(bytes);
  }

  /** Begins an HMAC-SHA256 with the secret. No other use of the secret has an input that begins with the domain separator. */
  #hmac(domainSeparator: string): Hmac {
    return createHmac('sha256', this.#secret).update(domainSeparator);
  }

  /** Begins an HMAC-SHA256 of a text with a key that is derived from the secret for one use only. */
  #keyedHash(domainSeparator: string, text: string): Hmac {
    return createHmac('sha256', this.#hmac(domainSeparator).digest()).update(text);
  }
}
