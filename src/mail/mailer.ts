import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Inject, Injectable } from '@nestjs/common';
import type { SendMailOptions, Transporter } from 'nodemailer';
import { Logo, type Image } from '../brand/logo.js';
import { Config } from '../core/config.js';
import { replaceFile } from '../core/new-file.js';
import type { Language } from '../languages/language.js';
import { JobFailure } from './jobs.js';
import { LOGO_CID, messageHtml, messageText, withBrand, type MailMessage } from './mail-message.js';

/** The default time limit for an attempt to deliver as a whole; its steps have limits of their own (`mail-transport.ts`). */
const DELIVERY_TIMEOUT_MS = 60_000;

interface DeliveryOptions {
  readonly language: Language;
  /** Aborted shortly after the worker pool began to shut down. */
  readonly signal: AbortSignal;
  /** The time limit for this attempt; the default is DELIVERY_TIMEOUT_MS. */
  readonly timeoutMs?: number | undefined;
  /** Whether the recipient is staff. A mail to staff does not name the support contact. */
  readonly isForStaff?: boolean;
}

/**
 * Parameters of SMTP_URL that are removed: with them nodemailer would log mails, send them in another way or to another
 * server, or connect in another way.
 */
const RESERVED_SMTP_PARAMETERS =
  'logger debug transactionLog pool proxy name url service lmtp sendmail streamTransport jsonTransport SES';

/** Error codes of nodemailer for a failed or closed connection. */
const CONNECTION_ERROR_CODES = /^(ECONN|ETIMEDOUT|ESOCKET|EDNS|ETLS|EPROTOCOL)/;

/** Delivers mails to the mail server of SMTP_URL, or writes them to `DATA_DIR/outbox` if none is configured. */
@Injectable()
export class Mailer {
  readonly #host: string;
  readonly #smtpUrl: string | undefined;

  constructor(
    private readonly config: Config,
    @Inject(Logo) private readonly logo: Pick<Logo, 'mailImage'>,
  ) {
    this.#host = new URL(config.publicUrl).hostname;
    this.#smtpUrl = config.smtpUrl && withoutReservedParameters(config.smtpUrl);
  }

  /**
   * Delivers a mail.
   * @param mailId the same for each attempt, so that duplicates have the same Message-ID
   * @throws JobFailure with the reason, without personal data; the reason of the signal if it was aborted
   */
  async deliver(
    mailId: string,
    to: string,
    mail: Omit<MailMessage, 'to'>,
    options: DeliveryOptions,
  ): Promise<void> {
    // nodemailer removes angle brackets, which would change the address.
    if (/[<>]/.test(to)) throw new JobFailure('the e-mail address has a bracket in it, which cannot be sent');
    const { mailFrom: from, brand } = this.config;
    const supportContact = options.isForStaff ? null : brand.supportContact;
    const image = this.logo.mailImage;
    const fullMail = withBrand(mail, { ...brand, supportContact, hasLogo: image !== null }, options.language);
    // The recipient is an object, because nodemailer would read a string with a comma as two addresses. It converts the domain to
    // ASCII, unless the local part needs SMTPUTF8 anyway.
    const recipient = { name: '', address: to };
    const message: SendMailOptions = {
      from,
      to: recipient,
      envelope: { from, to: recipient },
      messageId: `<${mailId}@${this.#host}>`,
      subject: mail.subject,
      text: messageText(fullMail, options.language),
      html: messageHtml(fullMail, options.language),
      attachments: image ? [inlineLogo(image)] : [],
      // Suppresses automatic replies (RFC 3834).
      headers: { 'Auto-Submitted': 'auto-generated' },
    };
    if (this.#smtpUrl) await this.send(this.#smtpUrl, message, options);
    else await this.write(mailId, message);
  }

  /**
   * Connects to the mail server as a delivery does, with TLS and the sign-in, and sends nothing.
   * @returns why a delivery would fail, see `describeFailure`; null if it would not, or if no server is configured
   */
  async verify(): Promise<string | null> {
    if (!this.#smtpUrl) return null;
    const transport = await this.loadTransport(this.#smtpUrl);
    try {
      await transport.verify();
      return null;
    } catch (error) {
      return describeFailure(error);
    } finally {
      transport.close();
    }
  }

  private async loadTransport(url: string): Promise<Transporter> {
    const { smtpTransport } = await import('./mail-transport.js');
    return smtpTransport(url, this.#host);
  }

  private async send(
    url: string,
    message: SendMailOptions,
    { signal, timeoutMs = DELIVERY_TIMEOUT_MS }: DeliveryOptions,
  ): Promise<void> {
    const transport = await this.loadTransport(url);
    const timeout = AbortSignal.timeout(timeoutMs);
    try {
      await transport.sendMail({ ...message, signal: AbortSignal.any([signal, timeout]) });
    } catch (error) {
      // If the worker pool aborted the delivery, the reason of its signal is thrown: `JobWorker` replaces it with a sentence.
      signal.throwIfAborted();
      throw new JobFailure(timeout.aborted ? 'the mail server is too slow' : describeFailure(error));
    } finally {
      transport.close();
    }
  }

  // A file gets the name of its mail when it is complete. Another attempt replaces the file.
  private async write(mailId: string, message: SendMailOptions): Promise<void> {
    const { fileTransport } = await import('./mail-transport.js');
    const { message: bytes } = await fileTransport().sendMail(message);
    const outbox = join(this.config.dataDir, 'outbox');
    try {
      await mkdir(outbox, { recursive: true, mode: 0o700 });
      await replaceFile(join(outbox, `${mailId}.eml`), bytes as Buffer);
    } catch (error) {
      throw new JobFailure(
        `DATA_DIR/outbox cannot be written (${String((error as NodeJS.ErrnoException).code)})`,
      );
    }
  }
}

const inlineLogo = ({ type, bytes }: Image) => ({
  content: bytes,
  contentType: type,
  contentDisposition: 'inline' as const,
  cid: LOGO_CID,
  filename: 'logo.png',
});

function withoutReservedParameters(smtpUrl: string): string {
  const url = new URL(smtpUrl);
  for (const name of RESERVED_SMTP_PARAMETERS.split(' ')) url.searchParams.delete(name);
  return url.href;
}

/** Describes why a delivery failed, without the response of the mail server, which may contain the recipient. */
function describeFailure(error: unknown): string {
  const {
    code = 'unknown',
    originalCode = code,
    responseCode,
    command,
  } = error as {
    code?: string;
    /** The error code of the operating system, such as ECONNREFUSED. */
    originalCode?: string;
    responseCode?: number;
    command?: string;
  };
  // With requireTLS nodemailer sends STARTTLS even if the server does not offer it, and the server refuses it.
  if (code === 'ETLS' && responseCode) return 'the mail server offers no TLS (STARTTLS)';
  if (code === 'EAUTH') return `the mail server refused the sign-in (${responseCode ?? code})`;
  if (responseCode) {
    return `the mail server refused the ${command === 'RCPT TO' ? 'recipient' : 'mail'} (${responseCode})`;
  }
  const summary = CONNECTION_ERROR_CODES.test(code)
    ? 'the mail server cannot be reached'
    : 'the mail cannot be delivered';
  return `${summary} (${originalCode})`;
}
