import { beforeAll, describe, expect, test } from '@jest/globals';
import { DataSource } from 'typeorm';
import { IMPORTED_KEY_MAIL } from '../../src/licenses/license-mails.js';
import { enqueueMails } from '../../src/mail/mail.service.js';
import { ReleaseService } from '../../src/releases/release.service.js';
import { MailHarness, PUBLIC_URL } from './harness.js';
import type { Received } from './smtp-server.js';
import { AUDIT_CONTEXT } from '../support/harness.js';

const harness = await MailHarness.start({ environment: { SELF_RELEASES_PER_YEAR: '1' } });

const KEY = /MOOR_[0-9A-Z]{4}(-[0-9A-Z]{4}){3}/g;
const untilMailTo = (email: string) => harness.smtp.untilAccepted(({ to }) => to.includes(email));

/** The visible text of the HTML part, with the URLs of links in place of their names, and the numbers of the items of a list. */
function visibleText(html: string): string {
  const entities: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" };
  let item = 0;
  return html
    .replace(/.*<body[^>]*>/s, '')
    .replaceAll(/<a href="(https?:[^"]*)">[^<]*/g, '$1')
    .replaceAll('<li>', () => `${(item += 1)}. `)
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/&([^;]+);/g, (_entity, name: string) => entities[name]!);
}
/** The words of a text, without colons, which the table of the HTML part does not have. */
const wordsOf = (text: string) =>
  text
    .replaceAll(/:(?=\s)/g, ' ')
    .split(/\s+/)
    .filter(Boolean);

/** Kinds of mail about a license: the subject, and a change that sends the mail to the given address. */
const kinds = {
  license_key: {
    subject: 'Your license key for Example App',
    trigger: (email: string) => harness.sell(email),
  },
  license_key_again: {
    subject: 'Your license key for Example App',
    trigger: async (email: string) =>
      harness.licenses.sendKey((await harness.service.issue({ email })).license_id, AUDIT_CONTEXT),
  },
  license_key_replaced: {
    subject: 'Your new license key for Example App',
    trigger: async (email: string) =>
      harness.licenses.rekey((await harness.service.issue({ email })).license_id, AUDIT_CONTEXT),
  },
  license_key_imported: {
    subject: 'Your new license key for Example App',
    trigger: async (email: string) => {
      const { license_id } = await harness.service.issue({ email });
      await harness.service.sql(
        `update license set previous_key_hash = sha256(id::text::bytea), previous_key_hint = '4F2A' where id = $1`,
        [license_id],
      );
      await harness.service.app
        .get(DataSource)
        .transaction((manager) =>
          enqueueMails(manager, IMPORTED_KEY_MAIL, [{ about: license_id, runAt: new Date() }]),
        );
    },
  },
  email_changed: {
    subject: 'The e-mail address of your license for Example App has changed',
    trigger: async (email: string) => {
      const { license_id } = await harness.service.issue({ email: `old-${email}` });
      await harness.service.setLicense(license_id, { email });
    },
  },
  binding_released: {
    subject: 'A machine was released from your license for Example App',
    trigger: async (email: string) => release(email, 'Studio Mac'),
  },
};

async function release(email: string, hostname_hint: string): Promise<void> {
  const license = await harness.service.issue({ email });
  const { json } = await harness.service.activate(license, 'a machine', { hostname_hint });
  await harness.service.app.get(ReleaseService).release(json.activation.id, AUDIT_CONTEXT);
}

describe.each(Object.entries(kinds))('%s', (kind, { subject, trigger }) => {
  const email = `${kind}@example.com`;
  let mail: Received;
  beforeAll(async () => {
    await trigger(email);
    mail = await untilMailTo(email);
  });

  test('has one recipient, the sender of MAIL_FROM, and a header against automatic replies', () => {
    expect([mail.from, mail.to, mail.helo]).toEqual([
      'licenses@example.com',
      [email],
      'licenses.example.org',
    ]);
    expect(mail.headers).toEqual({
      from: 'Example App <licenses@example.com>',
      to: email,
      subject,
      'message-id': expect.stringMatching(
        /^<[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}@licenses\.example\.org>$/,
      ),
      'auto-submitted': 'auto-generated',
      date: expect.anything(),
      'mime-version': '1.0',
      'content-type': expect.stringMatching(/^multipart\/alternative;/),
    });
  });

  test('has the same text in plain text and in HTML', () => {
    expect(wordsOf(visibleText(mail.html))).toEqual(wordsOf(mail.text));
    expect(mail.html).toContain(`<title>${subject}</title>`);
    expect(mail.text.length).toBeGreaterThan(100);
  });

  test('loads no resource, and links only to the portal', () => {
    expect(mail.html).not.toMatch(
      /\b(src|srcset|background|action|poster|data)\s*=|url\(|@import|<(link|script|img|form|iframe)/i,
    );
    const links = `${mail.html}${mail.text}`.match(/\b\w+:\/\/[^\s"<]+/g) ?? [];
    expect([...new Set(links)]).toEqual(kind === 'email_changed' ? [] : [`${PUBLIC_URL}/portal/`]);
  });
});

test.each(['license_key', 'license_key_again', 'license_key_replaced', 'license_key_imported'] as const)(
  'the license key in the mail %s activates a machine',
  async (kind) => {
    const email = `activates-${kind}@example.com`;
    await kinds[kind].trigger(email);
    const { text, html } = await untilMailTo(email);
    const [license_key, ...more] = text.match(KEY)!;
    expect([more, html.match(KEY)]).toEqual([[], [license_key]]);
    expect((await harness.service.activate({ license_key: license_key!, email })).status).toBe(201);
  },
);

test('the mail about a replaced license key has the new key', async () => {
  const license = await harness.service.issue({ email: 'rekey@example.com' });
  const { license_key } = await harness.licenses.rekey(license.license_id, AUDIT_CONTEXT);
  const { text } = await untilMailTo('rekey@example.com');
  expect(text).toContain(license_key);
  expect(text).not.toContain(license.license_key);
});

test('the mail with a license key has the expiry and the number of machines', async () => {
  const expires_at = new Date('2027-03-04T10:30:00Z');
  const { license_id } = await harness.service.issue({
    email: 'dated@example.com',
    machines_allowed: 3,
    expires_at,
  });
  await harness.licenses.sendKey(license_id, AUDIT_CONTEXT);
  expect((await untilMailTo('dated@example.com')).text).toMatch(/Machines: 3\nUpdates: through .*2027/);
});

test('a change of address is mailed to both addresses, and neither mail has the other one', async () => {
  const { license_id } = await harness.service.issue({ email: 'from-here@example.com' });
  await harness.service.setLicense(license_id, { email: 'to-there@example.com' });
  const [before, after] = [
    await untilMailTo('from-here@example.com'),
    await untilMailTo('to-there@example.com'),
  ];
  expect(JSON.stringify(before)).not.toContain('to-there');
  expect(JSON.stringify(after)).not.toContain('from-here');
  expect(before.headers['message-id']).not.toBe(after.headers['message-id']);
  await harness.jobs.untilDone('email_changed', license_id, 2);
  const stored =
    "select email from mail_recipient where email in ('from-here@example.com', 'to-there@example.com')";
  expect(await harness.service.sql(stored)).toEqual([]);
});

test('a change of a license that keeps its address sends no mail', async () => {
  const { license_id } = await harness.service.issue({ email: 'stays@example.com' });
  await harness.service.setLicense(license_id, { email: 'stays@example.com', machines_allowed: 2 });
  expect(await harness.waitingMails(license_id)).toEqual([]);
  expect(harness.smtp.mailsTo('stays@example.com')).toEqual([]);
});

test.each([
  [
    'HTML characters',
    `<img src=x onerror=1> & "x" 'y'`,
    '&lt;img src=x onerror=1&gt; &amp; &quot;x&quot; &#39;y&#39;',
  ],
  ['an entity', '&lt;b&gt;', '&amp;lt;b&amp;gt;'],
  ['other letters', 'Büro–Mac 🖥 =3D', 'Büro–Mac 🖥 =3D'],
  ['a header', 'a: b', 'a: b'],
])('a hostname hint with %s is shown unchanged', async (what, hint, escaped) => {
  const email = `${what.replaceAll(' ', '-').toLowerCase()}@example.com`;
  await release(email, hint);
  const { text, html } = await untilMailTo(email);
  expect(text).toContain(`Machine: ${hint}\n`);
  expect(html).toContain(`>${escaped}</td>`);
});

test('a machine without a hostname hint is shown as `Unnamed machine`', async () => {
  await release('nameless@example.com', '');
  expect((await untilMailTo('nameless@example.com')).text).toContain('Machine: Unnamed machine\n');
});

test('the mail about a release has the reason of staff, and none if the holder released the machine', async () => {
  await release('by-staff@example.com', 'Studio Mac');
  expect((await untilMailTo('by-staff@example.com')).text).toMatch(/^Reason: a test$/m);
  const license = await harness.service.issue({ email: 'by-holder@example.com' });
  const { json } = await harness.service.activate(license);
  await harness.service.app.get(ReleaseService).releaseForHolder(json.activation.id, 'by-holder@example.com');
  const { text } = await untilMailTo('by-holder@example.com');
  expect(text).toContain('Released: ');
  expect(text).not.toContain('Reason');
});

test('markup in the reason of staff is text in the mail about a release', async () => {
  const license = await harness.service.issue({ email: 'reason@example.com' });
  const { json } = await harness.service.activate(license);
  const reason = '<img src=x onerror=1> & "sold"';
  await harness.service.app.get(ReleaseService).release(json.activation.id, { ...AUDIT_CONTEXT, reason });
  const { text, html } = await untilMailTo('reason@example.com');
  expect(text).toContain(`Reason: ${reason}\n`);
  expect(html).toContain('&lt;img src=x onerror=1&gt; &amp; &quot;sold&quot;');
  expect(html).not.toContain('<img');
});

test('a second release of the same activation sends no mail', async () => {
  const license = await harness.service.issue({ email: 'once@example.com' });
  const { json } = await harness.service.activate(license);
  const releases = harness.service.app.get(ReleaseService);
  await releases.release(json.activation.id, AUDIT_CONTEXT);
  await untilMailTo('once@example.com');
  await harness.jobs.untilDone('binding_released', json.activation.id);
  await releases.release(json.activation.id, AUDIT_CONTEXT);
  expect(await harness.waitingMails(json.activation.id)).toEqual([]);
  expect(harness.smtp.mailsTo('once@example.com')).toHaveLength(1);
});
