import { randomUUID } from 'node:crypto';
import { afterEach, describe, expect, jest, test } from '@jest/globals';
import type pg from 'pg';
import { ReleaseService } from '../../src/releases/release.service.js';
import { DeadlineClient } from '../../src/database/deadline-client.js';
import { LicensesService } from '../../src/licenses/licenses.service.js';
import { RetentionService } from '../../src/retention/retention.service.js';
import { erase } from '../erasure/harness.js';
import { withoutIdAndDate } from '../license-portal/harness.js';
import { type Answer, AUDIT_CONTEXT, retryWhileUnavailable, Service } from '../support/harness.js';
import { ORIGIN } from '../support/http/cookie-client.js';

/** A key that no license has. Its check symbol is correct. */
const UNKNOWN_KEY = 'MOOR_E6S7-Z8KJ-TB3R-QKX6';

const service = await Service.start();
afterEach(() => service.clock.set('2026-11-20T13:00:00Z'));

interface License {
  readonly license_id: string;
  readonly license_key: string;
  readonly email: string;
}

/** A license with one machine, which activated a minute ago, and the response to its activation. */
async function activatedLicense(machine = 'studio'): Promise<{ license: License; first: Answer }> {
  const license = await service.issue({ email: `${randomUUID()}@example.com`, machines_allowed: 3 });
  const first = await service.activate(license, machine, { hostname_hint: 'Studio Mac' });
  expect(first.status).toBe(201);
  service.clock.advance(60_000);
  return { license, first };
}

const rekey = (id: string) => service.app.get(LicensesService).rekey(id, AUDIT_CONTEXT);
const changeAddress = (id: string) => service.setLicense(id, { email: `${randomUUID()}@example.com` });
const release = ({ json }: Answer) =>
  service.app.get(ReleaseService).release(json.activation.id, AUDIT_CONTEXT);

/** The rows of all activations of a license. */
const activationRows = (id: string) =>
  service.sql('select * from activation where license_id = $1 order by id', [id]);

/** Changes of a license after its machine activated. */
const CHANGES: [what: string, change: (id: string) => Promise<unknown>][] = [
  ['the key was replaced', rekey],
  ['the key was replaced twice', async (id) => (await rekey(id), rekey(id))],
  ['the address changed', changeAddress],
  ['the address changed twice', async (id) => (await changeAddress(id), changeAddress(id))],
  ['the key was replaced and the address changed', async (id) => (await rekey(id), changeAddress(id))],
];

describe.each(CHANGES)(
  'if %s, an active machine can activate again with its stored key and e-mail',
  (_what, change) => {
    test('it keeps its activation, and no activation of the license changes', async () => {
      const { license, first } = await activatedLicense();
      await change(license.license_id);
      const before = await activationRows(license.license_id);
      const again = await service.activate(license, 'studio', { hostname_hint: 'Another label' });
      expect([again.status, again.json.code]).toEqual([200, undefined]);
      expect(again.json.activation).toEqual(first.json.activation);
      expect(again.json.license).toEqual(first.json.license);
      expect((await service.heartbeat(again.json.token)).status).toBe(200);
      expect(await activationRows(license.license_id)).toEqual(before);
    });

    test('another machine cannot, and this one cannot after its release', async () => {
      const { license, first } = await activatedLicense();
      await change(license.license_id);
      const before = await activationRows(license.license_id);
      expectUnknown(await service.activate(license, 'laptop'));
      expect(await activationRows(license.license_id)).toEqual(before);
      await release(first);
      const after = await activationRows(license.license_id);
      expectUnknown(await service.activate(license, 'studio'));
      expect(await activationRows(license.license_id)).toEqual(after);
    });

    test('it cannot with the key of another license or an unknown key', async () => {
      const { license } = await activatedLicense();
      const other = await activatedLicense('another machine');
      await change(license.license_id);
      await change(other.license.license_id);
      expectUnknown(await service.activate(other.license, 'studio'));
      expectUnknown(await service.activate({ ...license, license_key: UNKNOWN_KEY }, 'studio'));
    });

    test('it gets the refusals in the usual order', async () => {
      const { license } = await activatedLicense();
      const { license_id: id } = license;
      await change(id);
      const expires_at = new Date('2026-11-20T00:00:00Z');
      await service.setLicense(id, { staff_status: 'revoked', expires_at, on_expiry: 'stop' });
      const code = async () => (await service.activate(license, 'studio')).json.code as unknown;
      expect(await code()).toBe('license_revoked');
      await service.setLicense(id, { staff_status: 'suspended' });
      expect(await code()).toBe('license_suspended');
      await service.setLicense(id, { staff_status: 'active' });
      expect(await code()).toBe('license_expired');
      await service.setLicense(id, { on_expiry: 'keep' });
      expect(await code()).toBeUndefined();
    });

    test('it cannot after an erasure', async () => {
      const { license } = await activatedLicense();
      await change(license.license_id);
      const [current] = await service.sql<{ email: string }>('select email from license where id = $1', [
        license.license_id,
      ]);
      await erase(service, current!.email);
      expectUnknown(await service.activate(license, 'studio'));
    });
  },
);

describe('a replaced key or address is accepted in no other case:', () => {
  test('a replaced key is refused for a machine that activated after the key was replaced', async () => {
    const { license } = await activatedLicense();
    const { license_key } = await rekey(license.license_id);
    service.clock.advance(1);
    expect((await service.activate({ ...license, license_key }, 'laptop')).status).toBe(201);
    expectUnknown(await service.activate(license, 'laptop'));
  });

  test('an earlier address is refused for a machine that activated after the address changed', async () => {
    const { license } = await activatedLicense();
    await changeAddress(license.license_id);
    const [{ email }] = (await service.sql('select email from license where id = $1', [
      license.license_id,
    ])) as [{ email: string }];
    service.clock.advance(1);
    expect((await service.activate({ ...license, email }, 'laptop')).status).toBe(201);
    expectUnknown(await service.activate(license, 'laptop'));
  });

  test('a wrong e-mail is refused for an active machine if the address never changed', async () => {
    const { license } = await activatedLicense();
    await rekey(license.license_id);
    for (const license_key of [license.license_key, await keyOf(license.license_id)]) {
      expectUnknown(await service.activate({ license_key, email: 'eve@example.com' }, 'studio'));
    }
  });

  test('a replaced key cannot sign in to the portal, and a search by staff does not find it', async () => {
    const { license } = await activatedLicense();
    await rekey(license.license_id);
    const { license_key, email } = license;
    const portal = await service.call(
      'POST',
      '/portal/api/session',
      { license_key, email },
      { origin: ORIGIN },
    );
    expect([portal.status, portal.json.code, portal.cookies]).toEqual([404, 'license_not_found', []]);
    const authorization = `Bearer ${await service.staffToken()}`;
    const found = await service.call(
      'POST',
      '/support/api/licenses/search',
      { license_key },
      { authorization },
    );
    expect([found.status, found.json]).toEqual([200, { licenses: [] }]);
  });

  test('a mistyped key still gets 422', async () => {
    const { license } = await activatedLicense();
    await rekey(license.license_id);
    const last = license.license_key.at(-1) === '2' ? '3' : '2';
    const { status } = await service.activate(
      { ...license, license_key: license.license_key.slice(0, -1) + last },
      'studio',
    );
    expect(status).toBe(422);
  });

  test('an unknown key, a wrong e-mail and a replaced key get the same response, with the same SQL statements', async () => {
    const { license } = await activatedLicense();
    await rekey(license.license_id);
    const license_key = await keyOf(license.license_id);
    const attempts = [
      { ...license, license_key: UNKNOWN_KEY },
      { license_key, email: 'eve@example.com' },
      { license_key: UNKNOWN_KEY, email: 'eve@example.com' },
      license,
    ];
    const answers = [];
    for (const attempt of attempts) {
      const counted = await statementsOf(() => service.activate(attempt, 'laptop'));
      expectUnknown(counted.answer);
      answers.push([withoutIdAndDate(counted.answer), counted.statements]);
    }
    expect(answers[0]![1]).toEqual(['find activation', 'find activation by machine']);
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
  });
});

test('an activation with the current key and address needs no additional SQL statement', async () => {
  const { license } = await activatedLicense();
  const again = await statementsOf(() => service.activate(license, 'studio'));
  expect([again.answer.status, again.statements]).toEqual([200, ['find activation']]);
  const fresh = await statementsOf(() => service.activate(license, 'laptop'));
  expect([fresh.answer.status, fresh.statements]).toEqual([201, ['find activation', 'activate machine']]);
});

test('an imported key, which cannot be derived, is accepted from an active machine after it was replaced', async () => {
  const license = await service.issue();
  const license_key = 'ACME_0101-0101-0101-0101';
  const change = 'update license set key_hash = sha256($1) where id = $2';
  await service.sql(change, [Buffer.from(license_key), license.license_id]);
  const imported = { ...license, license_key };
  expect((await service.activate(imported, 'studio')).status).toBe(201);
  await rekey(license.license_id);
  expect((await service.activate(imported, 'studio')).status).toBe(200);
  // No license has this key now, and its check symbol is wrong, so it is reported as mistyped.
  expect((await service.activate(imported, 'laptop')).status).toBe(422);
});

test('an active machine can activate again also if the clock was behind when the key or address changed', async () => {
  const { license } = await activatedLicense();
  service.clock.advance(-5 * 3_600_000);
  await rekey(license.license_id);
  await changeAddress(license.license_id);
  expect((await service.activate(license, 'studio')).status).toBe(200);
});

test('a concurrent release never leads to a new activation', async () => {
  for (let round = 0; round < 20; round += 1) {
    const { license, first } = await activatedLicense();
    await rekey(license.license_id);
    const answers = await Promise.all([
      retryWhileUnavailable(() => service.activate(license, 'studio')),
      release(first).then(() => retryWhileUnavailable(() => service.activate(license, 'studio'))),
      retryWhileUnavailable(() => service.activate(license, 'studio')),
    ]);
    for (const { status } of answers) expect([200, 404]).toContain(status);
    expectUnknown(answers[1]!);
    const rows = await activationRows(license.license_id);
    expect(rows).toMatchObject([{ id: first.json.activation.id, ended_reason: 'released' }]);
  }
});

test('replaced keys are deleted with their license', async () => {
  const { license, first } = await activatedLicense();
  const { license_id: id } = license;
  await rekey(id);
  const recorded = () => service.sql('select 1 from replaced_key where license_id = $1', [id]);
  expect(await recorded()).toHaveLength(1);
  await release(first);
  await service.setLicense(id, { staff_status: 'revoked' });
  service.clock.set('2027-11-30T00:00:00Z');
  await service.app.get(RetentionService).run();
  expect(await service.sql('select 1 from license where id = $1', [id])).toEqual([]);
  expect(await recorded()).toEqual([]);
});

const keyOf = async (id: string) => (await service.app.get(LicensesService).currentKey(id))!;

/**
 * Sends a request. @returns its response and its SQL statements on activations; other statements are left out,
 * because jobs may have sent them
 */
async function statementsOf(work: () => Promise<Answer>): Promise<{ answer: Answer; statements: string[] }> {
  const query = jest.spyOn(DeadlineClient.prototype as pg.Client, 'query');
  try {
    const answer = await work();
    const calls = query.mock.calls as unknown as [{ name?: string; text: string } | string][];
    const statements = calls.map(([first]) =>
      typeof first === 'string' ? { name: undefined, text: first } : first,
    );
    const ofActivations = statements.filter(({ text }) =>
      /\b(machine_id|replaced_key|activate_machine)\b/.test(text),
    );
    return { answer, statements: ofActivations.map(({ name, text }) => name ?? text) };
  } finally {
    query.mockRestore();
  }
}

function expectUnknown({ status, json }: Answer): void {
  expect([status, json.code, json.client_action]).toEqual([404, 'license_not_found', 'stop']);
}
