import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Clock, DAY_SECONDS } from '../core/clock.js';
import { queryRow } from '../database/sql.js';
import { LICENSE_KEY_SENTENCE } from '../fields/license-key.js';
import { invalidMembers, problem } from '../http/problems/problem.js';
import { RateLimit } from '../http/limits/rate-limit.js';
import { Sessions } from '../http/sessions/sessions.js';
import { tokenHash } from '../http/sessions/token-hash.js';
import { TokenBucket } from '../http/limits/token-bucket.js';
import { LicenseKeys } from '../keys/license-keys.js';
import { licenseIdOfHint } from '../keys/release-hint.js';
import { LicensesService } from '../licenses/licenses.service.js';
import type { Holder } from './holder.js';
import { hintEnded, SignInCodes } from './sign-in-codes.js';

/**
 * Limits the code mails of one instance, over all addresses (docs/decisions/0027). It does not limit the mail that a holder who is
 * signed in with a license key requests, to the address of that license. The rate is far above what holders request, and one
 * worker sends the mails of a full bucket within a minute, at half a second each.
 */
const CODE_MAIL_BUCKET = { perSecond: 2, capacity: 100 };

/** Creates the sessions of holders (docs/contract.md#portal). E-mail addresses have the form of `canonicalEmail`. */
@Injectable()
export class SignInService {
  readonly #allCodeMails: TokenBucket;
  /** Limits the code mails to each address, without those of `#codeMailsByLicense`. */
  readonly #codeMailsByAddress = new RateLimit(10, DAY_SECONDS);
  /** Limits the code mails that the sessions by license key of each license request for the address of that license. */
  readonly #codeMailsByLicense = new RateLimit(10, DAY_SECONDS);
  // Limits the wrong codes for each address to 50 a day: five tries for each of ten mailed codes. A right code is neither counted
  // nor refused, so that an attacker who knows an address cannot lock its owner out.
  readonly #wrongCodes = new RateLimit(50, DAY_SECONDS);

  constructor(
    private readonly dataSource: DataSource,
    private readonly sessions: Sessions,
    private readonly codes: SignInCodes,
    private readonly keys: LicenseKeys,
    private readonly licenses: LicensesService,
    private readonly clock: Clock,
  ) {
    this.#allCodeMails = new TokenBucket(CODE_MAIL_BUCKET, () => clock.monotonic());
  }

  /**
   * Creates a session for one license, in any state. Its previous key also signs in, unless staff have replaced its license key: a
   * replaced key may have leaked, and the previous key with it. The replacement may precede the import, which can add a previous
   * key to a license that the report of its sale issued.
   * @param typedKey a text that `licenseKeyOrPreviousField` accepts @param replaced as for `Sessions.begin`
   * @returns the session token
   * @throws Problem `license_not_found` for an unknown key and for a wrong e-mail; `invalid_request` for a text that does not have
   *   the form of a license key, if no license has a previous key; `unavailable` if a production database has no licenses
   */
  async signInWithKey(email: string, typedKey: string, replaced: string | undefined): Promise<string> {
    const [key_hash, previous_key_hash] = this.keys.hashesOfTyped(typedKey);
    const token = await this.dataSource.transaction(async (manager) => {
      // A change of the key or the address and an erasure end sessions: the share lock orders them before or after this sign-in.
      const sql = `select id from license where email = $2
        and (key_hash = $1 or (previous_key_hash = $3 and key_generation = 1)) for share`;
      const values = [key_hash, email, previous_key_hash];
      const license = await queryRow<{ id: string }>(manager, sql, values);
      return license ? this.sessions.begin(manager, { license_id: license.id }, replaced) : null;
    });
    if (token) return token;
    await this.licenses.assertDatabaseHasLicenses();
    if (key_hash === null && !(await this.#hasPreviousKeys()))
      throw invalidMembers({ license_key: LICENSE_KEY_SENTENCE });
    throw problem('license_not_found');
  }

  /** Whether any license has a previous key, which can have any form. Without one, a text of another form is a typing error. */
  async #hasPreviousKeys(): Promise<boolean> {
    const sql = 'select 1 from license where previous_key_hash is not null limit 1';
    return (await queryRow<unknown>(this.dataSource, sql)) !== undefined;
  }

  /**
   * Mails a code.
   * @param holder the signed-in holder, if the browser has a session @param language of the page
   * @param hint the release hint from which the caller found the address; undefined if the browser sent the address
   * @returns the id of the code, which the browser needs to sign in with it
   * @throws Problem `too_many_requests`, `unavailable` if the limit of this instance is exceeded, `invalid_request` if the hint was
   *   used meanwhile
   */
  async requestCode(
    email: string,
    holder: Holder | undefined,
    language?: string,
    hint?: string,
  ): Promise<string> {
    if (holder?.license_id && (await this.#isAddressOf(holder.license_id, email)))
      return this.#codeMailsByLicense.countUnlessFailed(holder.license_id, () =>
        this.codes.send(email, { isUrgent: true, language, hint }),
      );
    // A request that one limit refuses does not count for the other.
    this.#codeMailsByAddress.check(email);
    if (!this.#allCodeMails.take()) throw problem('unavailable');
    return this.#codeMailsByAddress.countUnlessFailed(email, () =>
      this.codes.send(email, { language, hint }),
    );
  }

  /**
   * Mails a code to the holder of a license whose activation was refused at the machine limit.
   * @param hint the value of `release` in the fragment of the refusal's `release_url`
   * @returns the id of the code, and the address with only its first character and its domain
   * @throws Problem as `requestCode`, and `invalid_request` if the hint is forged, used or expired, or if the license has lost the
   *   address for which the hint was made
   */
  async requestCodeByHint(
    hint: string,
    holder: Holder | undefined,
    language?: string,
  ): Promise<{ id: string; sent_to: string }> {
    const license_id = licenseIdOfHint(hint)!;
    // A used hint has a row without a nonce. A request with it counts for no limit. `SignInCodes.send` checks the hint again,
    // because it may be used meanwhile.
    const sql = `select email from license where id = $1
      and not exists (select 1 from one_time_code where hint_hash = $2 and nonce is null)`;
    const values = [license_id, tokenHash(hint)];
    const license = await queryRow<{ email: string | null }>(this.dataSource, sql, values);
    const email = license?.email;
    if (!email || !this.keys.isValidReleaseHint(hint, { license_id, email }, this.clock.now()))
      throw hintEnded();
    return { id: await this.requestCode(email, holder, language, hint), sent_to: maskAddress(email) };
  }

  /**
   * Creates a session for all licenses of an address.
   * @param email undefined if the code was requested with a hint @param id the id of the code that this browser requested
   * @param replaced as for `Sessions.begin` @returns the session token @throws Problem `code_invalid`, `too_many_requests`
   */
  async signInWithCode(
    email: string | undefined,
    code: string,
    id: string | undefined,
    replaced: string | undefined,
  ): Promise<string> {
    const { attempt, token } = await this.dataSource.transaction(async (manager) => {
      const attempt = await this.codes.consume(manager, { id, email, code });
      return { attempt, token: attempt?.isRight && (await this.sessions.begin(manager, attempt, replaced)) };
    });
    if (token) return token;
    const triedAddress = email ?? attempt?.email;
    if (triedAddress !== undefined) this.#wrongCodes.count(triedAddress);
    throw problem('code_invalid');
  }

  async #isAddressOf(licenseId: string, email: string): Promise<boolean> {
    const sql = 'select 1 from license where id = $1 and email = $2';
    return (await queryRow<unknown>(this.dataSource, sql, [licenseId, email])) !== undefined;
  }
}

/** Returns `a…@example.com` for `ada@example.com`: the owner recognizes it, and it does not reveal the whole address. */
function maskAddress(email: string): string {
  const [first = ''] = email;
  return `${first}…${email.slice(email.lastIndexOf('@'))}`;
}
