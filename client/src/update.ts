import { createHash } from 'node:crypto';
import { asObject, parseObject } from './json.js';
import { signersOf, type TrustedKey } from './manifest-signature.js';
import { readSigned, type Offer, type Signed } from './signed-manifest.js';
import type { SeenSequence } from './state.js';
import { isAbove } from './version.js';

export type NoUpdateReason =
  | 'unreachable'
  | 'no_version_published'
  | 'malformed'
  | 'untrusted'
  | 'wrong_product'
  | 'sequence_too_low'
  | 'equivocation'
  | 'expired'
  | 'up_to_date'
  | 'not_covered'
  | 'state_unreadable';

export type UpdateCheck =
  | {
      available: true;
      /** The version to offer: the newest one that the license covers. */
      offer: Offer;
      /** The newest published version, which differs from `offer.version` if the license does not cover it. */
      newest_version: string;
    }
  | {
      available: false;
      reason: NoUpdateReason;
      /** The newest published version, only with the reason `not_covered`. */
      newest?: Offer;
    };

/** The running application and its license. */
export interface Running {
  product: string;
  app_version: string;
  /** Null: never expires. Undefined: there is no license, so only versions without a minimum expiry are covered. */
  license_expires_at: string | null | undefined;
  /** Milliseconds since 1970. */
  now: number;
}

/** The result of the checks of a manifest. */
export interface ManifestCheck {
  check: UpdateCheck;
  /** The highest sequences seen, by key, to be stored. */
  sequences: Record<string, SeenSequence>;
}

/**
 * Makes the checks of a manifest in their order (docs/clients.md#verifying-a-manifest). Reads only signed content. Never throws.
 */
export function checkManifest(
  text: string,
  trusted: TrustedKey[],
  sequences: Record<string, SeenSequence>,
  running: Running,
): ManifestCheck {
  const noUpdate = (reason: NoUpdateReason): ManifestCheck => ({
    check: { available: false, reason },
    sequences,
  });

  const manifest = parseObject(text);
  const bytes = manifest?.['signed'];
  if (!manifest || typeof bytes !== 'string') return noUpdate('malformed');

  const signers = signersOf(bytes, signaturesOf(manifest), trusted);
  if (signers.length === 0) return noUpdate('untrusted');

  const content = parseObject(bytes);
  if (!content) return noUpdate('malformed');
  if (content['_type'] !== 'update-manifest/v1' || content['product'] !== running.product)
    return noUpdate('wrong_product');
  const signed = readSigned(content);
  if (!signed) return noUpdate('malformed');

  const digest = createHash('sha256').update(bytes).digest('hex');
  const seenByKeys = signers.flatMap((key_id) => sequences[key_id] ?? []);
  if (seenByKeys.some((seen) => signed.sequence < seen.sequence)) return noUpdate('sequence_too_low');
  if (seenByKeys.some((seen) => signed.sequence === seen.sequence && digest !== seen.digest))
    return noUpdate('equivocation');

  // Stored even if there is no update: an expired or uncovered manifest still excludes all older ones.
  const seen = signers.map((key_id) => [key_id, { sequence: signed.sequence, digest }]);
  return { check: offerOf(signed, running), sequences: { ...sequences, ...Object.fromEntries(seen) } };
}

function offerOf(signed: Signed, running: Running): UpdateCheck {
  if (running.now >= signed.expires_at) return { available: false, reason: 'expired' };
  const { newest } = signed;
  if (!isAbove(newest.version, running.app_version)) return { available: false, reason: 'up_to_date' };

  // The newest version that the license covers is offered. The choice is made here, so the service does not learn it.
  const offer = [newest, ...signed.also_available]
    .filter((entry) => isAbove(entry.version, running.app_version) && isCovered(entry, running))
    .reduce<Offer | undefined>(
      (best, next) => (best && !isAbove(next.version, best.version) ? best : next),
      undefined,
    );
  if (!offer) return { available: false, reason: 'not_covered', newest };
  return { available: true, offer, newest_version: newest.version };
}

/**
 * Whether the license never expires, the version has no minimum, or the license expires at or after the minimum
 * (docs/contract.md#versions).
 */
function isCovered({ minimum_license_expiry }: Offer, { license_expires_at }: Running): boolean {
  if (minimum_license_expiry === null || license_expires_at === null) return true;
  return (
    license_expires_at !== undefined && Date.parse(license_expires_at) >= Date.parse(minimum_license_expiry)
  );
}

/**
 * Returns each `signature` in `signatures`, unchecked. The manifest's own member `signature` (a copy of the first of them) and the
 * unsigned key ids are not read.
 */
function signaturesOf({ signatures }: Record<string, unknown>): unknown[] {
  return Array.isArray(signatures) ? signatures.map((entry) => asObject(entry)?.['signature']) : [];
}
