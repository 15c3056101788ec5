import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { ErasureService } from '../../src/erasure/erasure.service.js';
import { ReleaseService } from '../../src/releases/release.service.js';
import { StaffService } from '../../src/staff/staff.service.js';
import { AUDIT_CONTEXT, NOW, Service } from '../support/harness.js';
import { expectFailures } from '../support/tables.js';
import { signInStaff } from './harness.js';

/** The largest number of entries in a response. */
const PAGE_SIZE = 50;

interface Event {
  readonly id: string;
  readonly actor: string;
  readonly action: string;
  readonly at: string;
}

const service = await Service.start();
const support = await signInStaff(service, 'support');
beforeEach(() => service.clock.set(NOW));

/** Inserts entries of an actor, one a minute from a time on. Their ids are UUIDv7, as docs/openapi.yaml requires. */
const insertEvents = (actor: string, action: string, from: string, count: number) =>
  service.sql(
    `insert into audit_event (id, actor, action, change, at)
     select overlay(gen_random_uuid()::text placing '7' from 15)::uuid, $1, $2, '{}', $3::timestamptz + n * interval '1 minute' from generate_series(0, $4::int - 1) n`,
    [actor, action, from, count],
  );

async function actorId(actor: string): Promise<string> {
  const { actors } = (await support.get('audit/filters')).json;
  return actors.find((each: { actor: string }) => each.actor === actor).id;
}

async function read(parameters: Record<string, string>): Promise<Event[]> {
  return (await support.get(`audit?${new URLSearchParams(parameters)}`)).json.events;
}

describe('the filters', () => {
  test('are the actors and actions that have entries, each once, and an id has no part of an address', async () => {
    await insertEvents('zoe@vendor.example', 'license.set', NOW, 3);
    await insertEvents('bo@vendor.example', 'license.set', NOW, 3);
    const { status, json } = await support.get('audit/filters');
    expect(status).toBe(200);
    const actors = json.actors.map(({ actor }: { actor: string }) => actor);
    expect(actors).toEqual([...new Set(actors)].toSorted());
    expect(actors).toEqual(expect.arrayContaining(['bo@vendor.example', 'test', 'zoe@vendor.example']));
    expect(json.actions).toEqual([...new Set(json.actions)].toSorted());
    expect(json.actions).toEqual(expect.arrayContaining(['license.set', 'staff.add', 'staff.link']));
    expect(await actorId('bo@vendor.example')).toMatch(/^[\w-]{16}$/);
    expect(await actorId('bo@vendor.example')).not.toBe(await actorId('zoe@vendor.example'));
  });

  test('need a sign-in, and answer 500 without the table and 503 while it is locked', async () => {
    expect((await service.call('GET', '/support/api/audit/filters')).status).toBe(401);
    const get = () => support.get('audit/filters');
    await expectFailures(service, 'audit_event', get);
  });
});

describe('the audit trail', () => {
  test('is filtered by actor, by action and by both', async () => {
    await insertEvents('cy@vendor.example', 'license.set', '2026-10-01T00:00:00Z', 2);
    await insertEvents('cy@vendor.example', 'staff.role', '2026-10-01T00:00:00Z', 1);
    await insertEvents('di@vendor.example', 'staff.role', '2026-10-01T00:00:00Z', 4);
    const actor_id = await actorId('cy@vendor.example');
    const found = await read({ actor_id });
    expect(found.map(({ actor }) => actor)).toEqual(Array(3).fill('cy@vendor.example'));
    expect((await read({ action: 'staff.role' })).map(({ action }) => action)).toEqual(
      Array(5).fill('staff.role'),
    );
    expect(await read({ actor_id, action: 'staff.role' })).toEqual(
      found.filter(({ action }) => action === 'staff.role'),
    );
  });

  test('is filtered by time: entries at `from` are included, and entries at `to` are not', async () => {
    await insertEvents('ed@vendor.example', 'license.set', '2026-09-01T00:00:00Z', 5);
    const actor_id = await actorId('ed@vendor.example');
    const readTimes = async (range: Record<string, string>) =>
      (await read({ actor_id, ...range })).map(({ at }) => at.slice(11, 16));
    expect(await readTimes({ from: '2026-09-01T00:01:00Z', to: '2026-09-01T00:03:00Z' })).toEqual([
      '00:02',
      '00:01',
    ]);
    expect(await readTimes({ from: '2026-09-01T02:03:00+02:00' })).toEqual(['00:04', '00:03']);
    expect(await readTimes({ to: '2026-09-01' })).toEqual([]);
    expect(await readTimes({ from: '2026-09-01', to: '2026-09-02' })).toHaveLength(5);
  });

  test('has pages that together have each entry once, also of entries with the same time', async () => {
    const count = 2 * PAGE_SIZE + 7;
    await service.sql(
      `insert into audit_event (id, actor, action, change, at)
       select overlay(gen_random_uuid()::text placing '7' from 15)::uuid, 'flo@vendor.example', 'license.set', '{}', timestamptz '2026-08-01T00:00:00.123456Z' + (n / 40) * interval '1 microsecond'
       from generate_series(1, $1::int) n`,
      [count],
    );
    const actor_id = await actorId('flo@vendor.example');
    const sizes: number[] = [];
    const ids: string[] = [];
    for (let cursor = ''; ;) {
      const parameters = new URLSearchParams({ actor_id, ...(cursor && { cursor }) });
      const { events, next_cursor } = (await support.get(`audit?${parameters}`)).json;
      sizes.push(events.length);
      ids.push(...events.map(({ id }: Event) => id));
      if (next_cursor === null) break;
      cursor = next_cursor;
    }
    expect(sizes).toEqual([PAGE_SIZE, PAGE_SIZE, 7]);
    const stored = await service.sql<{ id: string }>(
      "select id from audit_event where actor = 'flo@vendor.example' order by at desc, id desc",
    );
    expect(ids).toEqual(stored.map(({ id }) => id));
  });

  test('has no next page after a page that is exactly full', async () => {
    await insertEvents('gus@vendor.example', 'license.set', NOW, PAGE_SIZE);
    const actor_id = await actorId('gus@vendor.example');
    const { events, next_cursor } = (await support.get(`audit?actor_id=${actor_id}`)).json;
    expect([events.length, next_cursor]).toEqual([PAGE_SIZE, null]);
  });

  test('has no entries for an unknown actor, action or cursor', async () => {
    for (const query of [`actor_id=${'x'.repeat(16)}`, 'action=license.none', `cursor=${randomUUID()}`])
      expect((await support.get(`audit?${query}`)).json).toEqual({ events: [], next_cursor: null });
  });

  test.each([
    ['actor_id', ''],
    ['actor_id', 'ada@vendor.example'],
    ['actor_id', `${'x'.repeat(16)}&actor_id=x`],
    ['action', ''],
    ['action', "license.set'"],
    ['action', 'x'.repeat(65)],
    ['from', 'yesterday'],
    ['from', '2026-02-31'],
    ['to', ''],
    ['to', '%00'],
    ['cursor', '1'],
  ])('and its export are answered with 422 for the %s "%s"', async (name, value) => {
    for (const path of ['audit', 'audit/export']) {
      const { status, json } = await support.get(`${path}?${name}=${value}`);
      expect([status, json.errors[0].pointer]).toEqual([422, `/${name}`]);
    }
  });

  test.each(['licence_id', 'Action', 'email', '__proto__'])(
    'and its export refuse the unknown parameter %s, without which they would list everything',
    async (name) => {
      for (const path of ['audit', 'audit/export']) {
        const { status, json } = await support.get(`${path}?action=license.set&${name}=x`);
        const detail = 'may only have the parameters license_id, actor_id, action, from, to';
        expect([status, json.errors]).toEqual([
          422,
          [{ pointer: '', detail: expect.stringContaining(detail) }],
        ]);
      }
    },
  );

  test('shows the label of a machine as long as the activation has it', async () => {
    const license = await service.issue({ email: 'labelled@example.com' });
    const { activation } = (await service.activate(license, 'one', { hostname_hint: 'Studio Mac' })).json;
    await service.app.get(ReleaseService).release(activation.id, AUDIT_CONTEXT);
    const [released] = await read({ license_id: license.license_id, action: 'activation.release' });
    expect(released).toMatchObject({ hostname_hint: 'Studio Mac', change: { activation_id: activation.id } });
    const erasures = service.app.get(ErasureService);
    await erasures.run((await erasures.request('labelled@example.com', AUDIT_CONTEXT)).id, AUDIT_CONTEXT);
    const [afterErasure] = await read({ license_id: license.license_id, action: 'activation.release' });
    expect(afterErasure).toMatchObject({ hostname_hint: null });
  });

  test('shows the address of a person whom an action changed as long as the person is staff', async () => {
    const staff = service.app.get(StaffService);
    // Another admin, because the last admin cannot be removed.
    await staff.add('root@vendor.example', 'admin', AUDIT_CONTEXT);
    const { staff_id } = await staff.add('hal@vendor.example', 'support', AUDIT_CONTEXT);
    await staff.setRole(staff_id, 'admin', AUDIT_CONTEXT);
    const role = async () => (await read({ action: 'staff.role' }))[0];
    const change = { staff_id, role: 'admin', before: { role: 'support' } };
    expect(await role()).toMatchObject({ staff_email: 'hal@vendor.example', change });
    await staff.setRole(staff_id, 'support', AUDIT_CONTEXT);
    await staff.remove(staff_id, AUDIT_CONTEXT);
    expect(await role()).toMatchObject({ staff_email: null });
  });
});
