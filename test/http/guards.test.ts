import 'reflect-metadata';
import { describe, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { RequestMethod } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { DataSource } from 'typeorm';
import { Sessions, type SessionOwner } from '../../src/http/sessions/sessions.js';
import { StaffService } from '../../src/staff/staff.service.js';
import type { Role } from '../../src/staff/identity/role.js';
import { AUDIT_CONTEXT, Service } from '../support/harness.js';

/**
 * Who may call a route. `anyone`: a page of the service, without a session. `holder`: a session of a holder. `mailbox`: a
 * session of a holder that a mailed code began. `staff`: a staff session or token. `staff session`: no token. `admin`: the
 * role admin only, with a session or token. `admin session`: the role admin only, and no token.
 */
type Audience = 'anyone' | 'holder' | 'mailbox' | 'staff' | 'staff session' | 'admin' | 'admin session';

/** Every route of the pages, and who may call it. A test compares the list with the routes of the application. */
const ROUTES: Readonly<Record<string, Audience>> = {
  'GET /portal/api/session': 'anyone',
  'GET /portal/api/licenses': 'holder',
  'POST /portal/api/session': 'anyone',
  'POST /portal/api/session/code': 'anyone',
  'DELETE /portal/api/session': 'holder',
  'POST /portal/api/licenses/:id/send-key': 'holder',
  'POST /portal/api/activations/:id/release-request': 'holder',
  'POST /portal/api/activations/:id/release': 'mailbox',
  'GET /portal/api/export': 'mailbox',
  'POST /portal/api/erasure': 'mailbox',
  'DELETE /portal/api/erasure': 'mailbox',
  'POST /support/api/session': 'anyone',
  'POST /support/api/session/link': 'anyone',
  'POST /support/api/session/options': 'anyone',
  'GET /support/api/session': 'anyone',
  'DELETE /support/api/session': 'staff session',
  'GET /support/api/passkeys': 'staff session',
  'POST /support/api/passkeys': 'staff session',
  'POST /support/api/passkeys/options': 'staff session',
  'PATCH /support/api/passkeys/:id': 'staff session',
  'DELETE /support/api/passkeys/:id': 'staff session',
  'POST /support/api/licenses/search': 'staff',
  'POST /support/api/licenses': 'admin',
  'GET /support/api/licenses/:id': 'staff',
  'PATCH /support/api/licenses/:id': 'admin',
  'GET /support/api/licenses/:id/holder': 'staff',
  'POST /support/api/licenses/:id/send-key': 'staff',
  'POST /support/api/licenses/:id/rekey': 'admin',
  'POST /support/api/activations/:id/release': 'staff',
  'GET /support/api/release-requests': 'staff',
  'GET /support/api/release-requests/mails': 'staff',
  'POST /support/api/release-requests/:id': 'staff',
  'GET /support/api/erasures': 'staff',
  'POST /support/api/erasures': 'admin',
  'POST /support/api/erasures/:id/run': 'admin',
  'GET /support/api/fleet': 'staff',
  'GET /support/api/fleet/crash-groups': 'staff',
  'PATCH /support/api/fleet/crash-groups/:crash_sig': 'staff',
  'GET /support/api/audit': 'staff',
  'GET /support/api/audit/filters': 'staff',
  'GET /support/api/audit/export': 'staff',
  'GET /support/api/manifests': 'staff',
  'POST /support/api/manifests': 'admin',
  'GET /support/api/retention': 'staff',
  'GET /support/api/service': 'staff',
  'GET /support/api/staff': 'admin',
  'POST /support/api/staff': 'admin session',
  'PATCH /support/api/staff/:id': 'admin session',
  'POST /support/api/staff/:id/remove': 'admin',
  'POST /support/api/staff/:id/link': 'admin session',
  'GET /support/api/tokens': 'admin',
  'POST /support/api/tokens/:id/revoke': 'admin',
};

interface Route {
  readonly name: string;
  readonly who: Audience;
  readonly method: string;
  readonly path: string;
}

const routes: Route[] = Object.entries(ROUTES).map(([name, who]) => {
  const [method, path] = name.split(' ') as [string, string];
  return { name, who, method, path };
});
const guarded = routes.filter(({ who }) => who !== 'anyone');
const ofHolders = guarded.filter(({ path }) => path.startsWith('/portal/'));
const ofStaff = guarded.filter(({ path }) => path.startsWith('/support/'));
const writes = routes.filter(({ method }) => method !== 'GET');

const OWN_ORIGIN = 'http://localhost:3000';
const ADA = 'ada@example.com';

const service = await Service.start({ environment: { SELF_RELEASES_PER_YEAR: '9' } });

interface Sent {
  readonly cookies?: Record<string, string>;
  readonly origin?: string;
  readonly authorization?: string;
  readonly id?: string;
}

/** Calls a route as a page of the service would. @returns the code of the problem; `none` if the response is no problem */
async function refusal(route: Route, sent: Sent = {}): Promise<string> {
  const { json } = await answer(route, sent);
  return (json?.code as string | undefined) ?? 'none';
}

function answer({ method, path }: Pick<Route, 'method' | 'path'>, sent: Sent) {
  const { cookies = {}, origin = OWN_ORIGIN, authorization, id = randomUUID() } = sent;
  const cookie = Object.entries(cookies).map(([name, value]) => `mooring_${name}=${value}`);
  // An empty object is a well-formed body. Its missing members are reported only to callers who may call the route.
  const body = method === 'POST' || method === 'PATCH' ? {} : undefined;
  return service.call(method, path.replace(':id', id), body, {
    origin,
    ...(cookie.length > 0 && { cookie: cookie.join('; ') }),
    ...(authorization && { authorization }),
  });
}

const begin = (owner: SessionOwner) =>
  service.app.get(Sessions).begin(service.app.get(DataSource).manager, owner);

async function staff(role: Role): Promise<string> {
  const { staff_id } = await service.app.get(StaffService).ensure(`${role}@example.com`, role, AUDIT_CONTEXT);
  return begin({ staff_id });
}

async function license(email = ADA) {
  const issued = await service.issue({ email });
  const activation_id = (await service.activate(issued)).json.activation.id as string;
  return { ...issued, activation_id };
}

test('the table lists every route below /portal/ and /support/', () => {
  const paths = (target: object): string[] => [Reflect.getMetadata('path', target) as string].flat();
  const join = (...parts: string[]) => `/${parts.join('/').split('/').filter(Boolean).join('/')}`;
  const existing = [...service.app.get(ModulesContainer).values()]
    .flatMap(({ controllers }) => [...controllers.values()])
    .flatMap(({ metatype }) => {
      const handlers = metatype!.prototype as Record<string, object>;
      return Object.getOwnPropertyNames(handlers)
        .map((name) => handlers[name]!)
        .filter((handler) => Reflect.hasMetadata('method', handler))
        .flatMap((handler) => {
          const method = RequestMethod[Reflect.getMetadata('method', handler) as number];
          return paths(metatype!).flatMap((base) =>
            paths(handler).map((path) => `${method} ${join(base, path)}`),
          );
        });
    })
    .filter((name) => /^\w+ \/(portal|support)\//.test(name));
  expect(existing.toSorted()).toEqual(Object.keys(ROUTES).toSorted());
});

test.each(guarded)('$name refuses a caller who is not signed in', async (route) => {
  expect(await refusal(route)).toBe('sign_in_required');
  expect(await refusal(route, { cookies: { holder: 'x', staff: 'x' } })).toBe('sign_in_required');
});

test.each(ofStaff)('$name answers a caller without a session with www-authenticate', async (route) => {
  expect((await answer(route, {})).headers['www-authenticate']).toBe('Bearer');
});

test.each(guarded)('$name refuses a session of the other kind, in either cookie', async (route) => {
  const other = route.path.startsWith('/portal/') ? await staff('admin') : await begin({ email: ADA });
  expect(await refusal(route, { cookies: { holder: other, staff: other } })).toBe('sign_in_required');
});

test.each(writes)('$name refuses a request from another site, with and without a session', async (route) => {
  const signedIn = { holder: await begin({ email: ADA }), staff: await staff('admin') };
  for (const cookies of [{}, signedIn]) {
    for (const origin of ['https://evil.example', 'http://localhost:3001', 'null'])
      expect(await refusal(route, { cookies, origin })).toBe('cross_origin');
  }
});

describe.each(ofHolders)('$name', (route) => {
  test('requires a session begun with a mailed code exactly if the table says so', async () => {
    const { license_id } = await license();
    const holder = await begin({ license_id });
    expect((await refusal(route, { cookies: { holder } })) === 'mailbox_proof_needed').toBe(
      route.who === 'mailbox',
    );
    const byCode = await begin({ email: ADA });
    expect(await refusal(route, { cookies: { holder: byCode } })).not.toMatch(
      /mailbox_proof_needed|sign_in_required/,
    );
  });
});

test.each(ofHolders.filter(({ path }) => path.includes(':id')))(
  '$name responds to an id of another holder exactly as to an unknown id, and changes nothing',
  async (route) => {
    const [mine, theirs] = [await license(), await license('grace@example.com')];
    const idOf = ({ license_id, activation_id }: typeof mine) =>
      route.path.includes('/licenses/') ? license_id : activation_id;
    for (const owner of [{ email: ADA }, { license_id: mine.license_id }]) {
      if (route.who === 'mailbox' && 'license_id' in owner) continue;
      const cookies = { holder: await begin(owner) };
      const [foreign, unknown, own] = [
        await answer(route, { cookies, id: idOf(theirs) }),
        await answer(route, { cookies }),
        await answer(route, { cookies, id: idOf(mine) }),
      ];
      const comparable = ({ status, text }: typeof unknown) => [
        status,
        text.replace(/"request_id":"[^"]*"/, ''),
      ];
      expect(comparable(foreign)).toEqual(comparable(unknown));
      expect(unknown.status).toBe(404);
      expect(own.status).toBeLessThan(300);
    }
    const [{ ended_at }] = (await service.sql('select ended_at from activation where id = $1', [
      theirs.activation_id,
    ])) as [{ ended_at: Date | null }];
    expect(ended_at).toBeNull();
  },
);

test.each(ofStaff)('$name refuses the role support exactly if it is for admins', async (route) => {
  const [support, admin] = [await staff('support'), await staff('admin')];
  const isAdminOnly = route.who.startsWith('admin');
  expect((await refusal(route, { cookies: { staff: support } })) === 'forbidden').toBe(isAdminOnly);
  expect(await refusal(route, { cookies: { staff: admin } })).not.toMatch(/forbidden|sign_in_required/);
});

test.each(ofStaff)('$name accepts a token unless it requires a session', async (route) => {
  const authorization = `Bearer ${await service.staffToken('admin', 'admin@example.com')}`;
  const code = await refusal(route, { authorization });
  expect(code === 'sign_in_required').toBe(route.who.endsWith(' session'));
});

test('a token has the current role of its owner', async () => {
  const authorization = `Bearer ${await service.staffToken('support', 'script@example.com')}`;
  const issue = () =>
    service.call('POST', '/support/api/licenses', { email: 'a@example.com' }, { authorization });
  expect((await issue()).json.code).toBe('forbidden');
  await service.staffToken('admin', 'script@example.com');
  expect((await issue()).status).toBe(201);
});
