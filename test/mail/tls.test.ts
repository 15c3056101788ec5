import { afterEach, expect, test } from '@jest/globals';
import { Config } from '../../src/core/config.js';
import { Mailer } from '../../src/mail/mailer.js';
import { makeCertificate } from '../support/certificate.js';
import { MAIL_FROM, PostOffice, PUBLIC_URL } from './harness.js';
import { SmtpServer } from './smtp-server.js';

const right = makeCertificate('127.0.0.1');
const closing: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const each of closing.splice(0)) await each.close();
});

async function office(parameters: `?${string}`): Promise<PostOffice> {
  const opened = await PostOffice.open({ credentials: 'user:kanari-secret@', parameters });
  closing.push(opened);
  return opened;
}

test('with requireTLS and a server without TLS, neither the mail nor the password is sent', async () => {
  const post = await office('?requireTLS=true');
  const id = await post.sell('ada@example.com');
  expect((await post.jobs.failed(id)).last_error).toBe('the mail server offers no TLS (STARTTLS)');
  expect(post.smtp.received).toEqual([]);
  expect(new Set(post.smtp.commands)).toEqual(new Set(['EHLO', 'STAR']));
  expect(await post.waiting(id)).toEqual(['license_key']);
  // The server now offers TLS, but its certificate is not trusted.
  post.smtp.certificate = right;
  await post.tryAgain();
  expect((await post.jobs.failed(id, 2)).last_error).toMatch(/^the mail server cannot be reached \(/);
  expect(post.smtp.received).toEqual([]);
});

test('with requireTLS a mail is sent encrypted to a server with a valid certificate', async () => {
  const smtp = await SmtpServer.start();
  closing.push(smtp);
  smtp.certificate = right;
  const ca = encodeURIComponent(right.cert);
  const SMTP_URL = `smtp://user:password@127.0.0.1:${smtp.port}?requireTLS=true&tls.ca=${ca}`;
  const mailer = new Mailer(new Config({ SMTP_URL, MAIL_FROM, PUBLIC_URL }));
  const message = { subject: 'Hello', body: ['Hello.'] };
  await mailer.deliver('a-mail', 'ada@example.com', message, {
    signal: new AbortController().signal,
  });
  expect(smtp.accepted.map(({ to, isEncrypted }) => [to, isEncrypted])).toEqual([
    [['ada@example.com'], true],
  ]);
  expect(smtp.commands.indexOf('AUTH')).toBeGreaterThan(smtp.commands.indexOf('STAR'));
});

test('with requireTLS=false a mail is sent without TLS if the server has none', async () => {
  const post = await office('?requireTLS=false');
  await post.sell('ada@example.com');
  expect((await post.smtp.mail(() => true)).isEncrypted).toBe(false);
});
