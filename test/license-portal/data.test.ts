import { beforeEach, describe, expect, test } from '@jest/globals';
import { randomBytes, randomUUID } from 'node:crypto';
import { ReleaseService } from '../../src/releases/release.service.js';
import { LicensesService } from '../../src/licenses/licenses.service.js';
import { ErasureService } from '../../src/erasure/erasure.service.js';
import { RetentionJob } from '../../src/retention/retention.job.js';
import { waitForJobs, outbox, sell } from '../erasure/harness.js';
import { until } from '../support/until.js';
import { AUDIT_CONTEXT, FakeClock, machineId, Service, HOUR_MS } from '../support/harness.js';
import { Browser, COMMON_REFUSALS, commonRefusals } from './harness.js';
import { whileGone, whileLocked } from '../support/tables.js';
import { OpenTransaction } from '../support/open-transaction.js';
import { unseenResponses } from '../support/http/openapi.js';

/** A time far in the future: the job queue uses the database's clock, so no job of an erasure request becomes due. */
const NOON = '2096-02-10T12:00:00Z';

/** The columns of the tables about holders that the export leaves out. */
const LEFT_OUT = [
  ...['license_id'].map((column) => `activation.${column}`),
  ...['actor', 'id', 'license_id'].map((column) => `audit_event.${column}`),
  // The export has only the waiting request of the holder. Its `email` is the address at the top of the export. `asked_by` and
  // `reason` are about staff: only a request by staff has a reason. The other columns of a waiting request are null.
  ...['asked_by', 'cancelled_at', 'email', 'erased', 'honoured_at', 'reason'].map(
    (column) => `erasure_request.${column}`,
  ),
  // `address_lost_at` is null in each export, because a license without an address has no holder.
  ...['address_lost_at', 'key_hash', 'previous_key_hash', 'purchase_id'].map((column) => `license.${column}`),
  ...['email', 'mail_id'].map((column) => `mail_recipient.${column}`),
  ...['email', 'hint_hash', 'id', 'nonce'].map((column) => `one_time_code.${column}`),
  ...[
    'attempts',
    'given_up_at',
    'id',
    'last_error',
    'license_id',
    'next_attempt_at',
    'position',
    'queued_at',
  ].map((column) => `outgoing_event.${column}`),
  ...['id'].map((column) => `purchase.${column}`),
  ...['activation_id', 'id'].map((column) => `release_request.${column}`),
  ...['email', 'id', 'staff_id', 'token_hash'].map((column) => `session.${column}`),
];

const environment = { SELF_RELEASES_PER_YEAR: '1' };
const service = await Service.start({ clock: new FakeClock(NOON), environment });
beforeEach(() => service.clock.set(NOON));

const newEmail = () => `${randomUUID()}@example.com`;
const beginSession = (email: string) => new Browser(service).beginSession(email);
const mailsOf = async (email: string, subject: RegExp) =>
  (await outbox(service)).filter((mail) => mail.to === email && subject.test(mail.subject));

describe('GET export', () => {
  test('is a file with all data of the holder', async () => {
    const email = newEmail();
    const transaction_id = `pi_${randomUUID()}`;
    const license_id = await sell(service, email, transaction_id);
    const licenses = service.app.get(LicensesService);
    const license = { license_id, license_key: (await licenses.currentKey(license_id))!, email };
    const audit = { actor: 'grace@staff.example', reason: 'two desks' };
    await service.setLicense(license_id, { machines_allowed: 2 });
    await licenses.set(license_id, { machines_allowed: 3 }, audit);
    const activate = async (machine: string) =>
      (await service.activate(license, machine, { hostname_hint: `The ${machine}` })).json.activation
        .id as string;
    const [first, second, third] = [
      await activate('first'),
      await activate('second'),
      await activate('third'),
    ];
    const byKey = await new Browser(service).signInByKey(license);
    const german = { 'accept-language': 'de' };
    await byKey.call('POST', `/activations/${second}/release-request`, { reason: 'Sold.' }, german);
    await service.app.get(ReleaseService).release(first, audit);
    const holder = await beginSession(email);
    await holder.call('POST', `/activations/${third}/release`);
    await new Browser(service).call('POST', '/session/code', { email });
    await holder.call('POST', '/erasure');
    await waitForJobs(service, 'mail_%');
    const { status, json, headers } = await holder.call('GET', '/export');
    expect([status, headers['content-type'], headers['content-disposition']]).toEqual([
      200,
      expect.stringMatching(/^application\/json/),
      'attachment; filename="my-license-data.json"',
    ]);
    const activation = { app_version: '3.2.0', activated_at: NOON, release_requests: [] };
    const active = { state: 'active', ended_at: null, ended_reason: null, released_by_holder: false };
    const released = { state: 'released', ended_at: NOON, ended_reason: 'released' };
    const named = (id: string, machine: string) => ({
      id,
      hostname_hint: `The ${machine}`,
      machine_id: machineId(machine),
    });
    const request = { asked_at: NOON, reason: 'Sold.', language: 'de', decided_at: null, decision: null };
    const change = { at: NOON, action: 'license.set' };
    const session = { created_at: NOON, expires_at: '2096-02-10T12:30:00Z' };
    expect(json).toEqual({
      exported_at: NOON,
      email,
      licenses: [
        {
          id: license_id,
          key_hint: license.license_key.slice(-2),
          previous_key_hint: null,
          email,
          status: 'active',
          expires_at: null,
          on_expiry: 'keep',
          machines_allowed: 3,
          machines_in_use: 1,
          created_at: NOON,
          staff_status: 'active',
          key_generation: 1,
          ended_at: null,
          end_changed_at: NOON,
          email_since: null,
          new_key_mailed_at: null,
          keys_replaced_at: [],
          activations: [
            { ...activation, ...active, ...named(second, 'second'), release_requests: [request] },
            { ...activation, ...released, ...named(third, 'third'), released_by_holder: true },
            { ...activation, ...released, ...named(first, 'first'), released_by_holder: false },
          ],
          history: [
            { at: NOON, action: 'activation.release', reason: 'two desks', change: { activation_id: first } },
            {
              ...change,
              reason: 'two desks',
              change: { machines_allowed: 3, before: { machines_allowed: 2 } },
            },
            { ...change, reason: 'a test', change: { machines_allowed: 2, before: { machines_allowed: 1 } } },
          ],
          events: [],
        },
      ],
      purchases: [
        { transaction_id, email, state: 'paid', paid: true, recorded_on: '2096-02-10', license_id },
      ],
      erasure: { id: expect.any(String), received_on: '2096-02-10', runs_at: '2096-02-13T12:00:00Z' },
      sessions: expect.arrayContaining([
        { license_id: null, ...session },
        { license_id, ...session },
      ]),
      sign_in_codes: [{ tries: 0, created_at: NOON, expires_at: '2096-02-10T12:10:00Z' }],
      mails_waiting: [],
      not_here: expect.arrayContaining([expect.stringContaining('Telemetry')]),
    });
  });

  test('shows the status set by staff, the end of the license and the generation of its key', async () => {
    const email = newEmail();
    const license_id = await sell(service, email, `pi_${randomUUID()}`);
    await service.app.get(LicensesService).rekey(license_id, { actor: 'cli', reason: 'leaked' });
    await service.setLicense(license_id, { staff_status: 'revoked' });
    const { json } = await (await beginSession(email)).call('GET', '/export');
    expect(json.licenses).toEqual([
      expect.objectContaining({
        staff_status: 'revoked',
        key_generation: 2,
        ended_at: NOON,
        keys_replaced_at: [NOON],
      }),
    ]);
  });

  test('has every column of the tables about holders, except ids and order of rows, secrets, staff, and how an event is sent', async () => {
    await service.sql('select record_events(true, $1)', [service.clock.now()]);
    const email = newEmail();
    const license_id = await sell(service, email, randomUUID());
    const license_key = (await service.app.get(LicensesService).currentKey(license_id))!;
    const { json: activated } = await service.activate({ license_key, email });
    const holder = await beginSession(email);
    await holder.call('POST', `/activations/${activated.activation.id}/release-request`, {});
    await new Browser(service).call('POST', '/session/code', { email });
    await holder.call('POST', '/erasure');
    await service.setLicense(license_id, { machines_allowed: 2 });
    await service.sql('insert into mail_recipient values (gen_random_uuid(), $1, $2)', [email, NOON]);
    const { json } = await holder.call('GET', '/export');
    await service.sql('select record_events(false, $1)', [service.clock.now()]);
    const [license] = json.licenses;
    const rows: Record<string, object> = {
      license,
      activation: license.activations[0],
      release_request: license.activations[0].release_requests[0],
      audit_event: license.history[0],
      outgoing_event: license.events[0],
      purchase: json.purchases[0],
      erasure_request: json.erasure,
      session: json.sessions[0],
      one_time_code: json.sign_in_codes[0],
      mail_recipient: json.mails_waiting[0],
    };
    const columns = await service.sql<{ table: string; column: string }>(
      `select table_name as table, column_name as column from information_schema.columns
       where table_schema = 'public' and table_name = any($1) order by 1, 2`,
      [Object.keys(rows)],
    );
    const leftOut = columns.filter(({ table, column }) => !(column in rows[table]!));
    expect(leftOut.map(({ table, column }) => `${table}.${column}`)).toEqual(LEFT_OUT);
  });

  test('has no secret, no hash of a secret and no name of a staff member', async () => {
    const email = newEmail();
    const license = await service.issue({ email });
    await service.activate(license);
    const holder = await beginSession(email);
    await service.app.get(LicensesService).sendKey(license.license_id, {
      actor: 'grace@staff.example',
      reason: null,
    });
    const { text } = await holder.call('GET', '/export');
    const secrets = await service.sql<{ secret: string }>(
      `select encode(key_hash, 'hex') as secret from license union select encode(token_hash, 'hex') from session
       union select id::text from session union select id::text from one_time_code`,
    );
    for (const value of [license.license_key, 'grace@staff.example', ...holder.cookies.values()])
      expect(text).not.toContain(value);
    for (const { secret } of secrets) expect(text).not.toContain(secret);
  });

  test('has no data of another person', async () => {
    const [email, other] = [newEmail(), newEmail()];
    const theirs = await service.issue({ email: other });
    await service.activate(theirs, 'theirs', { hostname_hint: 'Theirs' });
    await sell(service, other, 'their-purchase');
    await beginSession(other);
    const own = await service.issue({ email });
    const { json, text } = await (await beginSession(email)).call('GET', '/export');
    expect(json.licenses).toMatchObject([{ id: own.license_id }]);
    expect([json.purchases, json.sessions.length]).toEqual([[], 1]);
    for (const word of [other, theirs.license_id, 'Theirs', machineId('theirs'), 'their-purchase'])
      expect(text).not.toContain(word);
  });

  test('does not show the former and the new holder of a license each other’s address', async () => {
    const [buyer, owner] = [newEmail(), newEmail()];
    const transaction_id = `pi_${randomUUID()}`;
    const id = await sell(service, buyer, transaction_id);
    await service.setLicense(id, { email: owner });
    const exportOf = async (email: string) => (await (await beginSession(email)).call('GET', '/export')).text;
    const [ofBuyer, ofOwner] = [await exportOf(buyer), await exportOf(owner)];
    for (const text of [ofBuyer, ofOwner]) expect(text).toContain(transaction_id);
    expect(ofBuyer).not.toContain(owner);
    expect(ofOwner).not.toContain(buyer);
    expect(JSON.parse(ofOwner).purchases).toMatchObject([{ transaction_id, email: null, license_id: id }]);
  });

  test('names with a purchase only the licenses of the holder, also if other persons have licenses of it', async () => {
    const [buyer, colleague, outsider] = [newEmail(), newEmail(), newEmail()];
    const transaction_id = `pi_${randomUUID()}`;
    const bought = await sell(service, buyer, transaction_id);
    const [second, third] = [
      (await service.issue({ email: colleague })).license_id,
      (await service.issue({ email: outsider })).license_id,
    ];
    await service.sql(
      'update license set purchase_id = (select purchase_id from license where id = $1) where id = any($2)',
      [bought, [second, third]],
    );
    const purchasesOf = async (email: string) =>
      (await (await beginSession(email)).call('GET', '/export')).json.purchases;
    expect(await purchasesOf(colleague)).toMatchObject([{ transaction_id, email: null, license_id: second }]);
    expect(await purchasesOf(buyer)).toMatchObject([{ transaction_id, email: buyer, license_id: bought }]);
    // The purchase stays in the export of the buyer after the license has got another holder.
    await service.setLicense(bought, { email: newEmail() });
    expect(await purchasesOf(buyer)).toMatchObject([{ transaction_id, email: buyer, license_id: null }]);
    await service.setLicense(second, { email: outsider });
    const both = await purchasesOf(outsider);
    expect(both.map(({ license_id }: { license_id: string }) => license_id).toSorted()).toEqual(
      [second, third].toSorted(),
    );
  });

  test('has a purchase whose license was deleted', async () => {
    const email = newEmail();
    const license_id = await sell(service, email, randomUUID());
    await service.sql('delete from license where id = $1', [license_id]);
    const holder = await beginSession(email);
    const { json } = await holder.call('GET', '/export');
    expect(json).toMatchObject({ licenses: [], purchases: [{ email, license_id: null }] });
  });

  test('answers 401 without a session, 403 to a session by key, 500 if a table is missing, and 503 if it is locked', async () => {
    const license = await service.issue({ email: newEmail() });
    const exportOf = (from: Browser) => from.call('GET', '/export');
    expect((await exportOf(new Browser(service))).json.code).toBe('sign_in_required');
    expect((await exportOf(await new Browser(service).signInByKey(license))).json.code).toBe(
      'mailbox_proof_needed',
    );
    const holder = await beginSession(license.email);
    const broken = await whileGone(service, 'mail_recipient', () => exportOf(holder));
    expect(broken.json.code).toBe('internal_error');
    expect(broken.headers['content-disposition']).toBeUndefined();
    const unavailable = await whileLocked(service, 'mail_recipient', () => exportOf(holder));
    expect(unavailable.json.code).toBe('unavailable');
  });
});

describe('POST and DELETE erasure', () => {
  const requestErasure = (from: Browser) => from.call('POST', '/erasure');
  const cancelErasure = (from: Browser) => from.call('DELETE', '/erasure');
  const erasureOf = async (from: Browser) => (await from.call('GET', '/session')).json.erasure;
  const isErased = async (id: string) =>
    (await service.sql('select 1 from license where id = $1 and email is null', [id])).length === 1;
  const runRetention = async () => {
    const job = service.app.get(RetentionJob);
    job.run();
    await job.whenIdle();
  };

  test('a request waits three days, is shown to all sessions of the address, and is announced by mail', async () => {
    const license = await service.issue({ email: newEmail() });
    const holder = await beginSession(license.email);
    const { status, json } = await requestErasure(holder);
    const waiting = {
      id: expect.any(String),
      received_on: '2096-02-10',
      runs_at: '2096-02-13T12:00:00Z',
    };
    expect([status, json]).toEqual([202, { erasure: waiting }]);
    expect(await erasureOf(holder)).toEqual(json.erasure);
    expect(await erasureOf(await new Browser(service).signInByKey(license))).toEqual(json.erasure);
    await until(async () => (await mailsOf(license.email, /^You asked for your data/)).length === 1);
    expect((await service.activate(license)).status).toBe(201);
  });

  test('a buyer whose license has another address can have the address of the purchase erased', async () => {
    const [buyer, owner] = [newEmail(), newEmail()];
    const id = await sell(service, buyer, randomUUID());
    await service.setLicense(id, { email: owner });
    const license_key = (await service.app.get(LicensesService).currentKey(id))!;
    const { token } = (await service.activate({ license_key, email: owner })).json;
    const { json } = await requestErasure(await beginSession(buyer));
    expect((await service.app.get(ErasureService).run(json.erasure.id)).state).toBe('honoured');
    expect(await service.sql('select 1 from purchase where email = $1', [buyer])).toEqual([]);
    expect((await service.heartbeat(token)).status).toBe(200);
  });

  test('a request that another holder confirmed in the same browser is refused, and erases nothing', async () => {
    const [confirmed, signedIn] = [newEmail(), newEmail()];
    await service.issue({ email: signedIn });
    const holder = await beginSession(signedIn);
    const refused = await holder.call('POST', '/erasure', { email: confirmed });
    expect([refused.status, refused.json.code]).toEqual([412, 'another_person']);
    const invalid = await holder.call('POST', '/erasure', { email: 'ada' });
    expect([invalid.status, invalid.json.code]).toEqual([422, 'invalid_request']);
    expect(await erasureOf(holder)).toBeNull();
    expect((await holder.call('POST', '/erasure', { email: signedIn.toUpperCase() })).status).toBe(202);
  });

  test('ten concurrent requests and a later one create one erasure request', async () => {
    const email = newEmail();
    await service.issue({ email });
    const holder = await beginSession(email);
    const answers = await Promise.all(Array.from({ length: 10 }, () => requestErasure(holder)));
    const ids = answers.filter(({ status }) => status === 202).map(({ json }) => json.erasure.id as string);
    expect(new Set(ids).size).toBe(1);
    service.clock.advance(60_000);
    expect((await requestErasure(holder)).json.erasure).toMatchObject({
      id: ids[0],
      runs_at: '2096-02-13T12:00:00Z',
    });
    expect(await service.sql('select 1 from erasure_request where email = $1', [email])).toHaveLength(1);
  });

  test('after three days the hourly retention run erases the holder, ends sessions and codes, and the holder cannot sign in any more', async () => {
    const license = await service.issue({ email: newEmail() });
    await service.activate(license);
    const first = await beginSession(license.email);
    await requestErasure(first);
    service.clock.advance(72 * HOUR_MS);
    const [holder, byKey] = [
      await beginSession(license.email),
      await new Browser(service).signInByKey(license),
    ];
    const waiting = new Browser(service);
    const code = await waiting.requestCode(license.email);
    await runRetention();
    expect(await isErased(license.license_id)).toBe(true);
    for (const each of [holder, byKey]) expect((await each.call('GET', '/session')).status).toBe(204);
    expect(
      await service.sql('select 1 from session where email = $1 or license_id = $2', [
        license.email,
        license.license_id,
      ]),
    ).toEqual([]);
    const { email, license_key } = license;
    expect((await waiting.call('POST', '/session', { email, code })).json.code).toBe('code_invalid');
    const again = await new Browser(service).call('POST', '/session', { email, license_key });
    expect(again.json.code).toBe('license_not_found');
    await until(async () => (await mailsOf(email, /was deleted$/)).length === 1);
  });

  test('the mails are in the language of the page, also if the retention run carries the request out', async () => {
    const { email } = await service.issue({ email: newEmail() });
    const holder = await beginSession(email);
    await holder.call('POST', '/erasure', undefined, { 'accept-language': 'de' });
    await until(
      async () => (await mailsOf(email, /^Sie haben die Löschung Ihrer Daten .* beantragt$/)).length === 1,
    );
    service.clock.advance(72 * HOUR_MS);
    await runRetention();
    await until(async () => (await mailsOf(email, /^Ihre Daten bei .* wurden gelöscht$/)).length === 1);
  });

  test('the mail about the completed erasure is in the language of the page also if staff make the request due at once', async () => {
    const { email } = await service.issue({ email: newEmail() });
    const holder = await beginSession(email);
    await holder.call('POST', '/erasure', undefined, { 'accept-language': 'de' });
    await service.app.get(ErasureService).request(email, AUDIT_CONTEXT);
    await until(
      async () => (await mailsOf(email, /was deleted$|^Ihre Daten bei .* wurden gelöscht$/)).length === 1,
    );
    expect(await mailsOf(email, /^Ihre Daten bei .* wurden gelöscht$/)).toHaveLength(1);
  });

  test('a sign-in with a code during the erasure leaves no session', async () => {
    const { email } = await service.issue({ email: newEmail() });
    const { id } = (await requestErasure(await beginSession(email))).json.erasure;
    await new Browser(service).requestCode(email);
    // The statements of a sign-in before its commit.
    const deleteCodes = 'delete from one_time_code where email = $1';
    const signIn = await OpenTransaction.begin(service, deleteCodes, [email]);
    await signIn.query(
      `insert into session (id, token_hash, email, created_at, expires_at)
       values (gen_random_uuid(), $2, $1, $3, $3::timestamptz + interval '1 hour')`,
      [email, randomBytes(32), service.clock.now()],
    );
    const run = () =>
      service.app
        .get(ErasureService)
        .run(id)
        .catch(() => undefined);
    const running = run();
    await signIn.untilWaiting(running);
    await signIn.commit();
    // `run` returned nothing if the lock timed out: the erasure is then run again, as its job would be.
    if (!(await running)) await run();
    expect(await service.sql('select 1 from session where email = $1', [email])).toEqual([]);
    expect(await service.sql('select 1 from erasure_request where email = $1', [email])).toEqual([]);
  });

  test('a request during the erasure does not store the address again', async () => {
    const { email } = await service.issue({ email: newEmail() });
    const holder = await beginSession(email);
    const { id } = (await requestErasure(holder)).json.erasure;
    // The statements of an erasure before its commit.
    const lock = 'select 1 from erasure_request where id = $1 for update';
    const erasure = await OpenTransaction.begin(service, lock, [id]);
    await erasure.query('delete from session where email = $1', [email]);
    await erasure.query(
      "update erasure_request set email = null, honoured_at = $2, erased = '{}' where id = $1",
      [id, service.clock.now()],
    );
    const again = requestErasure(holder);
    await erasure.untilWaiting(again);
    await erasure.commit();
    const { status, json } = await again;
    expect([status, json.code]).toEqual([401, 'sign_in_required']);
    expect(await service.sql('select 1 from erasure_request where email = $1', [email])).toEqual([]);
  });

  test('a cancelled request is not carried out, and a new one can be made', async () => {
    const license = await service.issue({ email: newEmail() });
    const holder = await beginSession(license.email);
    const { id } = (await requestErasure(holder)).json.erasure;
    const { status, text } = await cancelErasure(holder);
    expect([status, text]).toEqual([204, '']);
    expect(await erasureOf(holder)).toBeNull();
    const again = (await requestErasure(holder)).json.erasure;
    expect(again.id).not.toBe(id);
    await cancelErasure(holder);
    service.clock.advance(100 * HOUR_MS);
    await runRetention();
    expect(await isErased(license.license_id)).toBe(false);
  });

  test('cancelling answers 404 if there is no request, if it is already cancelled, or if it is of another holder', async () => {
    const [own, other] = [
      await service.issue({ email: newEmail() }),
      await service.issue({ email: newEmail() }),
    ];
    const [holder, otherHolder] = [await beginSession(own.email), await beginSession(other.email)];
    expect((await cancelErasure(holder)).json.code).toBe('not_found');
    await requestErasure(holder);
    expect((await cancelErasure(otherHolder)).json.code).toBe('not_found');
    const answers = await Promise.all([cancelErasure(holder), cancelErasure(holder), cancelErasure(holder)]);
    expect(answers.filter(({ status }) => status === 204)).toHaveLength(1);
    expect((await cancelErasure(holder)).json.code).toBe('not_found');
  });

  test('cancelling with the id of the request that the page showed cancels no other request', async () => {
    const [own, other] = [
      await service.issue({ email: newEmail() }),
      await service.issue({ email: newEmail() }),
    ];
    const [holder, otherHolder] = [await beginSession(own.email), await beginSession(other.email)];
    const waiting = (await requestErasure(holder)).json.erasure;
    const { id } = (await requestErasure(otherHolder)).json.erasure;
    const cancel = (requestId: string) => holder.call('DELETE', `/erasure?id=${requestId}`);
    expect((await cancel(id)).json.code).toBe('not_found');
    expect(await erasureOf(holder)).toEqual(waiting);
    expect((await cancel(waiting.id)).status).toBe(204);
    expect(await erasureOf(otherHolder)).not.toBeNull();
  });

  test('a holder who signed in with a key, which an office may share, is answered with 403', async () => {
    const license = await service.issue({ email: newEmail() });
    const byKey = await new Browser(service).signInByKey(license);
    await requestErasure(await beginSession(license.email));
    for (const answer of [await requestErasure(byKey), await cancelErasure(byKey)])
      expect([answer.status, answer.json.code]).toEqual([403, 'mailbox_proof_needed']);
    expect(await erasureOf(byKey)).not.toBeNull();
  });

  test('has the refusals that all writes of the portal have in common', async () => {
    const license = await service.issue({ email: newEmail() });
    const holder = await beginSession(license.email);
    expect(await commonRefusals(holder, { path: '/erasure' })).toEqual(COMMON_REFUSALS);
    expect(await commonRefusals(holder, { method: 'DELETE', path: '/erasure' })).toEqual(COMMON_REFUSALS);
    expect((await requestErasure(new Browser(service))).json.code).toBe('sign_in_required');
    expect((await cancelErasure(new Browser(service))).json.code).toBe('sign_in_required');
    expect(await erasureOf(holder)).toBeNull();
  });
});

test('the tests of this file have received every documented response', async () => {
  await waitForJobs(service, 'mail_%');
  expect(unseenResponses(/ \/portal\/api\/(export|erasure)/)).toEqual([]);
});
