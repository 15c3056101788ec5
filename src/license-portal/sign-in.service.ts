import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Clock } from '../core/clock.js';
import { problem } from '../http/problems/problem.js';
import { RateLimit } from '../http/limits/rate-limit.js';
import { Sessions, type Session } from '../http/sessions/sessions.js';
import { TokenBucket } from '../http/limits/token-bucket.js';
import { canonicalLicenseKey, licenseKeyHash } from '../keys/license-key.js';
import { LicensesService } from '../licenses/licenses.service.js';
import { SignInCodes } from './sign-in-codes.js';

const DAY_SECONDS = 86_400;

/**
 * The code mails of one instance, over all addresses (docs/decisions/0027): a day of them is far more than holders ask
 * for, and one worker sends those of a full bucket within a minute, at half a second each.
 */
const ALL_CODE_MAILS = { perSecond: 2, capacity: 100 };

/** Begins holders' sessions (contract, section 3). E-mail addresses are as `canonicalEmail` gives them. */
@Injectable()
export class SignIn {
  readonly #allCodeMails: TokenBucket;
  readonly #codeMails = new RateLimit(10, DAY_SECONDS);
  /** Of a license whose key signed in, to its own address: nothing that others do counts here. */
  readonly #ownCodeMails = new RateLimit(10, DAY_SECONDS);
  // As many as ten codes have tries. A right one is never counted nor refused: else whoever knows an address could lock
  // its owner out of the code that he or she has just been mailed.
  readonly #wrongCodes = new RateLimit(50, DAY_SECONDS);

  constructor(
    private readonly dataSource: DataSource,
    private readonly sessions: Sessions,
    private readonly codes: SignInCodes,
    private readonly licenses: LicensesService,
    clock: Clock,
  ) {
    this.#allCodeMails = new TokenBucket(ALL_CODE_MAILS, () => clock.monotonic());
  }

  /**
   * A session that sees the one license, in whatever state it is. Unknown key and wrong e-mail are one answer.
   * @returns what its cookie holds @throws Problem `license_not_found`
   */
  async byKey(email: string, typedKey: string): Promise<string> {
    const key_hash = licenseKeyHash(canonicalLicenseKey(typedKey)!);
    const token = await this.dataSource.transaction(async (manager) => {
      // Shared: who replaces the key, changes the address or erases the holder ends this session too, or comes first.
      const sql = 'select id from license where key_hash = $1 and email = $2 for share';
      const [license] = (await manager.query(sql, [key_hash, email])) as { id: string }[];
      return license ? this.sessions.begin(manager, { license_id: license.id }) : null;
    });
    if (token) return token;
    await this.licenses.assertDatabaseHasLicenses();
    throw problem('license_not_found');
  }

  /**
   * Mails a code.
   * @param signedIn the session that the browser has, if it has one
   * @returns the code's id, which binds it to the browser
   * @throws Problem `too_many_requests`, `unavailable` where more are asked for in all than one instance mails
   */
  async askForCode(email: string, signedIn: Session | null): Promise<string> {
    if (signedIn?.license_id && (await this.#isAddressOf(signedIn.license_id, email))) {
      this.#ownCodeMails.count(signedIn.license_id);
      return this.codes.ask(email, { urgent: true });
    }
    // What one limit refuses must not count for the other.
    this.#codeMails.check(email);
    if (!this.#allCodeMails.take()) throw problem('unavailable');
    this.#codeMails.count(email);
    return this.codes.ask(email);
  }

  /**
   * A session that sees every license of the address.
   * @param id of the code that this browser asked for
   * @returns what its cookie holds @throws Problem `code_invalid`, `too_many_requests`
   */
  async byCode(email: string, code: string, id: string | undefined): Promise<string> {
    const token = await this.dataSource.transaction(async (manager) =>
      (await this.codes.spend(manager, { id, email, code })) ? this.sessions.begin(manager, { email }) : null,
    );
    if (token) return token;
    this.#wrongCodes.count(email);
    throw problem('code_invalid');
  }

  async #isAddressOf(licenseId: string, email: string): Promise<boolean> {
    const sql = 'select 1 from license where id = $1 and email = $2';
    return ((await this.dataSource.query(sql, [licenseId, email])) as unknown[]).length > 0;
  }
}
