import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { DataSource } from 'typeorm';
import { isTemporaryDatabaseError } from '../../src/database/temporary-errors.js';
import { Sessions } from '../../src/http/sessions/sessions.js';
import { runs } from './fuzz.js';
import { retryWhileUnavailable, machineId, Service, type Answer } from '../support/harness.js';
import { documentedRoutes, fillPath } from '../support/http/openapi.js';
import { publish } from '../manifest/publish.js';
import { bodyPointer, valuesFor, type Known } from './schema-values.js';
import { ORIGIN } from '../support/http/cookie-client.js';
import { PURCHASES_PATH, signatureHeaders, PURCHASE_SETTINGS } from '../support/http/webhook.js';
import { comparableRows } from '../support/tables.js';

/*
 * Sends valid and invalid requests to all routes of docs/openapi.yaml, as an anonymous caller, a holder, and staff of both
 * roles. `call` checks each response against the document.
 */

const CALLERS = ['anonymous', 'holder', 'support', 'admin'] as const;
type Caller = (typeof CALLERS)[number];

const service = await Service.start({ environment: PURCHASE_SETTINGS });
await publish(service, '4.0.0', '2027-01-01T00:00:00Z');
const license = await service.issue({ machines_allowed: 2 });
const { json: activated } = await service.activate(license, 'one');
const staff = {
  support: `Bearer ${await service.staffToken('support', 'grace@example.com')}`,
  admin: `Bearer ${await service.staffToken('admin', 'root@example.com')}`,
};
const [grace] = await service.sql<{ id: string }>(`select id from staff where email = 'grace@example.com'`);
/** The values for a parameter of a path: the ids of a license, an activation and a staff member, and one that does not exist. */
const ids: string[] = [
  license.license_id,
  activated.activation.id,
  grace!.id,
  '0198f3c2-7b1a-7c3d-9e4f-a1b2c3d4e5f6',
];
const known: Known = {
  license_key: [license.license_key],
  email: [license.email, 'new@example.com'],
  machine_id: [machineId('one'), machineId('two')],
  token: [activated.token],
  app_version: ['3.2.0', '4.0.0'],
  activation_id: ids,
  transaction_id: ['tx-1', 'tx-2'],
  code: ['12345678'],
  reason: ['The machine was sold.'],
};

/** Makes the headers of a caller. A holder gets a new session each time, because a request may have ended the last one. */
async function headersOf(caller: Caller): Promise<Record<string, string>> {
  if (caller === 'anonymous') return {};
  if (caller !== 'holder') return { authorization: staff[caller] };
  const { manager } = service.app.get(DataSource);
  const begin = (): Promise<string> =>
    service.app
      .get(Sessions)
      .begin(manager, { email: license.email })
      .catch((error: unknown) => (isTemporaryDatabaseError(error) ? begin() : Promise.reject(error)));
  return { cookie: `mooring_holder=${await begin()}`, origin: ORIGIN };
}

const routes = documentedRoutes();

type Route = (typeof routes)[number];

/** Generates the bodies for a route. Routes without a body, except those of GET, sometimes get one. */
function bodiesOf({ method, path }: Route): fc.Arbitrary<unknown> {
  const pointer = bodyPointer(method, path);
  if (pointer) return valuesFor(pointer, known);
  return method === 'GET' ? fc.constant(undefined) : fc.constantFrom(undefined, undefined, {});
}

const anyId = fc.oneof(
  { weight: 5, arbitrary: fc.nat(3) },
  { weight: 1, arbitrary: fc.string({ minLength: 1, unit: 'binary' }) },
);

interface GeneratedRequest {
  readonly route: Route;
  readonly caller: Caller;
  readonly id: number | string;
  readonly body: unknown;
  readonly isSigned: boolean;
}
const requestOf = (route: Route): fc.Arbitrary<GeneratedRequest> =>
  fc.record({
    route: fc.constant(route),
    caller: fc.constantFrom(...CALLERS),
    id: anyId,
    body: bodiesOf(route),
    isSigned: fc.boolean(),
  });

function pathOf({ path }: Route, id: number | string): string {
  return fillPath(path, typeof id === 'number' ? ids[id]! : encodeURIComponent(id.toWellFormed()));
}

function ask({ route, caller, id, body, isSigned }: GeneratedRequest): Promise<Answer> {
  const text = body === undefined ? undefined : JSON.stringify(body);
  const signature = route.path === PURCHASES_PATH && isSigned ? signatureHeaders(text!) : {};
  // A request that is repeated after a 503 gets a new session, because the first attempt may have ended the session.
  return retryWhileUnavailable(async () => {
    const headers = { ...(await headersOf(caller)), ...signature };
    return service.call(route.method, pathOf(route, id), text, headers);
  });
}

// This test is the first one, because jobs that the other test enqueues may change rows after that test.
test('credentials with a changed character are refused, and change no row', async () => {
  const holder = await headersOf('holder');
  // Most routes of sessions answer callers without a session.
  const guarded = routes.filter(({ path }) => /^\/(portal|support)\/api\/(?!session)/.test(path));
  const wrong = fc.record({
    request: fc.oneof(...guarded.map(requestOf)),
    credential: fc.constantFrom<Record<string, string>[]>(
      { name: 'cookie', value: holder['cookie']! },
      { name: 'authorization', value: staff.admin },
      // The session of a holder is no session of staff.
      { name: 'cookie', value: holder['cookie']!.replace('_holder', '_staff') },
    ),
    position: fc.nat(99),
    character: fc.constantFrom(...'xX0-=;, %'),
  });
  const before = await comparableRows(service.database);
  await fc.assert(
    fc.asyncProperty(
      wrong,
      async ({ request: { route, id, body }, credential: { name, value }, position, character }) => {
        const secretStart = value!.search(/[= ]/) + 1;
        const index = secretStart + (position % (value!.length - secretStart));
        const sent = value!.slice(0, index) + character + value!.slice(index + 1);
        fc.pre(sent !== value);
        const headers = { [name!]: sent, origin: ORIGIN };
        const text = body === undefined ? undefined : JSON.stringify(body);
        const { status, json } = await service.call(route.method, pathOf(route, id), text, headers);
        // A malformed body is refused before the credentials are checked.
        expect([
          [401, 'sign_in_required'],
          [400, 'malformed_request'],
          [413, 'body_too_large'],
          [503, 'unavailable'],
        ]).toContainEqual([status, json.code]);
      },
    ),
    runs(60),
  );
  expect(await comparableRows(service.database)).toEqual(before);
});

test('all requests get a documented response, and none causes an internal error', async () => {
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
