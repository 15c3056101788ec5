import { beforeAll, describe, expect, test } from '@jest/globals';
import { BUILT_IN_LANGUAGES } from '../../src/languages/built-in.js';
import { ReleaseDecisions } from '../../src/releases/release-decisions.js';
import { LicensesService } from '../../src/licenses/licenses.service.js';
import { outbox, sell, waitForJobs } from '../erasure/harness.js';
import { ErasureService } from '../../src/erasure/erasure.service.js';
import { Browser } from '../license-portal/harness.js';
import { Service } from '../support/harness.js';
import { builtIn } from '../support/languages.js';

const AUDIT_CONTEXT = { actor: 'test', reason: 'Kein Grund.' };
/** A product name that contains the text of a placeholder, which must not be filled in. */
const PRODUCT = 'Fjord {day}';

/**
 * A regular expression that matches a message with any values in place of its placeholders. `{day}` is none: it is part of PRODUCT.
 */
function pattern(message: string): RegExp {
  const parts = message.replaceAll('{product}', PRODUCT).split(/\{(?!day\})\w+\}/);
  const escaped = parts.map((part) => part.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&'));
  return new RegExp(`^${escaped.join('.+')}$`);
}

describe.each(Object.keys(BUILT_IN_LANGUAGES))('in %s', (tag) => {
  let service: Service;
  let holder: Browser;
  const email = `${tag}@example.com`;
  const texts = builtIn(tag).messages.mail;
  beforeAll(async () => {
    service = await Service.start({
      environment: {
        MAIL_LANGUAGE: tag,
        PRODUCT_NAME: PRODUCT,
        MAIL_NEW_ACTIVATIONS: 'true',
        SELF_RELEASES_PER_YEAR: '5',
      },
    });
    holder = new Browser(service);
  });

  test('the mails to a holder have the subjects of the language, and their key, code, link or other content', async () => {
    const licenseId = await sell(service, email, `pi_${tag}`);
    const licenses = service.app.get(LicensesService);
    const license_key = (await licenses.currentKey(licenseId))!;
    await licenses.set(licenseId, { machines_allowed: 3 }, AUDIT_CONTEXT);
    const activate = async (machine: string) =>
      (await service.activate({ email, license_key }, machine)).json.activation.id as string;
    const [first, second] = [await activate('first'), await activate('second')];
    await waitForJobs(service, 'mail%');
    await licenses.sendKey(licenseId, AUDIT_CONTEXT);
    await waitForJobs(service, 'mail%');
    await holder.signInByCode(email);
    await holder.call('POST', `/activations/${first}/release-request`, {});
    await waitForJobs(service, 'mail%');
    const [request] = await service.sql<{ id: string }>('select id from release_request');
    await service.app.get(ReleaseDecisions).decide(request!.id, 'decline', AUDIT_CONTEXT);
    await holder.call('POST', `/activations/${second}/release`);
    await holder.call('POST', '/erasure');
    await waitForJobs(service, 'mail%');
    await licenses.rekey(licenseId, AUDIT_CONTEXT);
    await waitForJobs(service, 'mail%');
    await service.app.get(ErasureService).request(email, AUDIT_CONTEXT);
    await waitForJobs(service);
    const mails = (await outbox(service)).filter(({ to }) => to === email);
    const portal = /http:\/\/localhost:\d+\/portal\//;
    const key = /^ {4}MOOR_/m;
    const expected: [string, RegExp][] = [
      [texts.key.subject, key],
      [texts.key.newSubject, key],
      [texts.activation.subjectUnnamed, portal],
      [texts.code.subject, /^ {4}\d{4} \d{4}$/m],
      [texts.releaseAsked.subject, /3\.2\.0/],
      [texts.releaseDeclined.subject, /Kein Grund\./],
      [texts.release.subject, portal],
      [texts.erasureAsked.subject, portal],
      // Data that is not personal is kept for 12 months.
      [texts.erasureReceipt.subject, /12/],
    ];
    for (const [subject, content] of expected) {
      const found = mails.filter((mail) => pattern(subject).test(mail.subject));
      expect([subject, found[0]?.text]).toEqual([subject, expect.stringMatching(content)]);
    }
    const all = mails.map(({ subject, text }) => `${subject}\n${text}`).join('\n');
    // Every placeholder is filled in.
    expect(all.replaceAll(PRODUCT, '')).not.toMatch(/\{\w+\}|undefined/);
    expect(mails.find(({ text }) => /^ {4}\d{4} \d{4}$/m.test(text))!.subject).toMatch(/^\d{4} \d{4} /);
  });
});

describe('the language of a mail', () => {
  let service: Service;
  beforeAll(async () => void (service = await Service.start({ environment: { MAIL_LANGUAGE: 'ja' } })));

  test.each([
    ['fr-CH, de;q=0.5', 'fr'],
    ['de', 'de'],
    ['sv, *', 'ja'],
    [undefined, 'ja'],
  ])('with a code that is requested with accept-language %s is %s', async (header, tag) => {
    const { email } = await service.issue({ email: `${tag}${header?.length ?? 0}@example.com` });
    const headers: Record<string, string> = header === undefined ? {} : { 'accept-language': header };
    await new Browser(service).call('POST', '/session/code', { email }, headers);
    await waitForJobs(service, 'mail%');
    const [mail] = (await outbox(service)).filter(({ to }) => to === email);
    const subject = builtIn(tag).messages.mail.code.subject.replaceAll('{product}', 'com.example.app');
    // The subject begins with the code: eight digits with a space.
    expect(mail!.subject).toBe(subject.replace('{code}', mail!.subject.slice(0, 9)));
  });

  test('with a key that is sent again is the accept-language of the holder’s request, or MAIL_LANGUAGE if staff send it', async () => {
    const license = await service.issue({ email: 'again@example.com' });
    const holder = await new Browser(service).signInByKey(license);
    const subjects = async () => {
      await waitForJobs(service, 'mail%');
      return (await outbox(service)).filter(({ to }) => to === license.email).map(({ subject }) => subject);
    };
    const subjectIn = (tag: string) =>
      builtIn(tag).messages.mail.key.subject.replace('{product}', 'com.example.app');
    await holder.call('POST', `/licenses/${license.license_id}/send-key`, undefined, {
      'accept-language': 'de',
    });
    expect(await subjects()).toEqual([subjectIn('de')]);
    await service.app.get(LicensesService).sendKey(license.license_id, AUDIT_CONTEXT);
    expect((await subjects()).toSorted()).toEqual([subjectIn('de'), subjectIn('ja')].toSorted());
  });

  // Staff change the address, so the languages of the former and of the new holder are not known.
  test('about a changed address is MAIL_LANGUAGE, to the old address and to the new one', async () => {
    const { license_id } = await service.issue({ email: 'old@example.com' });
    await service.app.get(LicensesService).set(license_id, { email: 'new@example.com' }, AUDIT_CONTEXT);
    await waitForJobs(service, 'mail%');
    const subject = builtIn('ja').messages.mail.emailChanged.subject.replace('{product}', 'com.example.app');
    for (const address of ['old@example.com', 'new@example.com']) {
      const mails = (await outbox(service)).filter(({ to }) => to === address);
      expect(mails.map((mail) => mail.subject)).toEqual([subject]);
    }
  });
});
