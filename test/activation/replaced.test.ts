import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, jest, test } from '@jest/globals';
import type pg from 'pg';
import { ReleaseService } from '../../src/releases/release.service.js';
import { DeadlineClient } from '../../src/database/deadline-client.js';
import { LicensesService } from '../../src/licenses/licenses.service.js';
import { ErasureService } from '../../src/erasure/erasure.service.js';
import { RetentionService } from '../../src/retention/retention.service.js';
import { answered, Service, type Answer } from '../support/harness.js';
import { ORIGIN } from '../support/http/cookie-client.js';

const ACT = { actor: 'test', reason: 'a test' };
/** A key whose check symbol fits, of a license that is not here. */
const UNKNOWN_KEY = 'MOOR_E6S7-Z8KJ-TB3R-QKX6';

let service: Service;
beforeAll(async () => void (service = await Service.start()));
afterEach(() => service.clock.set('2026-11-20T13:00:00Z'));
afterAll(() => service.close());

interface License {
  readonly license_id: string;
  readonly license_key: string;
  readonly email: string;
}

/** A license with one active machine, and that machine's answer. */
async function activated(machine = 'studio'): Promise<{ license: License; first: Answer }> {
  const license = await service.issue({ email: `${randomUUID()}@example.com`, machines_allowed: 3 });
  const first = await service.activate(license, machine, { hostname_hint: 'Studio Mac' });
  expect(first.status).toBe(201);
  service.clock.advance(60_000);
  return { license, first };
}

const rekey = (id: string) => service.app.get(LicensesService).rekey(id, ACT);
const changeAddress = (id: string) => service.setLicense(id, { email: `${randomUUID()}@example.com` });
const release = ({ json }: Answer) => service.app.get(ReleaseService).release(json.activation.id, ACT);

/** Every activation of a license, as the database has it. */
const bindings = (id: string) =>
  service.sql('select * from activation where license_id = $1 order by id', [id]);

/** What the license became after its machine had activated. */
const CHANGES: [what: string, change: (id: string) => Promise<unknown>][] = [
  ['the key was replaced', rekey],
  ['the key was replaced twice', async (id) => (await rekey(id), rekey(id))],
  ['the address changed', changeAddress],
  ['the address changed twice', async (id) => (await changeAddress(id), changeAddress(id))],
  ['the key was replaced and the address changed', async (id) => (await rekey(id), changeAddress(id))],
];

describe.each(CHANGES)(
  'after %s, a machine that is active activates again with what it has stored',
  (_what, change) => {
    test('on the binding it has, and nothing is written', async () => {
      const { license, first } = await activated();
      await change(license.license_id);
      const before = await bindings(license.license_id);
      const again = await service.activate(license, 'studio', { hostname_hint: 'Another label' });
      expect([again.status, again.json.code]).toEqual([200, undefined]);
      expect(again.json.activation).toEqual(first.json.activation);
      expect(again.json.license).toEqual(first.json.license);
      expect((await service.heartbeat(again.json.token)).status).toBe(200);
      expect(await bindings(license.license_id)).toEqual(before);
    });

    test('but no other machine does, nor this one once it is released', async () => {
      const { license, first } = await activated();
      await change(license.license_id);
      const before = await bindings(license.license_id);
      expectUnknown(await service.activate(license, 'laptop'));
      expect(await bindings(license.license_id)).toEqual(before);
      await release(first);
      const after = await bindings(license.license_id);
      expectUnknown(await service.activate(license, 'studio'));
      expect(await bindings(license.license_id)).toEqual(after);
    });

    test('nor with the key of another license, nor with an unknown one', async () => {
      const { license } = await activated();
      const other = await activated('another machine');
      await change(license.license_id);
      await change(other.license.license_id);
      expectUnknown(await service.activate(other.license, 'studio'));
      expectUnknown(await service.activate({ ...license, license_key: UNKNOWN_KEY }, 'studio'));
    });

    test('and refusals keep their order', async () => {
      const { license } = await activated();
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

    test('and an erasure ends it', async () => {
      const { license } = await activated();
      await change(license.license_id);
      const [now] = await service.sql<{ email: string }>('select email from license where id = $1', [
        license.license_id,
      ]);
      const erasures = service.app.get(ErasureService);
      await erasures.run((await erasures.request(now!.email, ACT)).id, ACT);
      expectUnknown(await service.activate(license, 'studio'));
    });
  },
);

describe('what was replaced proves nothing more:', () => {
  test('an old key opens no seat for a machine that activated after it was replaced', async () => {
    const { license } = await activated();
    const { license_key } = await rekey(license.license_id);
    service.clock.advance(1);
    expect((await service.activate({ ...license, license_key }, 'laptop')).status).toBe(201);
    expectUnknown(await service.activate(license, 'laptop'));
  });

  test('nor does a former address for one that activated after the change', async () => {
    const { license } = await activated();
    await changeAddress(license.license_id);
    const [{ email }] = (await service.sql('select email from license where id = $1', [
      license.license_id,
    ])) as [{ email: string }];
    service.clock.advance(1);
    expect((await service.activate({ ...license, email }, 'laptop')).status).toBe(201);
    expectUnknown(await service.activate(license, 'laptop'));
  });

  test('a wrong e-mail is refused while the address was never changed, to an active machine too', async () => {
    const { license } = await activated();
    await rekey(license.license_id);
    for (const license_key of [license.license_key, await keyOf(license.license_id)]) {
      expectUnknown(await service.activate({ license_key, email: 'eve@example.com' }, 'studio'));
    }
  });

  test('an old key does not sign in to the portal, and finds nothing for support', async () => {
    const { license } = await activated();
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

  test('a typing error is still named as one', async () => {
    const { license } = await activated();
    await rekey(license.license_id);
    const last = license.license_key.at(-1) === '2' ? '3' : '2';
    const { status } = await service.activate(
      { ...license, license_key: license.license_key.slice(0, -1) + last },
      'studio',
    );
    expect(status).toBe(422);
  });

  test('unknown key, wrong e-mail and replaced key are one answer to the byte, from the same statements', async () => {
    const { license } = await activated();
    await rekey(license.license_id);
    const license_key = await keyOf(license.license_id);
    const asked = [
      { ...license, license_key: UNKNOWN_KEY },
      { license_key, email: 'eve@example.com' },
      { license_key: UNKNOWN_KEY, email: 'eve@example.com' },
      license,
    ];
    const answers = [];
    for (const each of asked) {
      const counted = await statementsOf(() => service.activate(each, 'laptop'));
      answers.push({ ...withoutIds(counted.answer), statements: counted.statements });
    }
    expect(answers[0]!.statements).toEqual(['find activation', 'find activation by machine']);
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
  });
});

test('an activation with the key and the address there are asks no more than before', async () => {
  const { license } = await activated();
  const again = await statementsOf(() => service.activate(license, 'studio'));
  expect([again.answer.status, again.statements]).toEqual([200, ['find activation']]);
  const fresh = await statementsOf(() => service.activate(license, 'laptop'));
  expect([fresh.answer.status, fresh.statements]).toEqual([201, ['find activation', 'activate machine']]);
});

test('an imported key, which cannot be derived, is recognised after it was replaced', async () => {
  const license = await service.issue();
  const license_key = 'ACME_0101-0101-0101-0101';
  const change = 'update license set key_hash = sha256($1) where id = $2';
  await service.sql(change, [Buffer.from(license_key), license.license_id]);
  const imported = { ...license, license_key };
  expect((await service.activate(imported, 'studio')).status).toBe(201);
  await rekey(license.license_id);
  expect((await service.activate(imported, 'studio')).status).toBe(200);
  expect((await service.activate(imported, 'laptop')).status).toBe(422);
});

test('a clock that is behind where the key is replaced or the address changed locks no machine out', async () => {
  const { license } = await activated();
  service.clock.advance(-5 * 3_600_000);
  await rekey(license.license_id);
  await changeAddress(license.license_id);
  expect((await service.activate(license, 'studio')).status).toBe(200);
});

test('a release at the same moment never becomes a new seat', async () => {
  for (let round = 0; round < 20; round += 1) {
    const { license, first } = await activated();
    await rekey(license.license_id);
    const answers = await Promise.all([
      answered(() => service.activate(license, 'studio')),
      release(first).then(() => answered(() => service.activate(license, 'studio'))),
      answered(() => service.activate(license, 'studio')),
    ]);
    for (const { status } of answers) expect([200, 404]).toContain(status);
    expectUnknown(answers[1]!);
    const rows = await bindings(license.license_id);
    expect(rows).toMatchObject([{ id: first.json.activation.id, ended_reason: 'released' }]);
  }
});

test('replaced keys leave with their license', async () => {
  const { license, first } = await activated();
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

/** An answer, and the statements about machines that were asked for it: jobs ask others meanwhile. */
async function statementsOf(work: () => Promise<Answer>): Promise<{ answer: Answer; statements: string[] }> {
  const query = jest.spyOn(DeadlineClient.prototype as pg.Client, 'query');
  try {
    const answer = await work();
    const asked = query.mock.calls as unknown as [{ name?: string; text: string } | string][];
    const statements = asked.map(([first]) =>
      typeof first === 'string' ? { name: undefined, text: first } : first,
    );
    const about = statements.filter(({ text }) =>
      /\b(machine_id|replaced_key|activate_machine)\b/.test(text),
    );
    return { answer, statements: about.map(({ name, text }) => name ?? text) };
  } finally {
    query.mockRestore();
  }
}

function withoutIds({ text, json, headers }: Answer) {
  const { date: _, ...lasting } = headers;
  return { headers: lasting, text: text.replace(json.request_id as string, '') };
}

function expectUnknown({ status, json }: Answer): void {
  expect([status, json.code, json.client_action]).toEqual([404, 'license_not_found', 'stop']);
}
