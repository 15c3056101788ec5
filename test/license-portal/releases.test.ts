import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { ReleaseService } from '../../src/releases/release.service.js';
import { ACT, waitForJobs, outbox, until } from '../erasure/harness.js';
import { Service } from '../support/harness.js';
import { Browser, COMMON_REFUSALS, commonRefusals, unseen, withoutIds } from './harness.js';

const NOW = '2026-11-20T13:00:00Z';
const DAY_MS = 86_400_000;

let service: Service;
/** A second instance on the same database, without SELF_RELEASES_PER_YEAR: holders release no machine. */
let withoutSelfReleases: Service;
beforeAll(async () => {
  service = await Service.start({ environment: { SELF_RELEASES_PER_YEAR: '1' } });
  withoutSelfReleases = await Service.start({ databaseUrl: service.databaseUrl, dataDir: service.dataDir });
});
beforeEach(() => service.clock.set(NOW));
afterAll(async () => {
  await withoutSelfReleases.close();
  await service.close();
});

async function activated(machines = 1) {
  const email = `${randomUUID()}@example.com`;
  const license = await service.issue({ email, machines_allowed: machines });
  const ids: string[] = [];
  const tokens: string[] = [];
  for (let machine = 0; machine < machines; machine += 1) {
    const { json } = await service.activate(license, `${machine}`, { hostname_hint: `Mac ${machine}` });
    ids.push(json.activation.id as string);
    tokens.push(json.token as string);
  }
  return { ...license, ids, tokens, id: ids[0]!, token: tokens[0]! };
}

const mailsOf = async (email: string, subject: RegExp) => {
  await waitForJobs(service, 'mail_%');
  return (await outbox(service)).filter((mail) => mail.to === email && subject.test(mail.subject));
};
const isActive = async (id: string) =>
  (await service.sql('select 1 from activation where id = $1 and ended_at is null', [id])).length === 1;
const requests = (id: string) =>
  service.sql('select reason, asked_at, decided_at from release_request where activation_id = $1', [id]);

describe('POST activations/:id/release-request', () => {
  const ask = (from: Browser, id: string, body: unknown = { reason: 'The old one was sold.' }) =>
    from.call('POST', `/activations/${id}/release-request`, body);

  test.each(['byKey', 'byCode'] as const)(
    'asks support once, and tells the holder by mail: %s',
    async (by) => {
      const license = await activated();
      const holder = new Browser(service);
      await (by === 'byKey' ? holder.byKey(license) : holder.byCode(license.email));
      const { status, text } = await ask(holder, license.id);
      expect([status, text]).toEqual([202, '']);
      expect((await ask(holder, license.id, { reason: 'once more' })).status).toBe(202);
      expect(await requests(license.id)).toEqual([
        { reason: 'The old one was sold.', asked_at: new Date(NOW), decided_at: null },
      ]);
      const [mail, ...more] = await mailsOf(license.email, /^You asked to release a machine/);
      expect([mail!.text.includes('Machine: Mac 0'), more]).toEqual([true, []]);
      expect(await isActive(license.id)).toBe(true);
    },
  );

  test('ten at once are one request and one mail', async () => {
    const license = await activated();
    const holder = await new Browser(service).byKey(license);
    const answers = await Promise.all(Array.from({ length: 10 }, () => ask(holder, license.id)));
    for (const { status } of answers) expect([202, 503]).toContain(status);
    expect(await requests(license.id)).toHaveLength(1);
    expect(await mailsOf(license.email, /^You asked to release/)).toHaveLength(1);
  });

  test.each([
    ['none', {}, null],
    ['null', { reason: null }, null],
    ['nothing but spaces', { reason: ' \n ' }, null],
    ['words, with spaces around', { reason: ' sold \n' }, 'sold'],
    ['500 characters of two units each', { reason: '🖥'.repeat(500) }, '🖥'.repeat(500)],
  ])('takes a reason of %s', async (_what, body, reason) => {
    const license = await activated();
    expect((await ask(await new Browser(service).byKey(license), license.id, body)).status).toBe(202);
    expect(await requests(license.id)).toMatchObject([{ reason }]);
  });

  test.each([
    ['no text', { reason: 7 }],
    ['501 characters', { reason: 'x'.repeat(501) }],
    ['an e-mail address in it', { reason: 'write to ada@example.com' }],
    ['a NUL in it', { reason: 'so\0ld' }],
  ])('422 for a reason that is %s, and support is not asked', async (_what, body) => {
    const license = await activated();
    const { status, json } = await ask(await new Browser(service).byKey(license), license.id, body);
    expect([status, json.errors[0].pointer]).toEqual([422, '/reason']);
    expect(await requests(license.id)).toEqual([]);
  });

  test('a machine that is released already needs no asking: the same answer, no request, no mail', async () => {
    const license = await activated();
    await service.app.get(ReleaseService).release(license.id, ACT);
    expect((await ask(await new Browser(service).byKey(license), license.id)).status).toBe(202);
    expect(await requests(license.id)).toEqual([]);
    expect(await mailsOf(license.email, /^You asked to release/)).toEqual([]);
  });

  test('waits for the lock of the license without a lock of the activation', async () => {
    const license = await activated();
    const holder = await new Browser(service).byCode(license.email);
    const connection = await service.database.connect();
    await connection.query('begin');
    await connection.query('select 1 from license where id = $1 for update', [license.license_id]);
    const asked = ask(holder, license.id);
    const waiting = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    await until(async () => (await service.sql(waiting)).length > 0);
    const sql = `update activation set ended_at = now(), ended_reason = 'released' where id = $1`;
    await connection.query(`set local lock_timeout = '100ms'`);
    const ended = await connection.query(sql, [license.id]).catch((error: Error) => error.message);
    await connection.query('commit');
    connection.release();
    expect(ended).toMatchObject({ rowCount: 1 });
    expect((await asked).status).toBe(202);
    expect(await requests(license.id)).toEqual([]);
  });

  test('the refusals of every route of the portal', async () => {
    const license = await activated();
    const holder = await new Browser(service).byKey(license);
    const path = `/activations/${license.id}/release-request`;
    expect(await commonRefusals(holder, { path, body: {} })).toEqual(COMMON_REFUSALS);
    expect((await ask(new Browser(service), license.id)).json.code).toBe('sign_in_required');
    expect(await requests(license.id)).toEqual([]);
  });
});

describe('POST activations/:id/release', () => {
  const release = (from: Browser, id: string) => from.call('POST', `/activations/${id}/release`);
  const byCode = ({ email }: { email: string }, of = service) => new Browser(of).byCode(email);
  const left = async (from: Browser) =>
    (await from.call('GET', '/licenses')).json.licenses[0].self_releases_left;

  test('ends the binding, frees the seat, and is announced by mail', async () => {
    const license = await activated();
    const holder = await byCode(license);
    service.clock.advance(60_000);
    const { status, json } = await release(holder, license.id);
    expect([status, json]).toEqual([
      200,
      {
        activation: {
          id: license.id,
          hostname_hint: 'Mac 0',
          app_version: '3.2.0',
          activated_at: NOW,
          state: 'released',
          ended_at: '2026-11-20T13:01:00Z',
          ended_reason: 'released',
        },
      },
    ]);
    expect((await service.heartbeat(license.token)).json.code).toBe('binding_released');
    expect((await service.activate(license, 'a new one')).status).toBe(201);
    const [mail, ...more] = await mailsOf(license.email, /^A machine was released/);
    expect([mail!.text.includes('Machine: Mac 0'), more]).toEqual([true, []]);
    // The audit trail records actions of staff only.
    const trail = `select 1 from audit_event where license_id = $1 and action <> 'license.issue'`;
    expect(await service.sql(trail, [license.license_id])).toEqual([]);
  });

  test('ends the release request of its machine too', async () => {
    const license = await activated();
    const holder = await byCode(license);
    await holder.call('POST', `/activations/${license.id}/release-request`, {});
    await release(holder, license.id);
    expect(await requests(license.id)).toEqual([]);
  });

  test('twice is the same answer, counts once, and is announced once', async () => {
    const license = await activated();
    const holder = await byCode(license);
    const first = await release(holder, license.id);
    service.clock.advance(60_000);
    const second = await release(holder, license.id);
    expect([second.status, second.json]).toEqual([200, first.json]);
    expect(await mailsOf(license.email, /^A machine was released/)).toHaveLength(1);
  });

  test('403 once none is left; a self-release stops counting exactly 365 days later', async () => {
    const license = await activated(3);
    let holder = await byCode(license);
    expect(await left(holder)).toBe(1);
    expect((await release(holder, license.ids[0]!)).status).toBe(200);
    expect(await left(holder)).toBe(0);
    service.clock.set(new Date(Date.parse(NOW) + 365 * DAY_MS - 1));
    holder = await byCode(license);
    const { status, json } = await release(holder, license.ids[1]!);
    expect([status, json.code, json.client_action]).toEqual([403, 'release_needs_support', 'fix']);
    expect(await isActive(license.ids[1]!)).toBe(true);
    service.clock.advance(1);
    expect(await left(holder)).toBe(1);
    expect((await release(holder, license.ids[1]!)).status).toBe(200);
    expect((await release(holder, license.ids[2]!)).json.code).toBe('release_needs_support');
  });

  test('two machines at once, and one release left: one of them is released', async () => {
    for (let round = 0; round < 5; round += 1) {
      const license = await activated(6);
      const holder = await byCode(license);
      const answers = await Promise.all(license.ids.map((id) => release(holder, id)));
      const [released] = await service.sql(
        'select count(*)::int as n from activation where license_id = $1 and ended_at is not null',
        [license.license_id],
      );
      expect(released).toEqual({ n: 1 });
      const others = answers.filter(({ status }) => status !== 200);
      for (const { json } of others) expect(['release_needs_support', 'unavailable']).toContain(json.code);
    }
  });

  test("support's releases are not counted, nor those of another license", async () => {
    const license = await activated(2);
    const other = await service.issue({ email: license.email });
    const { id } = (await service.activate(other)).json.activation;
    await service.app.get(ReleaseService).release(license.ids[0]!, ACT);
    const holder = await byCode(license);
    expect((await release(holder, id)).status).toBe(200);
    expect((await release(holder, license.ids[1]!)).status).toBe(200);
  });

  test('403 where SELF_RELEASES_PER_YEAR is not set: there is none', async () => {
    const license = await activated();
    const holder = await byCode(license, withoutSelfReleases);
    expect(await left(holder)).toBe(0);
    expect((await release(holder, license.id)).json.code).toBe('release_needs_support');
    expect(await isActive(license.id)).toBe(true);
  });

  test('403 for a holder who signed in by key, also for the binding of another license', async () => {
    const license = await activated();
    const holder = await new Browser(service).byKey(license);
    for (const id of [license.id, randomUUID()]) {
      const { status, json } = await release(holder, id);
      expect([status, json.code]).toEqual([403, 'mailbox_proof_needed']);
    }
    expect(await isActive(license.id)).toBe(true);
  });

  test('a license that got another address meanwhile cannot be released by the holder of the old one', async () => {
    const license = await activated();
    const holder = await byCode(license);
    await service.setLicense(license.license_id, { email: 'elsewhere@example.com' });
    expect((await release(holder, license.id)).json.code).toBe('not_found');
    expect(await isActive(license.id)).toBe(true);
  });

  test('the refusals of every route of the portal', async () => {
    const license = await activated();
    const path = `/activations/${license.id}/release`;
    expect(await commonRefusals(await byCode(license), { path })).toEqual(COMMON_REFUSALS);
    expect((await release(new Browser(service), license.id)).json.code).toBe('sign_in_required');
    expect(await isActive(license.id)).toBe(true);
  });
});

test.each(['release', 'release-request'])(
  "another holder's binding answers as one that does not exist: %s",
  async (what) => {
    const license = await activated();
    const own = await activated();
    const untrusted = await new Browser(service).byCode(own.email);
    const ask = (id: string) => untrusted.call('POST', `/activations/${id}/${what}`, {});
    const [foreign, ...unknown] = await Promise.all(
      [license.id, randomUUID(), own.license_id, 'x', '%00', `${own.id}0`].map(ask),
    );
    expect(foreign!.json).toMatchObject({ status: 404, code: 'not_found' });
    for (const answer of unknown) expect(withoutIds(answer)).toEqual(withoutIds(foreign!));
    expect([await isActive(license.id), await requests(license.id)]).toEqual([true, []]);
  },
);

test('the tests above had every documented answer of these routes', () => {
  expect(unseen(/ \/portal\/api\/activations/)).toEqual([]);
});
