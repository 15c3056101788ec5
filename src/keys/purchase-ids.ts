import { createHmac } from 'node:crypto';
import { stringify } from 'uuid';

/** The ids of a purchase and of the license that is issued for it. */
export interface PurchaseIds {
  readonly purchase_id: string;
  readonly license_id: string;
}

/**
 * Derives the ids from the transaction id of the payment processor. A purchase that a restored backup lacks gets the same ids when
 * it is reported again, and its license gets the license key that the buyer already has (docs/decisions/0021).
 * @param secret LICENSE_KEY_SECRET
 * @returns UUIDs in the form of version 7, whose first 48 bits are not a time
 */
export function derivePurchaseIds(secret: Buffer, transactionId: string): PurchaseIds {
  return {
    purchase_id: deriveId(secret, 'mooring purchase id v1\0', transactionId),
    license_id: deriveId(secret, 'mooring license id v1\0', transactionId),
  };
}

/**
 * Derives a UUID in the form of version 7 from a text.
 * @param secret LICENSE_KEY_SECRET @param domainSeparator the beginning of the input; each use has its own
 */
export function deriveId(secret: Buffer, domainSeparator: string, text: string): string {
  const bytes = createHmac('sha256', secret).update(domainSeparator).update(text).digest().subarray(0, 16);
  bytes[6] = 0x70 | (bytes[6]! & 0x0f);
  bytes[8] = 0x80 | (bytes[8]! & 0x3f);
  return stringify(bytes);
}
