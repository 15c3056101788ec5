import { expect, test } from '@jest/globals';
import { MailHarness } from './harness.js';
import { AUDIT_CONTEXT } from '../support/harness.js';

const harness = await MailHarness.start();

/** Stores this address in a license, without validation, and requests the mail with its key. @returns the id of the license */
async function sendKeyTo(email: string): Promise<string> {
  const { license_id } = await harness.service.issue();
  await harness.service.sql('update license set email = $2 where id = $1', [license_id, email]);
  await harness.licenses.sendKey(license_id, AUDIT_CONTEXT);
  return license_id;
}

/** Addresses that a parser of addresses could split or change, and the same addresses in SMTP. */
const addresses: [email: string, inSmtp: string][] = [
  ['a,b@example.com', '"a,b"@example.com'],
  [',b@example.com', '",b"@example.com'],
  ['a;b@example.com', '"a;b"@example.com'],
  ['a:b@example.com', '"a:b"@example.com'],
  ['undisclosed:b@example.com;', '"undisclosed:b"@example.com;'],
  ['(a)b@example.com', '"(a)b"@example.com'],
  ['"b@example.com', '"\\"b"@example.com'],
  ['"x"@example.com', '"x"@example.com'],
  ['"a,b"@example.com', '"a,b"@example.com'],
  ['a\\b@example.com', '"a\\\\b"@example.com'],
  ['b%evil.example@example.com', 'b%evil.example@example.com'],
  ['b@example.com,', 'b@example.com,'],
  ['b@example.com,evil.example', 'b@example.com,evil.example'],
  ['b@evil(example).com', 'b@evil(example).com'],
  ['b@exa%6dple.com', 'b@exa%6dple.com'],
  ['b@evil.example/example.com', 'b@evil.example/example.com'],
  ['b@evil.example?example.com', 'b@evil.example?example.com'],
  ['b@evil.example#example.com', 'b@evil.example#example.com'],
  ['b@evil.example\\example.com', 'b@evil.example\\example.com'],
  ["o'hara+tag@example.com", "o'hara+tag@example.com"],
  ['jörg@example.com', 'jörg@example.com'],
  ['jörg@exämple.com', 'jörg@exämple.com'],
  ['b@exämple.com', 'b@xn--exmple-cua.com'],
];

test.each(addresses)('a mail to %s is sent to this address only', async (email, inSmtp) => {
  const before = harness.smtp.received.length;
  const id = await sendKeyTo(email);
  await harness.jobs.untilDone('license_key_again', id);
  const mails = harness.smtp.received.slice(before);
  expect(mails.map(({ to }) => to)).toEqual([[inSmtp]]);
  // A To header is a list of addresses, in which an address with special characters is in angle brackets.
  const isPlain = /^[^\s"(),:;<>@[\\\]]+@[^\s"(),:;<>@[\\\]]+$/.test(inSmtp);
  expect(mails[0]!.headers['to']).toBe(isPlain ? inSmtp : `<${inSmtp}>`);
});

test.each([
  '<b@evil.example>@example.com',
  '<b>@example.com',
  'a<b>@example.com',
  'b@example.com>',
  '<b@example.com>',
  'b@example.com><c@evil.example',
])('a mail to %s is not sent, and the job has the reason', async (email) => {
  const before = harness.smtp.received.length;
  const { last_error } = await harness.jobs.untilFailed(await sendKeyTo(email));
  expect(last_error).toBe('the e-mail address has a bracket in it, which cannot be sent');
  expect(harness.smtp.received.slice(before)).toEqual([]);
});
