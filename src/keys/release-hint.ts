import { createHmac, timingSafeEqual } from 'node:crypto';
import { CLOCK_TOLERANCE_MS } from '../core/clock.js';

/** The beginning of the input of the HMAC. No other HMAC with the same secret has this beginning. */
const DOMAIN_SEPARATOR = 'mooring release hint v1\0';
const LIFETIME_SECONDS = 10 * 60;
/** A license id, the expiry in Unix seconds, and an HMAC-SHA256 in base64url. */
const SHAPE = /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.([0-9]{10})\.([A-Za-z0-9_-]{43})$/;

/** The license of a hint, and the address of its holder. */
interface HintedLicense {
  readonly license_id: string;
  /** In the form of `canonicalEmail`. A hint ends when the license gets another address. */
  readonly email: string;
}

/**
 * Creates the hint in the `release_url` of a refused activation (docs/decisions/0035). For ten minutes, a request for a sign-in
 * code with this hint makes the service mail a code to the holder, until one of these codes signs in (`SignInCodes`). The hint is
 * not stored, and gives no access by itself.
 * @param secret LICENSE_KEY_SECRET
 */
export function createReleaseHint(secret: Buffer, license: HintedLicense, now: Date): string {
  return sign(secret, license, Math.floor(now.getTime() / 1000) + LIFETIME_SECONDS);
}

/**
 * Returns the license id in a hint; null if the text has another form. The hint may be forged or expired (`isValidReleaseHint`).
 */
export function licenseIdOfHint(hint: string): string | null {
  return SHAPE.exec(hint)?.[1] ?? null;
}

/** Whether `createReleaseHint` created the hint with this secret, for this license and address, less than ten minutes ago. */
export function isValidReleaseHint(secret: Buffer, hint: string, license: HintedLicense, now: Date): boolean {
  const expiry = Number(SHAPE.exec(hint)?.[2]);
  const remainingMs = expiry * 1000 - now.getTime();
  // A hint that was created over an hour in the future was created while the clock was ahead (docs/decisions/0015).
  if (!(remainingMs > 0 && remainingMs <= LIFETIME_SECONDS * 1000 + CLOCK_TOLERANCE_MS)) return false;
  const expected = Buffer.from(sign(secret, license, expiry));
  return expected.length === hint.length && timingSafeEqual(expected, Buffer.from(hint));
}

function sign(secret: Buffer, { license_id, email }: HintedLicense, expiry: number): string {
  const text = `${license_id}.${expiry}`;
  const mac = createHmac('sha256', secret).update(DOMAIN_SEPARATOR).update(`${text}.${email}`);
  return `${text}.${mac.digest('base64url')}`;
}
