import { Injectable } from '@nestjs/common';
import { v7 as uuidv7 } from 'uuid';
import { Clock, CLOCK_TOLERANCE_MS } from '../../core/clock.js';
import { queryRow, type SqlConnection } from '../../database/sql.js';
import { LicenseKeys } from '../../keys/license-keys.js';

export const CHALLENGE_LIFETIME_MINUTES = 5;
const LIFETIME_MS = CHALLENGE_LIFETIME_MINUTES * 60_000;

/** A challenge of WebAuthn. */
export interface PasskeyChallenge {
  /** A UUID with the time at which the challenge was created, for the cookie of the browser. */
  readonly id: string;
  /** The staff member who registers a passkey; null for a sign-in. */
  readonly staffId: string | null;
  readonly bytes: Buffer;
}

/**
 * WebAuthn challenges, each for one answer from the browser that requested it. They are derived, and stored only when they have
 * been used, because anyone can request them (docs/decisions/0061).
 */
@Injectable()
export class PasskeyChallenges {
  constructor(
    private readonly keys: LicenseKeys,
    private readonly clock: Clock,
  ) {}

  /** Creates a challenge. */
  create(staffId: string | null): PasskeyChallenge {
    const id = uuidv7({ msecs: this.clock.now().getTime() });
    return this.#derive(id, staffId);
  }

  /**
   * Returns the challenge with the id of a cookie. An id that `create` did not return, or another `staffId`, gives a challenge that
   * no passkey has signed.
   * @returns null if the id or its time is missing, or if the time is over or too far ahead
   */
  find(id: string | undefined, staffId: string | null): PasskeyChallenge | null {
    if (id === undefined) return null;
    const age = this.clock.now().getTime() - creationTime(id);
    return age < LIFETIME_MS && age >= -CLOCK_TOLERANCE_MS ? this.#derive(id, staffId) : null;
  }

  /**
   * Stores that a challenge was used, in the transaction that accepts its answer. The row expires when no instance would accept the
   * answer again: the clocks of instances may differ.
   * @returns false if it was used before
   */
  async use(transaction: SqlConnection, { id, staffId, bytes }: PasskeyChallenge): Promise<boolean> {
    const stored = await queryRow<unknown>(
      transaction,
      `insert into passkey_challenge (id, challenge, staff_id, expires_at) values ($1, $2, $3, $4)
       on conflict do nothing returning id`,
      [rowId(bytes), bytes, staffId, new Date(creationTime(id) + LIFETIME_MS + CLOCK_TOLERANCE_MS)],
    );
    return stored !== undefined;
  }

  #derive(id: string, staffId: string | null): PasskeyChallenge {
    return { id, staffId, bytes: this.keys.passkeyChallenge(id, staffId) };
  }
}

/**
 * Reads the milliseconds since 1970 in the first 48 bits of a UUID of version 7 (RFC 9562, section 5.7): `parseInt` stops at its
 * second hyphen. NaN if the id does not begin with hexadecimal digits.
 */
const creationTime = (id: string) => parseInt(id.replace('-', ''), 16);

/**
 * Returns the id of the row of a used challenge: the first half of the challenge as a UUID of version 0. During an upgrade, an
 * older instance accepts each challenge whose row the cookie names, also a used one. It refuses a UUID of version 0, so a cookie
 * cannot name this row.
 */
function rowId(bytes: Buffer): string {
  const hex = bytes.toString('hex', 0, 16);
  return `${hex.slice(0, 12)}0${hex.slice(13)}`;
}
