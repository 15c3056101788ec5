import { rfc3339, rfc3339OrNull } from '../core/clock.js';
import type { KeyRing } from '../keys/tokens/key-ring.js';
import { ISSUER, OFFLINE_SECONDS, signLicenseToken } from '../keys/tokens/license-token.js';

/** 6 hours (docs/contract.md#heartbeat). */
const HEARTBEAT_AFTER_SECONDS = 21_600;

interface TokenSubject {
  readonly activation_id: string;
  readonly license_id: string;
  /** The machine digest, which is the claim `mch`. */
  readonly machine: string;
  readonly expires_at: Date | null;
}

/** The members that the activate and heartbeat responses share: a new token and the times for the client's timers. */
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
