import { rfc3339, rfc3339OrNull } from '../core/clock.js';
import type { KeyRing } from '../keys/tokens/key-ring.js';
import { ISSUER, OFFLINE_SECONDS, signLicenseToken } from '../keys/tokens/license-token.js';

/** The time after which a client sends its next heartbeat: 6 hours (docs/contract.md#heartbeat). */
const HEARTBEAT_AFTER_SECONDS = 21_600;

/** The activation that a token confirms. */
interface TokenSubject {
  readonly activation_id: string;
  readonly license_id: string;
  /** The machine digest, which is the claim `mch`. */
  readonly machine: string;
  /** The expiry of the license; null if it has none. */
  readonly expires_at: Date | null;
}

/** Returns the members that the responses of activate and heartbeat share: a new token, the times for the client, the license. */
export function tokenResponse(ring: KeyRing, product: string, subject: TokenSubject, now: Date) {
  const iat = Math.floor(now.getTime() / 1000);
  const exp = iat + OFFLINE_SECONDS;
  const lxp = subject.expires_at && Math.floor(subject.expires_at.getTime() / 1000);
  const { activation_id: sub, license_id: lic, machine: mch } = subject;
  return {
    token: signLicenseToken(ring.active, { iss: ISSUER, aud: product, sub, lic, mch, lxp, iat, exp }),
    offline_until: rfc3339(new Date(exp * 1000)),
    heartbeat_after_seconds: HEARTBEAT_AFTER_SECONDS,
    server_time: rfc3339(now),
    license: { status: 'active' as const, expires_at: rfc3339OrNull(subject.expires_at) },
  };
}
