import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { problem } from '../http/problem.js';
import { RateLimit } from '../http/rate-limit.js';
import { Sessions } from '../http/session.js';
import { canonicalLicenseKey, licenseKeyHash } from '../keys/license-key.js';
import { LicensesService } from '../licenses/licenses.service.js';
import { SignInCodes } from './sign-in-codes.js';

const DAY_SECONDS = 86_400;

/** Begins holders' sessions (contract, section 3). E-mail addresses are as `canonicalEmail` gives them. */
@Injectable()
export class SignIn {
  readonly #codeMails = new RateLimit(10, DAY_SECONDS);
  // As many as ten codes have tries. A right one is never counted nor refused: else whoever knows an address could lock
  // its owner out of the code that he or she has just been mailed.
  readonly #wrongCodes = new RateLimit(50, DAY_SECONDS);

  constructor(
    private readonly dataSource: DataSource,
    private readonly sessions: Sessions,
    private readonly codes: SignInCodes,
    private readonly licenses: LicensesService,
  ) {}

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
    await this.licenses.refuseWrongDatabase();
    throw problem('license_not_found');
  }

  /** Mails a code. @returns its id, which binds it to the browser @throws Problem `too_many_requests` */
  async askForCode(email: string): Promise<string> {
    await this.#codeMails.count(email);
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
    await this.#wrongCodes.count(email);
    throw problem('code_invalid');
  }
}
