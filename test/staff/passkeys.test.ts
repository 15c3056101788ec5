import { beforeEach, describe, expect, test } from '@jest/globals';
import { generateKeyPairSync, hash, randomBytes, randomUUID, sign } from 'node:crypto';
import { StaffService } from '../../src/staff/staff.service.js';
import { androidKeyAttestation, selfAttestation } from './attestations.js';
import { Authenticator, type Forgery, type NewCredential } from '../support/http/authenticator.js';
import { outbox } from '../erasure/harness.js';
import { until } from '../support/until.js';
import { AUDIT_CONTEXT, NOW, Service, type Answer, MINUTE_MS } from '../support/harness.js';
import { Browser, lastAuditEvent, createPrintedLink, signInStaff } from '../support-api/harness.js';
import { ORIGIN } from '../support/http/cookie-client.js';
import { OpenTransaction } from '../support/open-transaction.js';
import { serve } from '../support/listen.js';

/** Flags of the authenticator data (WebAuthn): the person was present, and the person was verified. */
const USER_PRESENT = 0x01;
const USER_VERIFIED = 0x04;

let peopleCount = 0;
const service = await Service.start({ environment: { SUPPORT_CONTACT: 'help@vendor.example' } });
await service.app.get(StaffService).add('root@example.com', 'admin', AUDIT_CONTEXT);
beforeEach(() => service.clock.set(NOW));

/** Creates a staff member and signs this person in, in a new browser. */
const signInNewPerson = () => signInStaff(service, 'support', `person-${(peopleCount += 1)}@example.com`);

/** Enrols a passkey for the signed-in person. @returns the response of the service */
async function enrol(browser: Browser, authenticator = new Authenticator(ORIGIN), forgery: Forgery = {}) {
  const { options } = (await browser.post('passkeys/options', {})).json;
  return browser.post('passkeys', { response: authenticator.create(options, forgery) });
}

/** Creates a signed-in staff member with a passkey. */
async function createEnrolledPerson({ hasCounter = true } = {}) {
  const browser = await signInNewPerson();
  const authenticator = new Authenticator(ORIGIN, hasCounter);
  const { passkey } = (await enrol(browser, authenticator)).json;
  const { id, email } = (await browser.get('session')).json;
  return { browser, authenticator, passkey, id, email } as const;
}

/** Signs in with a passkey. @returns the response of the service */
async function signInWith(
  authenticator: Authenticator,
  forgery: Forgery = {},
  browser = new Browser(service),
) {
  const { options } = (await browser.post('session/options', {})).json;
  return browser.post('session', { response: authenticator.get(options, forgery) });
}

/**
 * Removes a staff member while a request is answered. The removal has locked the person when the request waits. A request that
 * held a lock of a passkey then would cause a deadlock with the removal.
 */
async function duringRemoval(id: string, request: () => Promise<Answer>): Promise<Answer> {
  const removal = await OpenTransaction.begin(service, 'select from staff where id = $1 for update', [id]);
  const answer = request();
  await removal.untilWaiting(answer);
  await removal.query('delete from staff where id = $1', [id]);
  await removal.commit();
  return answer;
}

describe('enrolling', () => {
  test('requires a discoverable passkey with user verification, without attestation', async () => {
    const browser = await signInNewPerson();
    const { id, email } = (await browser.get('session')).json;
    const { status, json, cookies } = await browser.post('passkeys/options', {});
    expect(status).toBe(200);
    expect(json.options).toMatchObject({
      rp: { id: 'localhost', name: 'com.example.app' },
      user: {
        id: Buffer.from(id.replaceAll('-', ''), 'hex').toString('base64url'),
        name: email,
        displayName: email,
      },
      // EdDSA, ES256 and RS256.
      pubKeyCredParams: [-8, -7, -257].map((alg) => ({ alg, type: 'public-key' })),
      attestation: 'none',
      authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
      excludeCredentials: [],
      timeout: 5 * MINUTE_MS,
    });
    expect(Buffer.from(json.options.challenge, 'base64url')).toHaveLength(32);
    expect(cookies).toEqual([
      expect.stringMatching(/^mooring_challenge=[\w-]{36}; Max-Age=300; Path=\/; HttpOnly; SameSite=Strict$/),
    ]);
  });

  test('stores the passkey, records it in the audit trail, and sends its owner a mail', async () => {
    const browser = await signInNewPerson();
    const { id: staff_id, email } = (await browser.get('session')).json;
    const { status, json, cookies } = await enrol(browser);
    expect(status).toBe(201);
    expect(json).toEqual({
      passkey: {
        id: expect.any(String),
        created_at: NOW,
        transports: ['internal'],
        name: null,
        last_used_on: null,
      },
    });
    expect(cookies).toEqual([expect.stringMatching(/^mooring_challenge=;/)]);
    expect((await browser.get('passkeys')).json).toEqual({ passkeys: [json.passkey] });
    expect((await browser.get('session')).json.has_passkey).toBe(true);
    expect(await lastAuditEvent(service)).toMatchObject({
      actor: email,
      action: 'passkey.add',
      change: { staff_id, passkey_id: json.passkey.id },
    });
    const mails = async () => (await outbox(service)).filter(({ to }) => to === email);
    await until(async () => (await mails()).length > 0);
    const [mail] = await mails();
    expect(mail!.subject).toBe('A new passkey signs you in to support');
    // SUPPORT_CONTACT is for holders, so a mail to staff does not name it.
    expect(mail!.text).toBe(
      [
        'com.example.app',
        'A passkey was added to your account on the support pages. From now on it signs you in.',
        'If it was not you, remove it here at once, and tell the person who looks after the support pages:',
        `${ORIGIN}/support/`,
      ].join('\n\n'),
    );
    expect(mail!.html).toContain('>Go to the support pages</a>');
  });

  test('excludes existing passkeys, and refuses a credential that any account already has', async () => {
    const { browser, authenticator } = await createEnrolledPerson();
    const { options } = (await browser.post('passkeys/options', {})).json;
    const ids = options.excludeCredentials.map(({ id }: { id: string }) => id);
    expect(ids).toEqual([authenticator.credentialId.toString('base64url')]);
    const again = await browser.post('passkeys', { response: authenticator.create(options) });
    expect(again.json.code).toBe('passkey_invalid');
    expect((await enrol(await signInNewPerson(), authenticator)).json.code).toBe('passkey_invalid');
  });

  const forgeries: Record<string, () => Forgery> = {
    'another challenge': () => ({ challenge: randomBytes(32).toString('base64url') }),
    'another origin': () => ({ origin: 'https://evil.example' }),
    'another host': () => ({ rpId: 'evil.example' }),
    'a person who was not verified': () => ({ flags: USER_PRESENT }),
    'a person who was not present': () => ({ flags: USER_VERIFIED }),
    'the response to a sign-in': () => ({ type: 'webauthn.get' }),
  };
  test.each(Object.keys(forgeries))(
    'is refused with %s, and a right answer to the same challenge is accepted',
    async (kind) => {
      const browser = await signInNewPerson();
      const authenticator = new Authenticator(ORIGIN);
      const { options } = (await browser.post('passkeys/options', {})).json;
      const wrong = await browser.post('passkeys', {
        response: authenticator.create(options, forgeries[kind]!()),
      });
      expect([wrong.status, wrong.json.code]).toEqual([403, 'passkey_invalid']);
      expect((await browser.get('passkeys')).json).toEqual({ passkeys: [] });
      const right = await browser.post('passkeys', { response: authenticator.create(options) });
      expect((await browser.get('passkeys')).json).toEqual({ passkeys: [right.json.passkey] });
    },
  );

  test('is accepted once, also if the passkey is removed meanwhile', async () => {
    const browser = await signInNewPerson();
    const { options } = (await browser.post('passkeys/options', {})).json;
    const cookie = browser.cookies.get('mooring_challenge')!;
    const response = new Authenticator(ORIGIN).create(options);
    const { id } = (await browser.post('passkeys', { response })).json.passkey;
    expect((await browser.call('DELETE', `passkeys/${id}`)).status).toBe(204);
    browser.cookies.set('mooring_challenge', cookie);
    expect((await browser.post('passkeys', { response })).json.code).toBe('passkey_invalid');
  });

  // Only the id in the attestation has this length, because the service must check that id.
  test('accepts a credential id of 1 to 1023 bytes, as WebAuthn does', async () => {
    const codes: unknown[] = [];
    for (const bytes of [0, 1, 1023, 1024]) {
      const browser = await signInNewPerson();
      const { options } = (await browser.post('passkeys/options', {})).json;
      const credential = new Authenticator(ORIGIN).create(options, { credentialId: Buffer.alloc(bytes, 7) });
      const response = { ...credential, id: 'x', rawId: 'x' };
      const { status, json } = await browser.post('passkeys', { response });
      codes.push(json.code ?? status);
    }
    expect(codes).toEqual(['passkey_invalid', 201, 201, 'passkey_invalid']);
  });

  test('sends no request to an address in the certificates of an attestation', async () => {
    const requested: (string | undefined)[] = [];
    const url = await serve((request, response) => {
      requested.push(request.url);
      response.end();
    });
    const attestation = androidKeyAttestation(`${url}/revocation-list`);
    const browser = await signInNewPerson();
    const { status, json } = await enrol(browser, new Authenticator(ORIGIN), { attestation });
    expect([status, json.code]).toEqual([403, 'passkey_invalid']);
    expect(requested).toEqual([]);
  });

  test('accepts an attestation that the passkey itself signed, which browsers do not remove', async () => {
    const authenticator = new Authenticator(ORIGIN);
    const forgery = { attestation: selfAttestation };
    expect((await enrol(await signInNewPerson(), authenticator, forgery)).status).toBe(201);
    expect((await signInWith(authenticator)).status).toBe(204);
  });

  test('refuses an attestation that another key signed', async () => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const attestation = (credential: NewCredential) =>
      selfAttestation({ ...credential, signature: sign('sha256', credential.clientDataHash, privateKey) });
    const { status, json } = await enrol(await signInNewPerson(), undefined, { attestation });
    expect([status, json.code]).toEqual([403, 'passkey_invalid']);
  });

  test.each([undefined, null, 7, '', 'x', 'oA', {}])(
    'refuses %j in place of an attestation',
    async (value) => {
      const browser = await signInNewPerson();
      const { options } = (await browser.post('passkeys/options', {})).json;
      const credential = new Authenticator(ORIGIN).create(options);
      Object.assign(credential['response'] as object, { attestationObject: value });
      const { status, json } = await browser.post('passkeys', { response: credential });
      expect([status, json.code]).toEqual([403, 'passkey_invalid']);
    },
  );

  test('is refused for a person who is being removed', async () => {
    const browser = await signInNewPerson();
    const { id } = (await browser.get('session')).json;
    const { options } = (await browser.post('passkeys/options', {})).json;
    const response = new Authenticator(ORIGIN).create(options);
    const { status, json, headers } = await duringRemoval(id, () => browser.post('passkeys', { response }));
    expect([status, json.code, headers['www-authenticate']]).toEqual([401, 'sign_in_required', 'Bearer']);
  });

  test.each([5, true, 'usb', {}, { length: 1 }, [null, 3, {}, ['usb']]])(
    'ignores invalid transports: %j',
    async (transports) => {
      const browser = await signInNewPerson();
      const { options } = (await browser.post('passkeys/options', {})).json;
      const credential = new Authenticator(ORIGIN).create(options);
      Object.assign(credential['response'] as object, { transports });
      const { status, json } = await browser.post('passkeys', { response: credential });
      expect([status, json.passkey.transports]).toEqual([201, []]);
    },
  );

  test('stores each transport of WebAuthn', async () => {
    const browser = await signInNewPerson();
    const { options } = (await browser.post('passkeys/options', {})).json;
    const credential = new Authenticator(ORIGIN).create(options);
    const transports = ['ble', 'cable', 'hybrid', 'internal', 'nfc', 'smart-card', 'usb'];
    Object.assign(credential['response'] as object, { transports: transports.toReversed() });
    const { json } = await browser.post('passkeys', { response: credential });
    expect(json.passkey.transports).toEqual(transports);
  });

  test('refuses a response to the challenge of a sign-in, of another browser, or of another person', async () => {
    const [browser, other] = [await signInNewPerson(), await signInNewPerson()];
    const authenticator = new Authenticator(ORIGIN);
    const mine = (await browser.post('passkeys/options', {})).json.options;
    const theirs = (await other.post('passkeys/options', {})).json.options;
    // A valid response with the challenge and the cookie of another person.
    browser.cookies.set('mooring_challenge', other.cookies.get('mooring_challenge')!);
    expect((await browser.post('passkeys', { response: authenticator.create(theirs) })).json.code).toBe(
      'passkey_invalid',
    );
    browser.cookies.delete('mooring_challenge');
    expect((await browser.post('passkeys', { response: authenticator.create(mine) })).json.code).toBe(
      'passkey_invalid',
    );
    const { options } = (await browser.post('session/options', {})).json;
    const response = authenticator.create({ ...mine, challenge: options.challenge });
    expect((await browser.post('passkeys', { response })).json.code).toBe('passkey_invalid');
  });
});

describe('signing in', () => {
  test('begins with options that name no account, and ends in a session of the owner of the passkey', async () => {
    const { authenticator, email } = await createEnrolledPerson();
    const browser = new Browser(service);
    const challenge = await browser.post('session/options', {});
    expect(challenge.json.options).toEqual({
      challenge: expect.any(String),
      rpId: 'localhost',
      timeout: 5 * MINUTE_MS,
      userVerification: 'required',
    });
    const { status, cookies } = await browser.post('session', {
      response: authenticator.get(challenge.json.options),
    });
    expect([status, cookies]).toEqual([
      204,
      [
        expect.stringMatching(/^mooring_challenge=; .*Expires=Thu, 01 Jan 1970/),
        expect.stringMatching(/^mooring_staff=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/),
      ],
    ]);
    expect((await browser.get('session')).json).toMatchObject({ email, role: 'support', has_passkey: true });
  });

  test('with a passkey or a link ends the earlier session of the browser, and no other session', async () => {
    const { authenticator, browser, id, email } = await createEnrolledPerson();
    const elsewhere = new Browser(service);
    expect((await signInWith(authenticator, {}, elsewhere)).status).toBe(204);
    for (const signIn of [
      () => signInWith(authenticator, {}, browser),
      async () => browser.post('session/link', { link: await createPrintedLink(service, email) }),
    ]) {
      expect((await signIn()).status).toBe(204);
      expect(await service.sql('select 1 from session where staff_id = $1', [id])).toHaveLength(2);
    }
    for (const each of [browser, elsewhere]) expect((await each.get('session')).status).toBe(200);
  });

  const forgeries: Record<string, (other: string) => Forgery> = {
    'another challenge': () => ({ challenge: randomBytes(32).toString('base64url') }),
    'another origin': () => ({ origin: 'https://evil.example' }),
    'another port': () => ({ origin: 'http://localhost:3001' }),
    'another host': () => ({ rpId: 'evil.example' }),
    'a person who was not verified': () => ({ flags: USER_PRESENT }),
    'a person who was not present': () => ({ flags: USER_VERIFIED }),
    'another key': () => ({ key: generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey }),
    'the user handle of another person': (other) => ({ userHandle: other }),
    'the response to an enrolment': () => ({ type: 'webauthn.create' }),
    'an unknown credential': () => ({ credentialId: randomBytes(32) }),
  };
  test.each(Object.keys(forgeries))(
    'is refused with %s, and a right answer to the same challenge is accepted',
    async (kind) => {
      const { authenticator } = await createEnrolledPerson();
      const other = (await createEnrolledPerson()).id.replaceAll('-', '');
      const browser = new Browser(service);
      const { options } = (await browser.post('session/options', {})).json;
      const forgery = forgeries[kind]!(Buffer.from(other, 'hex').toString('base64url'));
      const wrong = await browser.post('session', { response: authenticator.get(options, forgery) });
      expect([wrong.status, wrong.json.code, wrong.cookies]).toEqual([403, 'passkey_invalid', []]);
      expect((await browser.post('session', { response: authenticator.get(options) })).status).toBe(204);
    },
  );

  test('refuses a response without userHandle', async () => {
    const { authenticator } = await createEnrolledPerson();
    const browser = new Browser(service);
    const { options } = (await browser.post('session/options', {})).json;
    const answer = authenticator.get(options) as { response: object };
    const { status } = await browser.post('session', {
      response: { ...answer, response: { ...answer.response, userHandle: undefined } },
    });
    expect(status).toBe(403);
  });

  test('accepts a response once, in the browser of the challenge, and within 5 minutes', async () => {
    // With a counter, the second response would be refused because of the counter.
    const { authenticator } = await createEnrolledPerson({ hasCounter: false });
    const browser = new Browser(service);
    const { options } = (await browser.post('session/options', {})).json;
    const cookie = browser.cookies.get('mooring_challenge')!;
    const response = authenticator.get(options);
    expect((await new Browser(service).post('session', { response })).json.code).toBe('passkey_invalid');
    expect((await browser.post('session', { response })).status).toBe(204);
    const replayed = new Browser(service);
    replayed.cookies.set('mooring_challenge', cookie);
    expect((await replayed.post('session', { response })).json.code).toBe('passkey_invalid');
    const late = new Browser(service);
    const lateOptions = (await late.post('session/options', {})).json.options;
    service.clock.advance(5 * MINUTE_MS);
    expect((await late.post('session', { response: authenticator.get(lateOptions) })).json.code).toBe(
      'passkey_invalid',
    );
  });

  test('refuses a copied authenticator, whose signature counter is not higher than before', async () => {
    const { authenticator } = await createEnrolledPerson();
    expect((await signInWith(authenticator)).status).toBe(204);
    expect((await signInWith(authenticator)).status).toBe(204);
    const latestCount = authenticator.count;
    authenticator.count = latestCount - 1;
    expect((await signInWith(authenticator)).json.code).toBe('passkey_invalid');
    authenticator.count = 0;
    expect((await signInWith(authenticator)).json.code).toBe('passkey_invalid');
    authenticator.count = latestCount;
    expect((await signInWith(authenticator)).status).toBe(204);
  });

  test('accepts only one of concurrent responses with the same signature counter', async () => {
    const { authenticator } = await createEnrolledPerson();
    const answers = await Promise.all(
      Array.from({ length: 6 }, async () => {
        const browser = new Browser(service);
        const { options } = (await browser.post('session/options', {})).json;
        authenticator.count = 0;
        return browser.post('session', { response: authenticator.get(options) });
      }),
    );
    expect(answers.filter(({ status }) => status === 204)).toHaveLength(1);
  });

  test('accepts an authenticator without a counter, as with synchronized passkeys', async () => {
    const { authenticator } = await createEnrolledPerson({ hasCounter: false });
    expect((await signInWith(authenticator)).status).toBe(204);
    expect((await signInWith(authenticator)).status).toBe(204);
  });

  test('refuses a passkey whose owner is being removed', async () => {
    const { authenticator, id } = await createEnrolledPerson();
    const { status, json } = await duringRemoval(id, () => signInWith(authenticator));
    expect([status, json.code]).toEqual([403, 'passkey_invalid']);
  });

  test('limits the invalid responses for a person, and still accepts a valid one of that person', async () => {
    const { authenticator } = await createEnrolledPerson();
    const other = await createEnrolledPerson();
    const wrongKey = { key: generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey };
    const codes: string[] = [];
    for (let i = 0; i < 11; i += 1) codes.push((await signInWith(authenticator, wrongKey)).json.code);
    expect(codes).toEqual([...Array<string>(10).fill('passkey_invalid'), 'too_many_requests']);
    const refused = await signInWith(authenticator, wrongKey);
    expect([refused.status, refused.headers['retry-after']]).toEqual([429, expect.stringMatching(/^\d+$/)]);
    expect((await signInWith(authenticator)).status).toBe(204);
    expect((await signInWith(other.authenticator, wrongKey)).json.code).toBe('passkey_invalid');
  });

  test('accepts the challenge of an instance whose clock is ahead by at most an hour', async () => {
    const { authenticator } = await createEnrolledPerson();
    const now = service.clock.now();
    const signInAfter = async (aheadMs: number) => {
      const browser = new Browser(service);
      service.clock.jump(aheadMs);
      const { options } = (await browser.post('session/options', {})).json;
      service.clock.jump(-aheadMs);
      return (await browser.post('session', { response: authenticator.get(options) })).status;
    };
    expect([await signInAfter(60 * MINUTE_MS), await signInAfter(61 * MINUTE_MS)]).toEqual([204, 403]);
    expect(service.clock.now()).toEqual(now);
  });

  test('stores a challenge only when its answer is accepted', async () => {
    const { authenticator } = await createEnrolledPerson();
    await service.sql('delete from passkey_challenge');
    const stored = () => service.sql('select id, challenge, staff_id, expires_at from passkey_challenge');
    const browser = new Browser(service);
    const { options } = (await browser.post('session/options', {})).json;
    await browser.post('session', {
      response: authenticator.get(options, { origin: 'https://evil.example' }),
    });
    expect(await stored()).toEqual([]);
    await browser.post('session', { response: authenticator.get(options) });
    const challenge = Buffer.from(options.challenge, 'base64url');
    const expires_at = new Date(service.clock.now().getTime() + 65 * MINUTE_MS);
    // An instance of an earlier version accepts each challenge whose row has the id of the cookie. It refuses a UUID of version 0,
    // so no cookie can name this row.
    const id = expect.stringMatching(/^[\da-f]{8}-[\da-f]{4}-0/);
    expect(await stored()).toEqual([{ id, challenge, staff_id: null, expires_at }]);
  });

  test.each([
    ['that is no id', 'x'],
    ['of an earlier version', randomUUID()],
    ['with another time', '01ffffff-ffff-7000-8000-000000000000'],
  ])('refuses a cookie %s', async (_, cookie) => {
    const { authenticator } = await createEnrolledPerson();
    const browser = new Browser(service);
    const { options } = (await browser.post('session/options', {})).json;
    browser.cookies.set('mooring_challenge', cookie);
    const { status, json } = await browser.post('session', { response: authenticator.get(options) });
    expect([status, json.code]).toEqual([403, 'passkey_invalid']);
  });
});

describe('a passkey', () => {
  test('can be removed by its owner, also the last one, and then does not sign in', async () => {
    const { browser, passkey, authenticator, id, email } = await createEnrolledPerson();
    expect((await browser.call('DELETE', `passkeys/${passkey.id}`)).status).toBe(204);
    expect(await lastAuditEvent(service)).toMatchObject({
      actor: email,
      action: 'passkey.remove',
      change: { staff_id: id, passkey_id: passkey.id },
    });
    expect((await browser.get('session')).json.has_passkey).toBe(false);
    expect((await signInWith(authenticator)).json.code).toBe('passkey_invalid');
    expect((await browser.call('DELETE', `passkeys/${passkey.id}`)).json.code).toBe('not_found');
  });

  test('can be named and renamed by its owner, and its name is not in the audit trail', async () => {
    const { browser, passkey, id, email } = await createEnrolledPerson();
    const rename = (name: unknown) => browser.call('PATCH', `passkeys/${passkey.id}`, { name });
    for (const [name, stored] of [
      ['Key in the office', 'Key in the office'],
      [' <img src=x> \u202ex', '<img src=x> x'],
      ['\u05d0\u05d1\u05d2 😀', '\u05d0\u05d1\u05d2 😀'],
      ['x'.repeat(100), 'x'.repeat(100)],
      ['  ', null],
      [null, null],
    ]) {
      const { status, json } = await rename(name);
      expect([status, json]).toEqual([200, { passkey: { ...passkey, name: stored } }]);
      expect((await browser.get('passkeys')).json).toEqual({ passkeys: [json.passkey] });
    }
    expect(await lastAuditEvent(service)).toEqual({
      actor: email,
      action: 'passkey.rename',
      license_id: null,
      reason: null,
      change: { staff_id: id, passkey_id: passkey.id },
    });
  });

  test.each([
    [undefined, 'must be text or null'],
    [4711, 'must be text'],
    ['x'.repeat(101), 'must have at most 100 characters'],
    ['a\0b', 'must not hold a NUL or half a surrogate pair'],
    [['Key'], 'must be text'],
  ])('cannot be named %j', async (name, detail) => {
    const { browser, passkey } = await createEnrolledPerson();
    const { status, json } = await browser.call('PATCH', `passkeys/${passkey.id}`, { name });
    expect([status, json.errors]).toEqual([422, [{ pointer: '/name', detail }]]);
    expect((await browser.get('passkeys')).json.passkeys).toEqual([passkey]);
  });

  test('of another person, or an unknown one, cannot be named', async () => {
    const { passkey } = await createEnrolledPerson();
    const other = await createEnrolledPerson();
    for (const id of [passkey.id, randomUUID(), 'x']) {
      const { status, json } = await other.browser.call('PATCH', `passkeys/${id}`, { name: 'Mine' });
      expect([status, json.code]).toEqual([404, 'not_found']);
    }
  });

  test('has the day of its last sign-in, and the time is not stored', async () => {
    const { browser, authenticator, passkey } = await createEnrolledPerson();
    const lastUsedOn = async () => (await browser.get('passkeys')).json.passkeys[0].last_used_on;
    for (const [now, day] of [
      ['2026-11-20T23:59:59Z', '2026-11-20'],
      ['2026-11-21T00:00:00Z', '2026-11-21'],
    ]) {
      service.clock.set(now!);
      expect((await signInWith(authenticator, {}, browser)).status).toBe(204);
      expect(await lastUsedOn()).toBe(day);
    }
    const [column] = await service.sql(
      'select pg_typeof(last_used_on)::text as type from passkey where id = $1',
      [passkey.id],
    );
    expect(column).toEqual({ type: 'date' });
  });

  test('without a signature counter is written only by the first sign-in of a day', async () => {
    const { authenticator, passkey } = await createEnrolledPerson({ hasCounter: false });
    // The ctid of a row changes with each write.
    const version = async () =>
      (await service.sql('select ctid::text from passkey where id = $1', [passkey.id]))[0];
    const versions = [];
    for (const now of [NOW, '2026-11-20T13:05:00Z', '2026-11-20T23:00:00Z', '2026-11-21T00:00:00Z']) {
      service.clock.set(now);
      expect((await signInWith(authenticator)).status).toBe(204);
      versions.push(await version());
    }
    expect(versions[1]).toEqual(versions[0]);
    expect(versions[2]).toEqual(versions[0]);
    expect(versions[3]).not.toEqual(versions[0]);
  });

  test('without a signature counter can sign in several times concurrently', async () => {
    const { authenticator } = await createEnrolledPerson({ hasCounter: false });
    const answers = await Promise.all(Array.from({ length: 5 }, () => signInWith(authenticator)));
    expect(answers.map(({ status }) => status)).toEqual([204, 204, 204, 204, 204]);
  });

  test('is removed together with all other sessions of its owner', async () => {
    const { browser, passkey, authenticator } = await createEnrolledPerson();
    const [attacker, otherPerson] = [new Browser(service), await signInNewPerson()];
    expect((await signInWith(authenticator, {}, attacker)).status).toBe(204);
    const { options } = (await attacker.post('passkeys/options', {})).json;
    expect((await browser.call('DELETE', `passkeys/${passkey.id}`)).status).toBe(204);
    const another = await attacker.post('passkeys', { response: new Authenticator(ORIGIN).create(options) });
    expect([another.status, another.json.code]).toEqual([401, 'sign_in_required']);
    for (const other of [browser, otherPerson]) expect((await other.get('session')).status).toBe(200);
  });

  test('cannot be added in a session that is being ended', async () => {
    const { browser, passkey, authenticator, id } = await createEnrolledPerson();
    const attacker = new Browser(service);
    expect((await signInWith(authenticator, {}, attacker)).status).toBe(204);
    const { options } = (await attacker.post('passkeys/options', {})).json;
    const lock = 'select 1 from staff where id = $1 for no key update';
    const removal = await OpenTransaction.begin(service, lock, [id]);
    const another = attacker.post('passkeys', { response: new Authenticator(ORIGIN).create(options) });
    await removal.untilWaiting(another);
    await removal.query('delete from session where token_hash = $1', [
      hash('sha256', attacker.cookies.get('mooring_staff')!, 'buffer'),
    ]);
    await removal.commit();
    const { status, json } = await another;
    expect([status, json.code]).toEqual([401, 'sign_in_required']);
    expect((await browser.get('passkeys')).json).toEqual({
      passkeys: [{ ...passkey, last_used_on: '2026-11-20' }],
    });
  });

  test('of another person cannot be removed, not even by an admin', async () => {
    const { passkey, authenticator } = await createEnrolledPerson();
    const admin = await signInStaff(service, 'admin', 'root@example.com');
    for (const id of [passkey.id, randomUUID(), 'x']) {
      const { status, json } = await admin.call('DELETE', `passkeys/${id}`);
      expect([status, json.code]).toEqual([404, 'not_found']);
    }
    expect((await signInWith(authenticator)).status).toBe(204);
  });

  test('invalidates a mailed link of its owner, and not a printed one', async () => {
    const admin = await signInStaff(service, 'admin', 'root@example.com');
    const browser = await signInNewPerson();
    const { id, email } = (await browser.get('session')).json;
    expect((await admin.post(`staff/${id}/link`)).status).toBe(202);
    const printed = await createPrintedLink(service, email);
    const { passkey } = (await enrol(browser)).json;
    expect(await service.sql('select mailed from staff_link where staff_id = $1', [id])).toEqual([
      { mailed: false },
    ]);
    expect((await admin.post(`staff/${id}/link`)).json.code).toBe('has_passkey');
    await browser.call('DELETE', `passkeys/${passkey.id}`);
    expect((await new Browser(service).post('session/link', { link: printed })).status).toBe(204);
  });
});

test.each([
  ['absent', {}],
  ['null', { response: null }],
  ['text', { response: 'x' }],
  ['a list', { response: [] }],
  ['without an id', { response: { response: {} } }],
  ['with an id that is not base64url', { response: { id: 'x y', response: {} } }],
  ['with an id that is a number', { response: { id: 7, response: {} } }],
  ['without its inner response', { response: { id: 'x' } }],
  ['with an inner response of null', { response: { id: 'x', response: null } }],
  ['with text in place of its inner response', { response: { id: 'x', response: 'x' } }],
])('a response that is %s is answered with 422 at /response', async (_what, body) => {
  const browser = await signInNewPerson();
  for (const path of ['session', 'passkeys']) {
    const { status, json } = await browser.post(path, body);
    const detail = 'must be the answer of a passkey, with its id and response';
    expect([path, status, json.errors]).toEqual([path, 422, [{ pointer: '/response', detail }]]);
  }
});

test.each([
  ['no members', {}],
  [
    'members of wrong types',
    { clientDataJSON: 7, authenticatorData: [], signature: {}, attestationObject: null },
  ],
  [
    'members that are neither JSON nor CBOR',
    { clientDataJSON: 'eA', authenticatorData: 'eA', signature: 'eA', attestationObject: 'eA' },
  ],
])('a response whose inner response has %s is answered with 403', async (_what, inner) => {
  const { browser, authenticator } = await createEnrolledPerson();
  const id = authenticator.credentialId.toString('base64url');
  const response = { id, rawId: id, type: 'public-key', clientExtensionResults: {}, response: inner };
  await browser.post('passkeys/options', {});
  expect((await browser.post('passkeys', { response })).json.code).toBe('passkey_invalid');
  await browser.post('session/options', {});
  expect((await browser.post('session', { response })).json.code).toBe('passkey_invalid');
});

test('the tests of this file have caused no internal error', () => {
  expect(service.logged.filter((line) => /internal_error/.test(line))).toEqual([]);
});
