import { timingSafeEqual } from 'node:crypto';
import { Injectable, OnModuleInit } from '@nestjs/common';
import { DataSource, EntityManager } from 'typeorm';
import { v4 as uuidv4, validate as isUuid } from 'uuid';
import { Clock } from '../core/clock.js';
import { Config } from '../core/config.js';
import { newNonce, type DerivedFrom } from '../keys/derived-from.js';
import { LicenseKeys } from '../keys/license-keys.js';
import type { MailMessage } from '../mail/mail-message.js';
import { enqueueMail, MailService } from '../mail/mail.service.js';

export const CODE_MINUTES = 10;
const TRIES = 5;
/** A code mail that hangs is tried again after this, so that it holds up the next ones for seconds and not for a minute. */
const DELIVERY_TIMEOUT_MS = 10_000;

/** What somebody typed, and the id of the code that his or her browser asked for. */
interface TypedCode {
  readonly id: string | undefined;
  readonly email: string;
  readonly code: string;
}

/** Signing in by a mailed code: who reads the mail is who the license belongs to. */
@Injectable()
export class SignInCodes implements OnModuleInit {
  constructor(
    private readonly dataSource: DataSource,
    private readonly mail: MailService,
    private readonly keys: LicenseKeys,
    private readonly clock: Clock,
    private readonly config: Config,
  ) {}

  onModuleInit(): void {
    // Anyone can cause these mails, so they have workers of their own and no purchase waits behind them.
    const options = { pool: 'sign_in_codes', timeoutMs: DELIVERY_TIMEOUT_MS } as const;
    this.mail.register('sign_in_code', (id) => this.compose(id), options);
  }

  /**
   * Mails a code. @param email as `canonicalEmail` gives it
   * @param urgent before the codes that others wait for
   * @returns the code's id, never the code
   */
  async ask(email: string, { urgent = false }: { readonly urgent?: boolean } = {}): Promise<string> {
    const [id, nonce] = [uuidv4(), newNonce()];
    const now = this.clock.now();
    const expires_at = new Date(now.getTime() + CODE_MINUTES * 60_000);
    await this.dataSource.transaction(async (manager) => {
      await manager.query(
        'insert into one_time_code (id, nonce, email, created_at, expires_at) values ($1, $2, $3, $4, $5)',
        [id, nonce, email, now, expires_at],
      );
      await enqueueMail(manager, 'sign_in_code', id, now, { urgent });
    });
    return id;
  }

  /**
   * Spends a code in the caller's transaction, which must commit even where it is wrong: each try is counted before it is
   * compared, so that those that come together are five as well. @returns whether it was right; then it is gone
   */
  async spend(manager: EntityManager, { id, email, code }: TypedCode): Promise<boolean> {
    if (!id || !isUuid(id)) return false;
    const [[row]] = (await manager.query(
      `update one_time_code set tries = tries + 1
       where id = $1 and email = $2 and expires_at > $3 and tries < ${TRIES} returning id, nonce`,
      [id, email, this.clock.now()],
    )) as [DerivedFrom[], number];
    if (!row || !timingSafeEqual(Buffer.from(code), Buffer.from(this.keys.signInCode(row)))) return false;
    await manager.query('delete from one_time_code where id = $1', [row.id]);
    return true;
  }

  // Here and not where it was asked for: who asks learns from no answer, and from no clock, whether a license has this
  // address. A code that has ended while a mail server was away helps nobody.
  private async compose(id: string): Promise<MailMessage | null> {
    const sql = `select id, nonce, email from one_time_code c where id = $1 and expires_at > $2
      and exists (select 1 from license where email = c.email)`;
    const [code] = (await this.dataSource.query(sql, [id, this.clock.now()])) as (DerivedFrom & {
      readonly email: string;
    })[];
    if (!code) return null;
    const product = this.config.mailFrom.name;
    return {
      to: code.email,
      subject: `Your code to sign in to ${product}`,
      body: [
        `This is your code to see your licenses for ${product}:`,
        { code: this.keys.signInCode(code) },
        `It works once, within ${CODE_MINUTES} minutes, in the browser that asked for it. Nobody of ours will ever ask you for it.`,
        'If you did not ask for it, you need not do anything.',
      ],
    };
  }
}
