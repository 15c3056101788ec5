import { Injectable } from '@nestjs/common';
import type { AuthenticationResponseJSON } from '@simplewebauthn/server';
import { DataSource } from 'typeorm';
import { parse as uuidBytes } from 'uuid';
import { Clock, utcDay } from '../../core/clock.js';
import { execute, queryRow } from '../../database/sql.js';
import { problem } from '../../http/problems/problem.js';
import { RateLimit } from '../../http/limits/rate-limit.js';
import { Sessions } from '../../http/sessions/sessions.js';
import { PasskeyChallenges, type PasskeyChallenge } from './passkey-challenges.js';
import { RelyingParty } from './relying-party.js';

/** The challenge of a sign-in belongs to no staff member: only the answer shows who signs in. */
const NO_STAFF_MEMBER = null;

interface StoredPasskey {
  readonly id: string;
  readonly staff_id: string;
  readonly public_key: Buffer;
  /** A bigint: `pg` reads it as text. */
  readonly sign_count: string;
}

/** Sign-in of staff with a passkey. */
@Injectable()
export class PasskeySignIn {
  /** Limits the wrong answers of passkeys to 10 in 15 minutes for each staff member, in the memory of this instance. */
  readonly #wrongAnswers = new RateLimit(10, 900);

  constructor(
    private readonly dataSource: DataSource,
    private readonly challenges: PasskeyChallenges,
    private readonly relyingParty: RelyingParty,
    private readonly sessions: Sessions,
    private readonly clock: Clock,
  ) {}

  /** Creates the WebAuthn options of a sign-in. @returns the options, and the challenge id for the cookie of the browser */
  async createOptions() {
    const { id, bytes } = this.challenges.create(NO_STAFF_MEMBER);
    return { id, options: await this.relyingParty.createSignInOptions(bytes) };
  }

  /**
   * Signs the owner of a passkey in. The rate limit counts and refuses only wrong answers, so that an attacker who knows the
   * id of a passkey cannot lock its owner out.
   * @param challengeId from the cookie of the browser
   * @param replaced the session token in the browser's earlier cookie; that session ends
   * @returns the session token
   * @throws Problem `passkey_invalid`, `too_many_requests`
   */
  async signIn(
    response: AuthenticationResponseJSON,
    challengeId: string | undefined,
    replaced: string | undefined,
  ): Promise<string> {
    const challenge = this.challenges.find(challengeId, NO_STAFF_MEMBER);
    if (!challenge) throw problem('passkey_invalid');
    const passkey = await queryRow<StoredPasskey>(
      this.dataSource,
      'select id, staff_id, public_key, sign_count from passkey where credential_id = $1',
      [Buffer.from(response.id, 'base64url')],
    );
    if (!passkey) throw problem('passkey_invalid');
    const count = await this.relyingParty.verifySignIn(
      response,
      challenge.bytes,
      toCredential(response, passkey),
    );
    if (count !== null && hasUserHandle(response, passkey.staff_id)) {
      const token = await this.beginSession(passkey, challenge, count, replaced);
      if (token) return token;
    }
    // Throws `too_many_requests` if ten wrong answers are counted already.
    this.#wrongAnswers.count(passkey.staff_id);
    throw problem('passkey_invalid');
  }

  /**
   * Stores the signature count and begins a session.
   * @returns the session token; null if an authenticator that counts sent no higher count than the stored one, if the passkey was
   *   removed meanwhile, or if the challenge was used before
   */
  private async beginSession(
    { id, staff_id }: StoredPasskey,
    challenge: PasskeyChallenge,
    count: number,
    replaced: string | undefined,
  ): Promise<string | null> {
    return this.dataSource.transaction(async (manager) => {
      // The staff row is locked first, as in each removal of a person.
      await execute(manager, 'select 1 from staff where id = $1 for key share', [staff_id]);
      if (!(await this.challenges.use(manager, challenge))) return null;
      // A count that has not increased comes from a copy of the passkey. Authenticators that do not count always send
      // 0, and then only the first sign-in of a day writes the row. The lock makes a concurrent removal of the passkey
      // wait in either case.
      const accepted = await queryRow<unknown>(
        manager,
        `with accepted as (
           select id from passkey where id = $1 and (sign_count < $2 or ($2 = 0 and sign_count = 0)) for no key update
         ), updated as (
           update passkey p set sign_count = $2, last_used_on = $3 from accepted
           where p.id = accepted.id and (p.sign_count <> $2 or p.last_used_on is distinct from $3))
         select 1 from accepted`,
        [id, count, utcDay(this.clock.now())],
      );
      return accepted ? this.sessions.begin(manager, { staff_id }, replaced) : null;
    });
  }
}

function toCredential({ id }: AuthenticationResponseJSON, { public_key, sign_count }: StoredPasskey) {
  return { id, publicKey: new Uint8Array(public_key), counter: Number(sign_count) };
}

/** Whether the answer has the user handle of the owner. WebAuthn (7.2) requires this, because the request named no user. */
function hasUserHandle({ response }: AuthenticationResponseJSON, staffId: string): boolean {
  const handle = Buffer.from(uuidBytes(staffId)).toString('base64url');
  return response.userHandle === handle;
}
