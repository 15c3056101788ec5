import { randomUUID } from 'node:crypto';
import { afterEach, expect, jest, test } from '@jest/globals';
import { Logo } from '../../src/brand/logo.js';
import { Config } from '../../src/core/config.js';
import { Mailer } from '../../src/mail/mailer.js';
import { english } from '../support/languages.js';
import { MAIL_FROM, PUBLIC_URL } from './harness.js';
import { SmtpServer } from './smtp-server.js';

const smtp = await SmtpServer.start();
afterEach(() => void jest.restoreAllMocks());

/** No server listens at this address. */
const UNUSED_ADDRESS = '127.0.0.1:9';

// Parameters of Nodemailer that would redirect, drop or log mails, or change the name in EHLO, must have no effect.
test.each([
  'logger=true&debug=true',
  'logger=true&transactionLog=true',
  '%6cogger=true&debug=true',
  `proxy=http://${UNUSED_ADDRESS}`,
  `url=smtp://${UNUSED_ADDRESS}`,
  'service=gmail',
  'name=canary.example.com',
  'lmtp=true',
  'sendmail=true',
  'streamTransport=true',
  'jsonTransport=true',
  'SES=true',
])('with %s in SMTP_URL a mail is sent to the mail server, and nothing is printed', async (parameters) => {
  const prints = (['log', 'info', 'debug', 'warn', 'error'] as const).map((name) =>
    jest.spyOn(console, name).mockImplementation(() => undefined),
  );
  const SMTP_URL = `smtp://127.0.0.1:${smtp.port}?${parameters}`;
  const config = new Config({ SMTP_URL, MAIL_FROM, PUBLIC_URL });
  const mailer = new Mailer(config, new Logo(config));
  const mailId = randomUUID();
  const message = { subject: parameters, body: ['Hello.'] };
  await mailer.deliver(mailId, 'ada@example.com', message, {
    signal: new AbortController().signal,
    language: english,
  });
  const mail = await smtp.untilAccepted(({ headers }) => headers['message-id']!.includes(mailId));
  const text = 'Example App\n\nHello.';
  expect([mail.to, mail.helo, mail.text]).toEqual([['ada@example.com'], 'licenses.example.org', text]);
  for (const print of prints) expect(print).not.toHaveBeenCalled();
});
