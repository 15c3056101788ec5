import { randomUUID } from 'node:crypto';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { domainToASCII } from 'node:url';
import { Injectable } from '@nestjs/common';
import { createTransport, type SendMailOptions } from 'nodemailer';
import { Config } from '../core/config.js';
import { JobFailure } from './jobs.js';
import { messageHtml, messageText, type MailMessage } from './mail-message.js';

/** What a mail server may take for each step before the mail is tried again later. */
const PATIENCE = {
  connectionTimeout: 10_000,
  greetingTimeout: 10_000,
  socketTimeout: 20_000,
  dnsTimeout: 5_000,
};
/** And for all of them, where the mail itself gives no other limit: a server may also be slow without end. */
const WHOLE_MS = 60_000;

interface DeliveryOptions {
  /** Aborted where the service ends. */
  readonly signal: AbortSignal;
  /** What the mail server may take in all before the mail is tried again later. */
  readonly timeoutMs?: number | undefined;
}

/** Parameters of an address that would write mails into our log, or bring them elsewhere than to its server. */
const OURS =
  'logger debug transactionLog pool proxy name url service lmtp sendmail streamTransport jsonTransport SES';

/** What nodemailer says when nobody is there, or goes away before an answer. */
const AWAY = /^(ECONN|ETIMEDOUT|ESOCKET|EDNS|ETLS|EPROTOCOL)/;

/** Brings letters to the mail server of SMTP_URL, or without one into `DATA_DIR/outbox`. */
@Injectable()
export class Mailer {
  readonly #host: string;
  readonly #smtpUrl: string | undefined;

  constructor(private readonly config: Config) {
    this.#host = new URL(config.publicUrl).hostname;
    this.#smtpUrl = config.smtpUrl && withoutOurs(config.smtpUrl);
  }

  /**
   * Hands a letter over. @param mailId stays the same however often it is tried: a copy can be told by its Message-ID
   * @throws JobFailure saying why not, without a name
   */
  async deliver(
    mailId: string,
    to: string,
    letter: Omit<MailMessage, 'to'>,
    options: DeliveryOptions,
  ): Promise<void> {
    // They would be taken out: the mail would go to another address.
    if (/[<>]/.test(to)) throw new JobFailure('the e-mail address has a bracket in it, which cannot be sent');
    const from = this.config.mailFrom;
    // As parts, never as text: an address with a comma in it would be read as two, and one goes to somebody else.
    const recipient = { name: '', address: withAsciiDomain(to) };
    const message: SendMailOptions = {
      from,
      to: recipient,
      envelope: { from, to: recipient },
      messageId: `<${mailId}@${this.#host}>`,
      subject: letter.subject,
      text: messageText(letter),
      html: messageHtml(letter),
      // No holiday note is wanted in answer.
      headers: { 'Auto-Submitted': 'auto-generated' },
    };
    if (this.#smtpUrl) await this.send(this.#smtpUrl, message, options);
    else await this.write(mailId, message);
  }

  private async send(
    url: string,
    message: SendMailOptions,
    { signal, timeoutMs = WHOLE_MS }: DeliveryOptions,
  ): Promise<void> {
    const transport = createTransport({
      url,
      ...PATIENCE,
      name: this.#host,
      logger: false,
      disableFileAccess: true,
      disableUrlAccess: true,
    });
    const whole = AbortSignal.timeout(timeoutMs);
    try {
      await transport.sendMail({ ...message, signal: AbortSignal.any([signal, whole]) });
    } catch (error) {
      throw new JobFailure(
        signal.aborted ? 'the service ended' : whole.aborted ? 'the mail server is too slow' : reason(error),
      );
    } finally {
      transport.close();
    }
  }

  // Under its name only when it is whole; tried again, it takes the place of what was written before.
  private async write(mailId: string, message: SendMailOptions): Promise<void> {
    const transport = createTransport({ streamTransport: true, buffer: true, newline: 'unix' });
    const { message: bytes } = await transport.sendMail(message);
    const outbox = join(this.config.dataDir, 'outbox');
    const part = join(outbox, `.${randomUUID()}.part`);
    try {
      await mkdir(outbox, { recursive: true, mode: 0o700 });
      await writeFile(part, bytes as Buffer, { mode: 0o600, flush: true });
      await rename(part, join(outbox, `${mailId}.eml`));
    } catch (error) {
      throw new JobFailure(
        `DATA_DIR/outbox cannot be written (${String((error as NodeJS.ErrnoException).code)})`,
      );
    }
  }
}

/** Every mail server takes that; of what stands before the sign, one that knows no UTF-8 takes ASCII alone. */
function withAsciiDomain(address: string): string {
  const [local, domain] = address.split('@') as [string, string];
  // A percent sign would be read as an escape: the mail would go elsewhere.
  return `${local}@${(!domain.includes('%') && domainToASCII(domain)) || domain}`;
}

function withoutOurs(smtpUrl: string): string {
  const url = new URL(smtpUrl);
  for (const name of OURS.split(' ')) url.searchParams.delete(name);
  return url.href;
}

/** What went wrong, without what the mail server said: its sentence names the recipient. */
function reason(error: unknown): string {
  const {
    code = 'unknown',
    originalCode = code,
    responseCode,
    command,
  } = error as {
    code?: string;
    /** The system's own, such as ECONNREFUSED. */
    originalCode?: string;
    responseCode?: number;
    command?: string;
  };
  // With requireTLS nodemailer asks for STARTTLS although the server does not offer it, and is answered with a no.
  if (code === 'ETLS' && responseCode) return 'the mail server offers no TLS (STARTTLS)';
  if (code === 'EAUTH') return `the mail server refused the sign-in (${responseCode ?? code})`;
  if (responseCode) {
    return `the mail server refused the ${command === 'RCPT TO' ? 'recipient' : 'mail'} (${responseCode})`;
  }
  const what = AWAY.test(code) ? 'the mail server cannot be reached' : 'the mail cannot be handed over';
  return `${what} (${originalCode})`;
}
