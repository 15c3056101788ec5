import { rfc3339, rfc3339OrNull } from '../core/clock.js';
import type { KeyRing } from '../keys/tokens/key-ring.js';
import { ISSUER, OFFLINE_SECONDS, signLicenseToken } from '../keys/tokens/license-token.js';

/** About every 6 hours (seed, 8). */
const HEARTBEAT_AFTER_SECONDS = 21_600;

interface Binding {
  readonly activation_id: string;
  readonly license_id: string;
  /** The `mch` claim. */
  readonly machine: string;
  readonly expires_at: Date | null;
}

/** The members that activate and heartbeat answer alike: a fresh token and what the client's timers need. */
export function tokenAnswer(ring: KeyRing, product: string, binding: Binding, now: Date) {
  const iat = Math.floor(now.getTime() / 1000);
  const exp = iat + OFFLINE_SECONDS;
  const lxp = binding.expires_at && Math.floor(binding.expires_at.getTime() / 1000);
  const { activation_id: sub, license_id: lic, machine: mch } = binding;
  return {
    token: signLicenseToken(ring.active, { iss: ISSUER, aud: product, sub, lic, mch, lxp, iat, exp }),
    offline_until: rfc3339(new Date(exp * 1000)),
    heartbeat_after_seconds: HEARTBEAT_AFTER_SECONDS,
    server_time: rfc3339(now),
    license: { status: 'active' as const, expires_at: rfc3339OrNull(binding.expires_at) },
  };
}
