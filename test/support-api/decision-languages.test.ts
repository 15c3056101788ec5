import { describe, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { PurchasesService } from '../../src/purchases/purchases.service.js';
import { erase, mailsTo, sell, waitForJobs } from '../erasure/harness.js';
import { Browser as Holder } from '../license-portal/harness.js';
import { LicensesService } from '../../src/licenses/licenses.service.js';
import { Service } from '../support/harness.js';
import { builtIn } from '../support/languages.js';
import { signInStaff } from './harness.js';

const PRODUCT = 'Fjord';
const MAIL_LANGUAGE = 'fr';

const service = await Service.start({ environment: { MAIL_LANGUAGE, PRODUCT_NAME: PRODUCT } });
const staff = await signInStaff(service);

/** Requests the release of a machine in the portal. @returns ids, the address of the holder, and the language of the request */
async function requestRelease(acceptLanguage: string) {
  const email = `${randomUUID()}@example.com`;
  const transaction = `pi_${randomUUID()}`;
  const license_id = await sell(service, email, transaction);
  const license_key = (await service.app.get(LicensesService).currentKey(license_id))!;
  const activation_id = (await service.activate({ email, license_key }, 'old')).json.activation.id as string;
  const holder = await new Holder(service).signInByKey({ email, license_key });
  const headers = { 'accept-language': acceptLanguage };
  await holder.call('POST', `/activations/${activation_id}/release-request`, {}, headers);
  const { release_requests } = (await staff.get('release-requests')).json;
  const request = release_requests.find(
    ({ license }: { license: { id: string } }) => license.id === license_id,
  );
  return {
    email,
    transaction,
    license_id,
    activation_id,
    id: request.id as string,
    language: request.language,
  };
}

type Request = Awaited<ReturnType<typeof requestRelease>>;

const readLanguages = async ({ activation_id }: Request) =>
  (await service.sql('select language from release_request where activation_id = $1', [activation_id])).map(
    ({ language }) => language,
  );

const DECISIONS = {
  'a release of the request': ({ id }: Request) =>
    staff.post(`release-requests/${id}`, { decision: 'release', reason: 'Sold.' }),
  'a decline': ({ id }: Request) =>
    staff.post(`release-requests/${id}`, { decision: 'decline', reason: 'Still in use.' }),
  'a release of the machine': ({ activation_id }: Request) =>
    staff.post(`activations/${activation_id}/release`, { reason: 'Sold.' }),
};
type Decision = keyof typeof DECISIONS;

const subjectOf = (decision: Decision, tag: string) => {
  const { release, releaseDeclined } = builtIn(tag).messages.mail;
  const { subject } = decision === 'a decline' ? releaseDeclined : release;
  return subject.replace('{product}', PRODUCT);
};

/** The subjects of the mails to the holder about this kind of decision, in any built-in language. */
async function decisionSubjects(decision: Decision, { email }: Request): Promise<string[]> {
  await waitForJobs(service, 'mail_%');
  const subjects = (await mailsTo(service, email, /./)).map(({ subject }) => subject);
  const ofDecision = ['en', 'de', 'fr', 'ja'].map((tag) => subjectOf(decision, tag));
  return subjects.filter((subject) => ofDecision.includes(subject));
}

describe.each(Object.keys(DECISIONS) as Decision[])('%s', (decision) => {
  test.each([
    ['de-AT, en;q=0.5', 'de', 'de'],
    ['ja', 'ja', 'ja'],
    ['sv', null, MAIL_LANGUAGE],
  ])(
    'about a request in "%s" is mailed in its language, or that of MAIL_LANGUAGE if the service lacks it',
    async (acceptLanguage, stored, mailed) => {
      const request = await requestRelease(acceptLanguage);
      expect(request.language).toBe(stored);
      const { license } = (await staff.get(`licenses/${request.license_id}`)).json;
      expect(license.release_requests).toMatchObject([{ id: request.id, language: stored }]);
      expect((await DECISIONS[decision](request)).status).toBe(200);
      expect(await decisionSubjects(decision, request)).toEqual([subjectOf(decision, mailed)]);
      // The decision removes the language of the request.
      expect(await readLanguages(request)).toEqual([null]);
    },
  );

  test('about a request in a language whose file was removed is mailed in the language of MAIL_LANGUAGE', async () => {
    const request = await requestRelease('de');
    await service.sql(`update release_request set language = 'nl' where id = $1`, [request.id]);
    expect((await DECISIONS[decision](request)).status).toBe(200);
    expect(await decisionSubjects(decision, request)).toEqual([subjectOf(decision, MAIL_LANGUAGE)]);
  });
});

test('a release of a machine without an open request is mailed in the language of MAIL_LANGUAGE', async () => {
  const request = await requestRelease('de');
  await DECISIONS['a decline'](request);
  await DECISIONS['a release of the machine'](request);
  const subjects = await decisionSubjects('a release of the machine', request);
  expect(subjects).toEqual([subjectOf('a release of the machine', MAIL_LANGUAGE)]);
});

test('the texts of the mails are listed in each language, with the value of MAIL_LANGUAGE', async () => {
  const { language, mails } = (await staff.get('release-requests/mails')).json;
  expect(language).toBe(MAIL_LANGUAGE);
  expect(mails.map((mail: { language: string }) => mail.language)).toEqual(['en', 'de', 'fr', 'ja']);
  for (const tag of ['de', 'ja']) {
    const { release, releaseDeclined, facts } = builtIn(tag).messages.mail;
    expect(mails).toContainEqual({
      language: tag,
      unnamed_machine: facts.unnamed,
      release: expect.arrayContaining([release.lead]),
      decline: expect.arrayContaining([releaseDeclined.lead, releaseDeclined.question]),
    });
  }
});

test('the language of a request is removed by a refund', async () => {
  const request = await requestRelease('de');
  const other = await requestRelease('ja');
  const refund = { transaction_id: request.transaction, email: request.email, status: 'refunded' } as const;
  await service.app.get(PurchasesService).record(refund);
  expect(await readLanguages(request)).toEqual([null]);
  expect(await readLanguages(other)).toEqual(['ja']);
});

test('a request, with its language, is removed by an erasure', async () => {
  const request = await requestRelease('de');
  await erase(service, request.email);
  expect(await readLanguages(request)).toEqual([]);
});

test('a request, with its language, is removed by another address of the license', async () => {
  const request = await requestRelease('de');
  const audit = { actor: 'test', reason: 'Another holder.' };
  const email = `${randomUUID()}@example.com`;
  await service.app.get(LicensesService).set(request.license_id, { email }, audit);
  expect(await readLanguages(request)).toEqual([]);
});
