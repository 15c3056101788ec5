import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { Sessions } from '../src/http/session.js';
import { DataSource } from 'typeorm';
import { Service } from './harness.js';
import { documentedRoutes } from './openapi.js';
import { Browser, signedIn } from './support-harness.js';

/** How one signs in: the only routes for anyone. */
const PUBLIC = ['POST session', 'POST session/link', 'POST session/options'];
/** What the role `support` may not do (contract, section 4). */
const ADMIN_ONLY = [
  'POST licenses',
  'PATCH licenses/{id}',
  'POST licenses/{id}/rekey',
  'POST erasures',
  'POST erasures/{id}/run',
  'GET staff',
  'POST staff',
  'PATCH staff/{id}',
  'POST staff/{id}/remove',
  'POST staff/{id}/link',
  'GET tokens',
  'POST tokens/{id}/revoke',
];
/** A script's token is not enough. */
const SESSION_ONLY = /^\w+ (session|passkeys)\b/;

/** Every route of the API, as the document names it. */
const routes = documentedRoutes()
  .filter(({ path }) => path.startsWith('/support/api/'))
  .map(({ method, path }) => ({ name: `${method} ${path.slice('/support/api/'.length)}`, method, path }));
const guarded = routes.filter(({ name }) => !PUBLIC.includes(name));
const at = (path: string) => path.replace('{id}', randomUUID()).replace(/^\/support\/api\//, '');

let service: Service;
beforeAll(async () => void (service = await Service.start()));
afterAll(() => service.close());

/** A body that is taken for one, whatever the route. */
const bodyOf = (method: string) => (method === 'POST' || method === 'PATCH' ? {} : undefined);

async function refusal(browser: Browser, { method, path }: (typeof routes)[number]): Promise<string> {
  // What is wrong in a body is told only to those who may send one.
  const { json } = await browser.call(method, at(path), bodyOf(method));
  return json?.code as string;
}

test('the list holds every route of the API', () => {
  expect(routes.map(({ name }) => name)).toEqual(expect.arrayContaining([...PUBLIC, ...ADMIN_ONLY]));
  expect(routes).toHaveLength(32);
});

describe.each(guarded)('$name', (route) => {
  test('is for nobody who is not signed in', async () => {
    expect(await refusal(new Browser(service), route)).toBe('sign_in_required');
  });

  test("opens with no holder's session", async () => {
    const { manager } = service.app.get(DataSource);
    const browser = new Browser(service);
    const cookie = await service.app.get(Sessions).begin(manager, { email: 'ada@example.com' });
    browser.cookies.set('mooring_staff', cookie);
    browser.cookies.set('mooring_holder', cookie);
    expect(await refusal(browser, route)).toBe('sign_in_required');
  });
});

test.each(routes.filter(({ method }) => method !== 'GET'))(
  '$name is refused to another site before anything is looked at, signed in or not',
  async (route) => {
    for (const browser of [new Browser(service), await signedIn(service, 'admin')]) {
      browser.origin = 'https://evil.example';
      expect(await refusal(browser, route)).toBe('cross_origin');
    }
  },
);

test.each(guarded)(
  '$name is for the role support as it should be, and for the role admin always',
  async (route) => {
    const [support, admin] = [await signedIn(service, 'support'), await signedIn(service, 'admin')];
    const isAdminOnly = ADMIN_ONLY.includes(route.name);
    expect((await refusal(support, route)) === 'forbidden').toBe(isAdminOnly);
    expect(await refusal(admin, route)).not.toBe('forbidden');
  },
);

test.each(guarded)('$name takes a token of a script as it should', async ({ name, method, path }) => {
  const authorization = `Bearer ${await service.staffToken('admin', 'admin@example.com')}`;
  const { status } = await service.call(method, `/support/api/${at(path)}`, bodyOf(method), {
    authorization,
  });
  expect(status === 401).toBe(SESSION_ONLY.test(name));
});

test('no token has more than its owner has at this moment', async () => {
  const authorization = `Bearer ${await service.staffToken('support', 'script@example.com')}`;
  const issue = () =>
    service.call('POST', '/support/api/licenses', { email: 'a@example.com' }, { authorization });
  expect((await issue()).json.code).toBe('forbidden');
  await service.staffToken('admin', 'script@example.com');
  expect((await issue()).status).toBe(201);
});
