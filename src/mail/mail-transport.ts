import { createTransport, type Transporter } from 'nodemailer';

// The mailer imports this file on demand, because nodemailer is large and would slow the start of the service down.

/** The time limits for each step with the mail server. */
const SMTP_TIMEOUTS_MS = {
  connectionTimeout: 10_000,
  greetingTimeout: 10_000,
  socketTimeout: 20_000,
  dnsTimeout: 5_000,
};

/** Returns the transport to a mail server, which connects for each mail. @param name the host name in the greeting (EHLO) */
export function smtpTransport(url: string, name: string): Transporter {
  return createTransport({
    url,
    ...SMTP_TIMEOUTS_MS,
    name,
    logger: false,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
}

/** Returns a transport that sends nothing: it makes the bytes of a mail, which the mailer writes to a file. */
export const fileTransport = () => createTransport({ streamTransport: true, buffer: true, newline: 'unix' });
