import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { DataSource } from 'typeorm';
import { isConnectionError } from '../../src/database/connection-errors.js';
import { Sessions } from '../../src/http/sessions/sessions.js';
import { runs } from './fuzz.js';
import { answered, machineId, Service, type Answer } from '../support/harness.js';
import { documentedRoutes } from '../support/http/openapi.js';
import { publish } from '../manifest/publish.js';
import { bodyPointer, valuesFor, type Known } from '../support/http/schema-values.js';
import { ORIGIN } from '../support/http/cookie-client.js';
import { everyRow, PURCHASES, signed, TAKES_PURCHASES } from '../support/http/webhook.js';

/*
 * Every route of docs/openapi.yaml, asked with what its schema describes and with what it does not, by an anonymous caller, a holder, and
 * staff of both roles. `call` holds each answer against the document.
 */

const CALLERS = ['anonymous', 'holder', 'support', 'admin'] as const;
type Caller = (typeof CALLERS)[number];

let service: Service;
let known: Known;
/** What a path's `{id}` is. */
let ids: string[];
let staff: Record<'support' | 'admin', string>;

beforeAll(async () => {
  service = await Service.start({ environment: TAKES_PURCHASES });
  await publish(service, '4.0.0', '2027-01-01T00:00:00Z');
  const license = await service.issue({ machines_allowed: 2 });
  const { json } = await service.activate(license, 'one');
  staff = {
    support: `Bearer ${await service.staffToken('support', 'grace@example.com')}`,
    admin: `Bearer ${await service.staffToken('admin', 'root@example.com')}`,
  };
  const others = await service.sql<{ id: string }>(`select id from staff where email = 'grace@example.com'`);
  ids = [license.license_id, json.activation.id, others[0]!.id, '0198f3c2-7b1a-7c3d-9e4f-a1b2c3d4e5f6'];
  known = {
    license_key: [license.license_key],
    email: [license.email, 'new@example.com'],
    machine_id: [machineId('one'), machineId('two')],
    token: [json.token],
    app_version: ['3.2.0', '4.0.0'],
    activation_id: ids,
    transaction_id: ['tx-1', 'tx-2'],
    code: ['12345678'],
    reason: ['The machine was sold.'],
  };
});
afterAll(() => service.close());

/** Headers as each caller sends them; a holder's session is a new one, for the one before may have been ended. */
async function headersOf(caller: Caller): Promise<Record<string, string>> {
  if (caller === 'anonymous') return {};
  if (caller !== 'holder') return { authorization: staff[caller] };
  const email = String(known['email']![0]);
  const { manager } = service.app.get(DataSource);
  const begin = (): Promise<string> =>
    service.app
      .get(Sessions)
      .begin(manager, { email })
      .catch((error: unknown) => (isConnectionError(error) ? begin() : Promise.reject(error)));
  return { cookie: `mooring_holder=${await begin()}`, origin: ORIGIN };
}

const routes = documentedRoutes();

type Route = (typeof routes)[number];

/** The bodies of a route; one that takes none is sent one now and then. */
function bodiesOf({ method, path }: Route): fc.Arbitrary<unknown> {
  const pointer = bodyPointer(method, path);
  if (pointer) return valuesFor(pointer, known);
  return method === 'GET' ? fc.constant(undefined) : fc.constantFrom(undefined, undefined, {});
}

const anyId = fc.oneof(
  { weight: 5, arbitrary: fc.nat(3) },
  { weight: 1, arbitrary: fc.string({ minLength: 1, unit: 'binary' }) },
);

interface Asked {
  readonly route: Route;
  readonly caller: Caller;
  readonly id: number | string;
  readonly body: unknown;
  readonly signs: boolean;
}
const requestOf = (route: Route): fc.Arbitrary<Asked> =>
  fc.record({
    route: fc.constant(route),
    caller: fc.constantFrom(...CALLERS),
    id: anyId,
    body: bodiesOf(route),
    signs: fc.boolean(),
  });

function pathOf({ path }: Route, id: number | string): string {
  return path.replace('{id}', typeof id === 'number' ? ids[id]! : encodeURIComponent(id.toWellFormed()));
}

function ask({ route, caller, id, body, signs }: Asked): Promise<Answer> {
  const text = body === undefined ? undefined : JSON.stringify(body);
  const signature = route.path === PURCHASES && signs ? signed(text!) : {};
  // A 5xx is what is looked for, but not that of a stalled machine. The session may be gone by then.
  return answered(async () => {
    const headers = { ...(await headersOf(caller)), ...signature };
    return service.call(route.method, pathOf(route, id), text, headers);
  });
}

// First: behind the other, mails and erasures are still under way.
test('credentials with a character changed open nothing, and change no row', async () => {
  const holder = await headersOf('holder');
  const guarded = routes.filter(({ path }) => /^\/(portal|support)\/api\/(?!session|passkeys\/)/.test(path));
  const wrong = fc.record({
    asked: fc.oneof(...guarded.map(requestOf)),
    of: fc.constantFrom<Record<string, string>[]>(
      { name: 'cookie', value: holder['cookie']! },
      { name: 'authorization', value: staff.admin },
      { name: 'cookie', value: holder['cookie']!.replace('_holder', '_staff') },
    ),
    at: fc.nat(99),
    other: fc.constantFrom(...'xX0-=;, %'),
  });
  const before = await everyRow(service.database);
  await fc.assert(
    fc.asyncProperty(wrong, async ({ asked: { route, id, body }, of: { name, value }, at, other }) => {
      const from = value!.search(/[= ]/) + 1;
      const place = from + (at % (value!.length - from));
      const sent = value!.slice(0, place) + other + value!.slice(place + 1);
      fc.pre(sent !== value);
      const headers = { [name!]: sent, origin: ORIGIN };
      const text = body === undefined ? undefined : JSON.stringify(body);
      const { status, json } = await service.call(route.method, pathOf(route, id), text, headers);
      // A body that is none is refused before its sender is looked up.
      expect([
        [401, 'sign_in_required'],
        [400, 'malformed_request'],
        [413, 'body_too_large'],
        [503, 'unavailable'],
      ]).toContainEqual([status, json.code]);
    }),
    runs(60),
  );
  expect(await everyRow(service.database)).toEqual(before);
});

test('whatever is asked, and by whom: an answer that the document promises, and none is an error of ours', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.oneof(...routes.map(requestOf)), { minLength: 12, maxLength: 12 }),
      async (all) => {
        const answers = await Promise.all(all.map(ask));
        for (const { status, text } of answers) expect([status < 500, text]).toEqual([true, text]);
      },
    ),
    runs(15),
  );
  expect(service.logged.filter((line) => /internal_error|framework error/.test(line))).toEqual([]);
});
