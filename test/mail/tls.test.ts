import { expect, test } from '@jest/globals';
import { Logo } from '../../src/brand/logo.js';
import { Config } from '../../src/core/config.js';
import { Mailer } from '../../src/mail/mailer.js';
import { makeCertificate } from '../support/certificate.js';
import { MAIL_FROM, MailHarness, PUBLIC_URL } from './harness.js';
import { SmtpServer } from './smtp-server.js';
import { english } from '../support/languages.js';

const certificate = makeCertificate('127.0.0.1');
const startHarness = (parameters: `?${string}`) =>
  MailHarness.start({ credentials: 'user:password@', parameters });

test('with requireTLS, a server without TLS or with an untrusted certificate gets neither the mail nor the password', async () => {
  const harness = await startHarness('?requireTLS=true');
  await harness.holdRetries();
  const id = await harness.sell('ada@example.com');
  expect((await harness.jobs.untilFailed(id)).last_error).toBe('the mail server offers no TLS (STARTTLS)');
  expect(harness.smtp.received).toEqual([]);
  expect(new Set(harness.smtp.commands)).toEqual(new Set(['EHLO', 'STARTTLS']));
  expect(await harness.waitingMails(id)).toEqual(['license_key']);
  // The server now offers TLS, but its certificate is not trusted.
  harness.smtp.certificate = certificate;
  await harness.runWaitingJobs();
  expect((await harness.jobs.untilFailed(id, 2)).last_error).toMatch(/^the mail server cannot be reached \(/);
  expect(harness.smtp.received).toEqual([]);
  expect(harness.smtp.commands).not.toContain('AUTH');
});

test('with requireTLS a mail is sent encrypted to a server with a valid certificate', async () => {
  const smtp = await SmtpServer.start();
  smtp.certificate = certificate;
  const ca = encodeURIComponent(certificate.cert);
  const SMTP_URL = `smtp://user:password@127.0.0.1:${smtp.port}?requireTLS=true&tls.ca=${ca}`;
  const config = new Config({ SMTP_URL, MAIL_FROM, PUBLIC_URL });
  const mailer = new Mailer(config, new Logo(config));
  const message = { subject: 'Hello', body: ['Hello.'] };
  await mailer.deliver('a-mail', 'ada@example.com', message, {
    signal: new AbortController().signal,
    language: english,
  });
  expect(smtp.accepted.map(({ to, isEncrypted }) => [to, isEncrypted])).toEqual([
    [['ada@example.com'], true],
  ]);
  expect(smtp.commands.indexOf('AUTH')).toBeGreaterThan(smtp.commands.indexOf('STARTTLS'));
});

test('with requireTLS=false a mail is sent without TLS if the server has none', async () => {
  const harness = await startHarness('?requireTLS=false');
  await harness.sell('ada@example.com');
  expect((await harness.smtp.untilAccepted(() => true)).isEncrypted).toBe(false);
});
