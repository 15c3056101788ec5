import { createHash } from 'node:crypto';
import { asObject, parseObject } from './believe.js';
import { signersOf, type TrustedKey } from './manifest-signature.js';
import { readSigned, type Offer, type Signed } from './signed-manifest.js';
import type { SeenSequence } from './state-file.js';
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
  | 'not_covered';

export type UpdateCheck =
  | {
      available: true;
      /** What to offer: the newest version, or for a lapsed license the newest one it covers. */
      offer: Offer;
      /** The newest version there is; above `offer.version` where the license does not cover it. */
      newest_version: string;
    }
  | { available: false; reason: NoUpdateReason; newest?: Offer };

export interface Running {
  product: string;
  app_version: string;
  /** Null: never expires. Undefined: there is no license, so only what everyone may have is covered. */
  license_expires_at: string | null | undefined;
  /** Milliseconds since 1970. */
  now: number;
}

export interface Judgement {
  check: UpdateCheck;
  /** What to remember from now on: the sequences seen, by key. */
  sequences: Record<string, SeenSequence>;
}

/** Holds a manifest against the client rules, in their order (docs/keys.md#manifests). Reads only what is signed. Never throws. */
export function judgeManifest(
  text: string,
  trusted: TrustedKey[],
  sequences: Record<string, SeenSequence>,
  running: Running,
): Judgement {
  const no = (reason: NoUpdateReason): Judgement => ({ check: { available: false, reason }, sequences });

  const manifest = parseObject(text);
  const bytes = manifest?.['signed'];
  if (!manifest || typeof bytes !== 'string') return no('malformed');

  const signers = signersOf(bytes, signaturesOf(manifest), trusted);
  if (signers.length === 0) return no('untrusted');

  const facts = parseObject(bytes);
  if (!facts) return no('malformed');
  if (facts['_type'] !== 'update-manifest/v1' || facts['product'] !== running.product)
    return no('wrong_product');
  const signed = readSigned(facts);
  if (!signed) return no('malformed');

  const digest = createHash('sha256').update(bytes).digest('hex');
  const highest = signers.flatMap((key_id) => sequences[key_id] ?? []);
  if (highest.some((seen) => signed.sequence < seen.sequence)) return no('sequence_too_low');
  if (highest.some((seen) => signed.sequence === seen.sequence && digest !== seen.digest))
    return no('equivocation');

  // Remembered even where no update follows: an expired or uncovered manifest still forbids all older ones.
  const seen = signers.map((key_id) => [key_id, { sequence: signed.sequence, digest }]);
  return { check: offerOf(signed, running), sequences: { ...sequences, ...Object.fromEntries(seen) } };
}

function offerOf(signed: Signed, running: Running): UpdateCheck {
  if (running.now >= signed.expires_at) return { available: false, reason: 'expired' };
  const { newest } = signed;
  if (!isAbove(newest.version, running.app_version)) return { available: false, reason: 'up_to_date' };

  // A lapsed license is offered the newest version it still owns, and the service never learns which.
  const offer = [newest, ...signed.also_available]
    .filter((entry) => isAbove(entry.version, running.app_version) && isCovered(entry, running))
    .reduce<Offer | undefined>(
      (best, next) => (best && !isAbove(next.version, best.version) ? best : next),
      undefined,
    );
  if (!offer) return { available: false, reason: 'not_covered', newest };
  return { available: true, offer, newest_version: newest.version };
}

/** Covered ⇔ license expiry is none, or `minimum_license_expiry` is null, or expiry ≥ minimum (docs/keys.md#manifests). */
function isCovered({ minimum_license_expiry }: Offer, { license_expires_at }: Running): boolean {
  if (minimum_license_expiry === null || license_expires_at === null) return true;
  return (
    license_expires_at !== undefined && Date.parse(license_expires_at) >= Date.parse(minimum_license_expiry)
  );
}

/** Those of `signatures`, of which the outer one is a copy. What they call their keys is not looked at. */
function signaturesOf({ signatures }: Record<string, unknown>): unknown[] {
  return Array.isArray(signatures) ? signatures.map((entry) => asObject(entry)?.['signature']) : [];
}
