import { randomUUID, timingSafeEqual } from 'node:crypto';
import { Injectable, OnModuleInit } from '@nestjs/common';
import { DataSource, EntityManager } from 'typeorm';
import { validate as isUuid } from 'uuid';
import { Clock } from '../core/clock.js';
import { Config } from '../core/config.js';
import { isValidAt } from '../database/lifetime.js';
import { execute, queryRow } from '../database/sql.js';
import { invalidMembers } from '../http/problems/problem.js';
import { CODE_LIFETIME_MINUTES } from '../fields/code-lifetime.js';
import { tokenHash } from '../http/sessions/token-hash.js';
import { newNonce, type DerivationInput } from '../keys/mailed-secrets.js';
import { LicenseKeys } from '../keys/license-keys.js';
import type { Language } from '../languages/language.js';
import { t } from '../languages/text.js';
import type { MailMessage } from '../mail/mail-message.js';
import { enqueueMail, MailService } from '../mail/mail.service.js';
import { CODE_MAIL } from '../mail/waiting-mail.js';

const MAX_CODE_TRIES = 5;
/** Time limit of a delivery. It is short, so that a mail server that hangs delays the next codes only for seconds. */
const DELIVERY_TIMEOUT_MS = 10_000;

/** A typed code, and the id of the code that the same browser requested. */
interface TypedCode {
  readonly id: string | undefined;
  /** The typed address; undefined if the browser requested the code with a hint, and so does not know the address. */
  readonly email: string | undefined;
  readonly code: string;
}

/** What a requested code is derived from, and the address to which it is mailed. */
type RequestedCode = DerivationInput & { readonly email: string };

/** The address of a code that could still be used, and whether the typed code was right. */
interface CodeTry {
  readonly email: string;
  readonly isRight: boolean;
}

interface CodeMailOptions {
  /**
   * Whether the mail is sent before other code mails: only for a holder who is signed in with a key of a license of the address.
   */
  readonly isUrgent?: boolean;
  /** The language of the page. */
  readonly language?: string | undefined;
  /** The hint with which the code is requested, if it is requested without an address. */
  readonly hint?: string | undefined;
}

// A hint has one row. Another request with the hint replaces a code that is not used yet, because the first mail may be lost.
// The lock on the row orders concurrent requests and sign-ins of all instances.
const STORE_CODE = `
  insert into one_time_code (id, nonce, email, created_at, expires_at, hint_hash) values ($1, $2, $3, $4, $5, $6)
  on conflict (hint_hash) do update
    set id = excluded.id, nonce = excluded.nonce, tries = 0, created_at = excluded.created_at, expires_at = excluded.expires_at
    where one_time_code.nonce is not null
  returning id`;

const DELETE_CODE = 'delete from one_time_code where id = $1';
/**
 * A used hint keeps its row, without a nonce, so that it is refused until the code would have expired. By then the hint has expired
 * too: it is also valid for 10 minutes, and was made before the code.
 */
const USE_HINT = 'update one_time_code set nonce = null where id = $1';

/** The problem of a hint that is forged, used or expired, or whose license has lost the address for which the hint was made. */
export const hintEnded = () =>
  invalidMembers({ hint: 'is not valid any more: activate once more in the application' });

/** Sign-in codes by mail. A code proves access to the mailbox of the holder. */
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
    // Any client can cause these mails. They have a worker pool of their own, so that no other mail waits for them.
    const options = { pool: 'sign_in_codes', timeoutMs: DELIVERY_TIMEOUT_MS } as const;
    this.mail.register(CODE_MAIL, (id, language) => this.compose(id, language), options);
  }

  /**
   * Creates a code and queues its mail.
   * @param email in the form of `canonicalEmail`
   * @returns the id of the code @throws Problem `invalid_request` if the hint is used
   */
  async send(email: string, { isUrgent = false, language, hint }: CodeMailOptions = {}): Promise<string> {
    const [id, nonce] = [randomUUID(), newNonce()];
    const now = this.clock.now();
    const expires_at = new Date(now.getTime() + CODE_LIFETIME_MINUTES * 60_000);
    await this.dataSource.transaction(async (manager) => {
      const hint_hash = hint === undefined ? null : tokenHash(hint);
      const stored = await queryRow(manager, STORE_CODE, [id, nonce, email, now, expires_at, hint_hash]);
      if (!stored) throw hintEnded();
      await enqueueMail(manager, CODE_MAIL, id, now, { isUrgent, language });
    });
    return id;
  }

  /**
   * Compares a typed code with the requested one, and ends the requested one if they are equal. The caller's transaction must
   * commit whether they are equal or not, because it counts the try. The try is counted before the comparison, so that concurrent
   * tries count too. @returns null if the browser requested no code that can still be used, or requested it for another address
   */
  async consume(manager: EntityManager, { id, email, code }: TypedCode): Promise<CodeTry | null> {
    if (!id || !isUuid(id)) return null;
    const row = await queryRow<RequestedCode & { readonly hint_hash: Buffer | null }>(
      manager,
      `update one_time_code set tries = tries + 1
       where id = $1 and email = coalesce($2, email) and ${isValidAt('$3')} and tries < ${MAX_CODE_TRIES}
         and nonce is not null
       returning id, nonce, email, hint_hash`,
      [id, email ?? null, this.clock.now()],
    );
    if (!row) return null;
    const isRight = timingSafeEqual(Buffer.from(code), Buffer.from(this.keys.signInCode(row)));
    if (isRight) await execute(manager, row.hint_hash ? USE_HINT : DELETE_CODE, [row.id]);
    return { email: row.email, isRight };
  }

  // The job, not the request, checks whether a license or a purchase has this address, so that neither the response nor its
  // duration reveals it. No mail is sent for a code that expired while the mail server was unavailable.
  private async compose(id: string, language: Language): Promise<MailMessage | null> {
    const sql = `select id, nonce, email from one_time_code c where id = $1 and expires_at > $2 and nonce is not null
      and (exists (select 1 from license where email = c.email) or exists (select 1 from purchase where email = c.email))`;
    const code = await queryRow<RequestedCode>(this.dataSource, sql, [id, this.clock.now()]);
    if (!code) return null;
    const product = this.config.brand.productName;
    const texts = language.messages.mail.code;
    // In two groups: `1234 5678`.
    const digits = this.keys.signInCode(code).replace(/^.{4}/, '$& ');
    return {
      to: code.email,
      // In each language the digits come first, so that a notification shows them.
      subject: t(texts.subject, { code: digits, product }),
      body: [
        t(texts.lead, { product }),
        { code: digits },
        t(texts.terms, { minutes: language.formatNumber(CODE_LIFETIME_MINUTES) }),
        texts.notYou,
      ],
    };
  }
}
