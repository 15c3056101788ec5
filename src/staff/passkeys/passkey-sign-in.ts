import { Injectable } from '@nestjs/common';
import type { AuthenticationResponseJSON } from '@simplewebauthn/server';
import { DataSource } from 'typeorm';
import { parse as uuidBytes } from 'uuid';
import { problem } from '../../http/problems/problem.js';
import { RateLimit } from '../../http/limits/rate-limit.js';
import { Sessions } from '../../http/sessions/sessions.js';
import { PasskeyChallenges } from './passkey-challenges.js';
import { RelyingParty } from './relying-party.js';

interface Known {
  readonly id: string;
  readonly staff_id: string;
  readonly public_key: Buffer;
  /** A bigint: `pg` reads it as text. */
  readonly sign_count: string;
}

/** Signing in with a passkey. */
@Injectable()
export class PasskeySignIn {
  /** Wrong answers in the name of one person, in a quarter of an hour. */
  readonly #wrong = new RateLimit(10, 900);

  constructor(
    private readonly dataSource: DataSource,
    private readonly challenges: PasskeyChallenges,
    private readonly relyingParty: RelyingParty,
    private readonly sessions: Sessions,
  ) {}

  /** What a passkey is asked. @returns the challenge's id beside it, for the browser's cookie */
  async ask() {
    const { id, challenge } = await this.challenges.make(null);
    return { id, options: await this.relyingParty.signInOptions(challenge) };
  }

  /**
   * Signs the owner of a passkey in. Only wrong ones are counted, and only they are refused for it: whoever knows the id of
   * somebody's passkey must not be able to lock that person out.
   * @param asked the id of the challenge that this browser was given
   * @returns what the session's cookie holds
   * @throws Problem `passkey_invalid`, `too_many_requests`
   */
  async signIn(response: AuthenticationResponseJSON, asked: string | undefined): Promise<string> {
    const challenge = await this.challenges.spend(asked, null);
    if (!challenge) throw problem('passkey_invalid');
    const [known] = (await this.dataSource.query(
      'select id, staff_id, public_key, sign_count from passkey where credential_id = $1',
      [Buffer.from(response.id, 'base64url')],
    )) as Known[];
    if (!known) throw problem('passkey_invalid');
    const count = await this.relyingParty.signedIn(response, challenge, credentialOf(response, known));
    if (count !== null && isHandleOf(response, known.staff_id)) {
      const token = await this.begin(known, count);
      if (token) return token;
    }
    this.#wrong.count(known.staff_id);
    throw problem('passkey_invalid');
  }

  /** @returns what the session's cookie holds; null where the passkey has counted as far before, or was removed just now */
  private async begin({ id, staff_id }: Known, count: number): Promise<string | null> {
    return this.dataSource.transaction(async (manager) => {
      // The person first, as whoever removes one does.
      await manager.query('select 1 from staff where id = $1 for key share', [staff_id]);
      // Of two answers with one count, one is a copy's; authenticators that do not count say 0 for ever.
      const [moved] = (await manager.query(
        `with moved as (
           update passkey set sign_count = $2 where id = $1 and (sign_count < $2 or ($2 = 0 and sign_count = 0)) returning 1)
         select 1 from moved`,
        [id, count],
      )) as unknown[];
      return moved ? this.sessions.begin(manager, { staff_id }) : null;
    });
  }
}

function credentialOf({ id }: AuthenticationResponseJSON, { public_key, sign_count }: Known) {
  return { id, publicKey: new Uint8Array(public_key), counter: Number(sign_count) };
}

/** Nobody was named before: the answer must say whose passkey it is, and be right about it (WebAuthn, 7.2). */
function isHandleOf({ response }: AuthenticationResponseJSON, staffId: string): boolean {
  const handle = Buffer.from(uuidBytes(staffId)).toString('base64url');
  return response.userHandle === handle;
}
