import { beforeEach, describe, expect, test } from '@jest/globals';
import { randomBytes, randomUUID } from 'node:crypto';
import { ReleaseService } from '../../src/releases/release.service.js';
import { PurchasesService } from '../../src/purchases/purchases.service.js';
import { waitForJobs, outbox, sell } from '../erasure/harness.js';
import { AUDIT_CONTEXT, NOW, Service, HOUR_MS } from '../support/harness.js';
import { ReleaseDecisions } from '../../src/releases/release-decisions.js';
import { Browser, COMMON_REFUSALS, commonRefusals, withoutIdAndDate } from './harness.js';
import { whileGone, expectFailures } from '../support/tables.js';
import { unseenResponses } from '../support/http/openapi.js';

const service = await Service.start({ environment: { SELF_RELEASES_PER_YEAR: '2' } });
beforeEach(() => service.clock.set(NOW));

const newEmail = () => `${randomUUID()}@example.com`;
/** `GET /licenses` returns the same, but answers 401 without a session. */
const readLicenses = async (from: Browser) => (await from.call('GET', '/session')).json;

describe('GET session', () => {
  test('shows a license and its activations: active ones first, newest first', async () => {
    const email = newEmail();
    const license = await service.issue({ email, machines_allowed: 3, expires_at: new Date(NOW) });
    const ids: Record<string, string> = {};
    for (const [at, machine] of ['released', 'older', 'newer'].entries()) {
      service.clock.set(new Date(Date.parse(NOW) - (3 - at) * HOUR_MS));
      const { json } = await service.activate(license, machine, { hostname_hint: `The ${machine}` });
      ids[machine] = json.activation.id as string;
    }
    service.clock.set(NOW);
    await service.app.get(ReleaseService).release(ids['released']!, AUDIT_CONTEXT);
    const holder = await new Browser(service).beginSession(email);
    await holder.call('POST', `/activations/${ids['older']}/release-request`, { reason: 'Sold.' });
    const active = { app_version: '3.2.0', state: 'active', ended_at: null, ended_reason: null };
    expect(await readLicenses(holder)).toEqual({
      signed_in_by: 'code',
      email,
      erasure: null,
      purchases_kept_until: null,
      licenses: [
        {
          id: license.license_id,
          key_hint: license.license_key.slice(-2),
          status: 'active',
          expires_at: NOW,
          on_expiry: 'keep',
          machines_allowed: 3,
          machines_in_use: 2,
          self_releases_left: 2,
          is_key_mailable: true,
          activations: [
            {
              id: ids['newer'],
              hostname_hint: 'The newer',
              activated_at: '2026-11-20T12:00:00Z',
              release_requested_at: null,
              release_declined: null,
              ...active,
            },
            {
              id: ids['older'],
              hostname_hint: 'The older',
              activated_at: '2026-11-20T11:00:00Z',
              release_requested_at: NOW,
              release_declined: null,
              ...active,
            },
            {
              id: ids['released'],
              hostname_hint: 'The released',
              activated_at: '2026-11-20T10:00:00Z',
              app_version: '3.2.0',
              state: 'released',
              ended_at: NOW,
              ended_reason: 'released',
              release_requested_at: null,
              release_declined: null,
            },
          ],
        },
      ],
    });
  });

  test('shows until when the latest purchase is kept by law, only to holders who signed in with a code', async () => {
    const email = newEmail();
    await sell(service, email, randomUUID());
    service.clock.set('2024-02-29T13:00:00Z');
    await sell(service, email, randomUUID());
    service.clock.set(NOW);
    await sell(service, newEmail(), randomUUID());
    const byCode = await new Browser(service).beginSession(email);
    expect((await readLicenses(byCode)).purchases_kept_until).toBe('2036-12-31');
    const own = await service.issue({ email });
    expect((await readLicenses(await new Browser(service).signInByKey(own))).purchases_kept_until).toBeNull();
  });

  test('has an empty list of licenses for an address without a license', async () => {
    const email = newEmail();
    const { license_id } = await service.issue({ email });
    const holder = await new Browser(service).beginSession(email);
    await service.sql('delete from license where id = $1', [license_id]);
    expect(await readLicenses(holder)).toMatchObject({ email, licenses: [] });
  });

  test('a declined release request is shown with its reason, only to the holder who made it; the holder can make another one', async () => {
    const license = await service.issue({ email: newEmail() });
    const { id } = (await service.activate(license)).json.activation;
    const holder = await new Browser(service).signInByKey(license);
    const requestRelease = () => holder.call('POST', `/activations/${id}/release-request`, {});
    const readRequest = async (from = holder) => {
      const { release_requested_at, release_declined } = (await readLicenses(from)).licenses[0]
        .activations[0];
      return { release_requested_at, release_declined };
    };
    const decline = async (reason: string) => {
      await requestRelease();
      const [request] = await service.sql<{ id: string }>(
        'select id from release_request where activation_id = $1 and decided_at is null',
        [id],
      );
      const audit = { actor: 'ada@staff.example', reason };
      await service.app.get(ReleaseDecisions).decide(request!.id, 'decline', audit);
    };
    const start = service.clock.now().getTime();
    await decline('Still in use');
    service.clock.advance(HOUR_MS / 4);
    await decline('In use, still');
    const declined_at = new Date(start + HOUR_MS / 4).toISOString().replace('.000', '');
    const release_declined = { declined_at, reason: 'In use, still' };
    expect(await readRequest()).toEqual({ release_requested_at: null, release_declined });
    service.clock.advance(HOUR_MS / 4);
    await requestRelease();
    const release_requested_at = new Date(start + HOUR_MS / 2).toISOString().replace('.000', '');
    expect(await readRequest()).toEqual({ release_requested_at, release_declined });
    const email = newEmail();
    await service.setLicense(license.license_id, { email });
    const next = await new Browser(service).beginSession(email);
    expect(await readRequest(next)).toEqual({ release_requested_at: null, release_declined: null });
  });

  test.each([
    [204, 'GET', '/session'],
    [401, 'GET', '/licenses'],
  ])(
    'answers %i without a session, 500 if a table is missing, and 503 if a table is locked: %s %s',
    async (status, method, path) => {
      const holder = await new Browser(service).signInByKey(await service.issue({ email: newEmail() }));
      const get = () => holder.call(method, path);
      expect((await new Browser(service).call(method, path)).status).toBe(status);
      await expectFailures(service, 'release_request', get);
    },
  );
});

describe('POST licenses/:id/send-key', () => {
  const sendKey = (from: Browser, id: string) => from.call('POST', `/licenses/${id}/send-key`);
  const keyMails = async (email: string) => {
    await waitForJobs(service, 'mail_license_key_again');
    return (await outbox(service)).filter((mail) => mail.to === email && /license key/.test(mail.subject));
  };

  test('mails the key to the address of the license, and does not return it', async () => {
    const license = await service.issue({ email: newEmail() });
    const { status, text } = await sendKey(
      await new Browser(service).signInByKey(license),
      license.license_id,
    );
    expect([status, text]).toEqual([202, '']);
    const [mail, ...more] = await keyMails(license.email);
    expect(more).toEqual([]);
    expect(mail!.text).toContain(license.license_key);
    // The audit trail does not record what holders do.
    const trail = `select 1 from audit_event where license_id = $1 and action <> 'license.issue'`;
    expect(await service.sql(trail, [license.license_id])).toEqual([]);
  });

  test('a session by code can request the keys of all licenses of the address, and a session by key only the key of its license', async () => {
    const email = newEmail();
    const [first, second] = [await service.issue({ email }), await service.issue({ email })];
    const byKey = await new Browser(service).signInByKey(first);
    expect((await sendKey(byKey, second.license_id)).status).toBe(404);
    const byCode = await new Browser(service).beginSession(email);
    expect((await sendKey(byCode, second.license_id)).status).toBe(202);
  });

  test('answers for the license of another holder exactly as for an unknown id', async () => {
    const { license_id } = await service.issue({ email: newEmail() });
    const own = await service.issue({ email: newEmail() });
    const others = [
      await new Browser(service).signInByKey(own),
      await new Browser(service).beginSession(own.email),
    ];
    for (const otherHolder of others) {
      const [foreign, ...nonexistent] = await Promise.all(
        [license_id, randomUUID(), 'x', '%00', own.license_key].map((id) => sendKey(otherHolder, id)),
      );
      expect(foreign!.json).toMatchObject({ status: 404, code: 'not_found' });
      for (const answer of nonexistent) expect(withoutIdAndDate(answer)).toEqual(withoutIdAndDate(foreign!));
    }
    expect(await keyMails(own.email)).toEqual([]);
  });

  test('answers 429 to the eleventh request of a day for a license, also with its id in upper case; other licenses are not limited', async () => {
    const email = newEmail();
    const [license, other] = [await service.issue({ email }), await service.issue({ email })];
    const holder = await new Browser(service).beginSession(email);
    for (let times = 0; times < 10; times += 1)
      expect((await sendKey(holder, license.license_id)).status).toBe(202);
    for (const id of [license.license_id, license.license_id.toUpperCase()]) {
      const { status, json, headers } = await sendKey(holder, id);
      expect([status, json.code, Number(headers['retry-after']) > 0]).toEqual([
        429,
        'too_many_requests',
        true,
      ]);
    }
    expect((await sendKey(holder, other.license_id)).status).toBe(202);
    // Requests of other holders do not count.
    const otherHolder = await new Browser(service).signInByKey(await service.issue({ email: newEmail() }));
    for (let times = 0; times < 11; times += 1)
      expect((await sendKey(otherHolder, other.license_id)).status).toBe(404);
    expect((await sendKey(holder, other.license_id)).status).toBe(202);
  });

  test('requests that fail because of the database do not use up the mails of the day', async () => {
    const license = await service.issue({ email: newEmail() });
    const holder = await new Browser(service).signInByKey(license);
    const statusOf = async () => (await sendKey(holder, license.license_id)).status;
    await whileGone(service, 'purchase', async () => {
      for (let times = 0; times < 11; times += 1) expect(await statusOf()).toBe(500);
    });
    expect(await statusOf()).toBe(202);
  });

  test('answers 409 for an imported key, which cannot be derived, and for a license that is refunded or revoked', async () => {
    const imported = await service.issue({ email: newEmail() });
    await service.sql('update license set key_hash = $2 where id = $1', [
      imported.license_id,
      randomBytes(32),
    ]);
    const email = newEmail();
    const transaction_id = randomUUID();
    const refunded = await sell(service, email, transaction_id);
    await service.app.get(PurchasesService).record({ transaction_id, status: 'refunded' });
    const revoked = await service.issue({ email: newEmail() });
    await service.setLicense(revoked.license_id, { staff_status: 'revoked' });
    for (const [address, id, reason] of [
      [imported.email, imported.license_id, 'not_made_here'],
      [revoked.email, revoked.license_id, 'revoked'],
      [email, refunded, 'refunded'],
    ] as const) {
      const holder = await new Browser(service).beginSession(address);
      expect((await holder.call('GET', '/licenses')).json.licenses[0].is_key_mailable).toBe(false);
      const { status, json } = await sendKey(holder, id);
      expect([status, json.code, json.reason]).toEqual([409, 'key_not_mailable', reason]);
    }
  });

  test('has the refusals that all writes of the portal have in common', async () => {
    const license = await service.issue({ email: newEmail() });
    const holder = await new Browser(service).signInByKey(license);
    const path = `/licenses/${license.license_id}/send-key`;
    expect(await commonRefusals(holder, { path })).toEqual(COMMON_REFUSALS);
    expect((await sendKey(new Browser(service), license.license_id)).json.code).toBe('sign_in_required');
    expect(await keyMails(license.email)).toEqual([]);
  });
});

test('the tests of this file have received every documented response', () => {
  expect(unseenResponses(/^GET \/portal\/api\/session| \/portal\/api\/licenses/)).toEqual([]);
});
