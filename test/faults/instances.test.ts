import { expect, test } from '@jest/globals';
import { Authenticator } from '../support/http/authenticator.js';
import { Service } from '../support/harness.js';
import { Browser as HolderBrowser, wrongCode } from '../license-portal/harness.js';
import { Browser as StaffBrowser, createPrintedLink, signInStaff } from '../support-api/harness.js';
import { ORIGIN } from '../support/http/cookie-client.js';

const one = await Service.start();
const two = await Service.beside(one, { clock: one.clock });
let turn = 0;
const next: Service['call'] = (...request) => [one, two][(turn += 1) % 2]!.call(...request);
/** Sends the requests to both instances in turn, like a proxy. */
const both = Object.create(one, { call: { value: next } }) as Service;

test('a holder signs in at one instance with a code that was requested at another one, is signed in at both, and signs out at both', async () => {
  const license = await one.issue({ email: 'ada@example.com' });
  const holder = await new HolderBrowser(both).signInByCode(license.email);
  for (let time = 0; time < 2; time += 1) {
    const { json } = await holder.call('GET', '/session');
    expect(json.licenses).toMatchObject([{ id: license.license_id }]);
  }
  const signedOut = new HolderBrowser(both);
  await signedOut.signInByKey(license);
  expect((await signedOut.call('DELETE', '/session')).status).toBe(204);
  for (let time = 0; time < 2; time += 1) expect((await signedOut.call('GET', '/session')).status).toBe(204);
});

test('attempts to enter a code are counted over all instances: after five wrong codes the right code is refused', async () => {
  const { email } = await one.issue({ email: 'guessed@example.com' });
  const holder = new HolderBrowser(both);
  const code = await holder.requestCode(email);
  const answers = [];
  for (const typed of [...Array<string>(5).fill(wrongCode(code)), code])
    answers.push((await holder.call('POST', '/session', { email, code: typed })).json?.code);
  expect(answers).toEqual(Array(6).fill('code_invalid'));
});

test('a passkey can be created and used although each request goes to another instance', async () => {
  const email = 'grace@example.com';
  const browser = await signInStaff(both, 'support', email);
  // With a counter, the repeated response would be refused because of the counter.
  const passkey = new Authenticator(ORIGIN, false);
  const { options } = (await browser.post('passkeys/options', {})).json;
  expect((await browser.post('passkeys', { response: passkey.create(options) })).status).toBe(201);

  const again = new StaffBrowser(both);
  const { options: signInOptions } = (await again.post('session/options', {})).json;
  const response = passkey.get(signInOptions);
  const repeating = new StaffBrowser(both);
  for (const [name, value] of again.cookies) repeating.cookies.set(name, value);
  expect((await again.post('session', { response })).status).toBe(204);
  for (let time = 0; time < 2; time += 1) expect((await again.get('session')).json.email).toBe(email);
  // The challenge is used up at all instances, also for a browser with its cookie.
  for (let time = 0; time < 2; time += 1)
    expect((await repeating.post('session', { response })).status).not.toBe(204);
});

test('if a sign-in link is used at two instances at the same time, exactly one use succeeds', async () => {
  await signInStaff(both, 'support', 'linked@example.com');
  const link = await createPrintedLink(one, 'linked@example.com');
  const useLinkAt = async (service: Service) => new StaffBrowser(service).post('session/link', { link });
  const answers = await Promise.all([useLinkAt(one), useLinkAt(two)]);
  expect(answers.map(({ status }) => status === 204).toSorted()).toEqual([false, true]);
});
