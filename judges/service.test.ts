import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { PROBLEMS, type ProblemCode } from '../src/http/problems/problem.js';
import { licenseKeyHash } from '../src/keys/license-key.js';
import { StaffService } from '../src/staff/staff.service.js';
import { Authenticator } from '../test/support/http/authenticator.js';
import { activation, AUDIT_CONTEXT, machineId, Service, type Answer } from '../test/support/harness.js';
import { documentedRoutes } from '../test/support/http/openapi.js';
import { Browser as Holder, wrongCode } from '../test/license-portal/harness.js';
import { publish, signOnTop } from '../test/manifest/publish.js';
import { Browser as Staff, signInStaff } from '../test/support-api/harness.js';
import { whileGone, whileLocked } from '../test/support/tables.js';
import { ORIGIN } from '../test/support/http/cookie-client.js';
import { PURCHASES_PATH, signatureHeaders, PURCHASE_SETTINGS } from '../test/support/http/webhook.js';
import { accepted, Prism, proxiedService } from './prism.js';

/*
 * The requests to the service go through Prism; `sendThrough` throws Prism's objections.
 * The file is long, because it has one call of each route, and one case for each code of the catalogue.
 */

const LOGO_FILE = fileURLToPath(new URL('../web/shared/page/icon.svg', import.meta.url));
const SETTINGS = { ...PURCHASE_SETTINGS, SELF_RELEASES_PER_YEAR: '1', LOGO_FILE };
const UNKNOWN = '0198f3c2-7b1a-7c3d-9e4f-a1b2c3d4e5f6';
const CRASH_SIG = '0123456789abcdef';

let direct: Service;
/** Refuses a request that the document does not describe. */
let strict: Prism;
/** Forwards each request, also one that the document does not describe. */
let lenient: Prism;
/** The service through `strict`, for requests that the document describes. */
let service: Service;
/** The service through `lenient`, for requests that the document does not describe. */
let lenientService: Service;
/** The answer to a request for the manifest before one was published. */
let noManifestAnswer: Answer;

beforeAll(async () => {
  direct = await Service.start({ environment: SETTINGS });
  await direct.app.get(StaffService).add('root@example.com', 'admin', AUDIT_CONTEXT);
  [strict, lenient] = await Promise.all([
    Prism.startInFrontOf(direct.url, { validatesRequests: true }),
    Prism.startInFrontOf(direct.url, { validatesRequests: false }),
  ]);
  service = proxiedService(strict, direct);
  lenientService = proxiedService(lenient, direct);
  noManifestAnswer = await service.call('GET', '/v1/manifest');
});
afterAll(async () => {
  await Prism.closeAll();
  console.log(`Prism accepted ${accepted.answers} answers of the service.`);
});

const bearer = async (role: 'support' | 'admin') => ({
  authorization: `Bearer ${await direct.staffToken(role, `${role}-script@example.com`)}`,
});
const insertCrash = async () => {
  await direct.sql(`insert into fleet_week values ('2026-11-15') on conflict do nothing`);
  const insert = 'insert into crash_week (week_end, crash_sig, app_version, crashes) values ($1, $2, $3, 1)';
  await direct.sql(insert, ['2026-11-15', CRASH_SIG, '3.2.0']);
};
const statusOf = ({ status }: Answer) => status;
const report = (to: Service, body: object) => {
  const text = JSON.stringify(body);
  return to.call('POST', PURCHASES_PATH, text, signatureHeaders(text));
};

/** The routes with a successful answer that Prism accepted. `GET /` is tested without Prism. */
const succeededRoutes = new Set<string>();
async function expectSuccess(request: Promise<Answer>, route: string, status = 200): Promise<Answer> {
  const answer = await request;
  expect([route, answer.status, answer.json?.code]).toEqual([route, status, undefined]);
  succeededRoutes.add(route);
  return answer;
}

describe('Prism accepts the documented answers', () => {
  test('of the client API', async () => {
    await publish(direct, '4.0.0');
    const license = await direct.issue({ machines_allowed: 2 });
    const body = activation(license, 'a machine', { hostname_hint: 'Studio Mac' });
    const activated = await expectSuccess(
      service.call('POST', '/v1/activate', body),
      'POST /v1/activate',
      201,
    );
    await expectSuccess(service.activate(license), 'POST /v1/activate');
    const telemetry = { app_version: '3.2.0', cpu_cores: 10, detector_compute: 'ane' };
    await expectSuccess(service.heartbeat(activated.json.token), 'POST /v1/heartbeat');
    const { json } = await expectSuccess(
      service.heartbeat(activated.json.token, { telemetry }),
      'POST /v1/heartbeat',
    );
    expect(json.telemetry).toEqual({ stored: true, dropped: [] });
    const manifest = await expectSuccess(service.call('GET', '/v1/manifest'), 'GET /v1/manifest');
    const headers = { 'if-none-match': manifest.headers['etag']! };
    await expectSuccess(service.call('GET', '/v1/manifest', undefined, headers), 'GET /v1/manifest', 304);
    await expectSuccess(service.call('GET', '/v1/keys'), 'GET /v1/keys');
  });

  test('to an activation with an imported key that contains a U, which keys made here never contain', async () => {
    const license = await createImported('SHOP_U0UU-2345-6789-UUUU');
    await expectSuccess(service.activate(license), 'POST /v1/activate', 201);
  });

  test('to a report of a purchase, to health checks, and for public pages, texts and images', async () => {
    const body = { transaction_id: 'tx-1', email: 'buyer@example.com', status: 'paid' };
    await expectSuccess(report(service, body), 'POST /v1/purchases', 204);
    const paths = ['/health/live', '/health/ready', '/privacy/data', '/brand', '/brand/logo', '/docs/errors'];
    for (const path of paths) await expectSuccess(service.call('GET', path), `GET ${path}`);
    const { headers } = await expectSuccess(service.call('GET', '/languages?page=portal'), 'GET /languages');
    const known = { 'if-none-match': headers['etag']! };
    await expectSuccess(
      service.call('GET', '/languages?page=portal', undefined, known),
      'GET /languages',
      304,
    );
    await expectSuccess(service.call('GET', '/languages/de/portal'), 'GET /languages/{tag}/{page}');
    // Prism would follow the redirect itself.
    await expectSuccess(direct.call('GET', '/', undefined, { accept: 'text/html' }), 'GET /', 302);
  });

  test('of the portal API', async () => {
    const license = await direct.issue({ email: 'holder@example.com', machines_allowed: 2 });
    const { json } = await service.activate(license);
    const other = (await service.activate(license, 'another machine')).json.activation.id as string;
    const id = json.activation.id as string;
    const holder = await new Holder(service).signInByCode(license.email);
    for (const route of ['POST /session/code', 'POST /session'])
      succeededRoutes.add(route.replace(' ', ' /portal/api'));
    const call = (method: string, path: string, status: number, template = path, body?: unknown) =>
      expectSuccess(holder.call(method, path, body), `${method} /portal/api${template}`, status);
    await call('GET', '/session', 200);
    await call('GET', '/licenses', 200);
    await call('POST', `/licenses/${license.license_id}/send-key`, 202, '/licenses/{id}/send-key');
    const path = `/activations/${id}/release`;
    await call('POST', `${path}-request`, 202, '/activations/{id}/release-request', { reason: 'Sold.' });
    await call('POST', `/activations/${other}/release`, 200, '/activations/{id}/release');
    await call('GET', '/session', 200);
    await call('GET', '/export', 200);
    await call('POST', '/erasure', 202);
    await call('GET', '/export', 200);
    await call('DELETE', '/erasure', 204);
    await call('DELETE', '/session', 204);
    await call('GET', '/session', 204);
  });

  test('of the support API', async () => {
    const license = await direct.issue({ email: 'customer@example.com' });
    const { id } = (await service.activate(license)).json.activation;
    const holder = await new Holder(service).signInByKey(license);
    await holder.call('POST', `/activations/${id}/release-request`, { reason: null });
    const admin = await signInStaff(service, 'admin');
    succeededRoutes.add('POST /support/api/session/link');
    const call = (method: string, path: string, status: number, template = path, body?: unknown) =>
      expectSuccess(admin.call(method, path, body), `${method} /support/api/${template}`, status);

    const reason = 'Asked by phone.';
    const licensePath = `licenses/${license.license_id}`;
    await call('GET', 'session', 200);
    await call('POST', 'licenses/search', 200, undefined, { email: license.email });
    await call('POST', 'licenses', 201, undefined, { email: 'new@example.com' });
    await call('GET', licensePath, 200, 'licenses/{id}');
    await call('GET', `${licensePath}/holder?sort=expiry&status=active`, 200, 'licenses/{id}/holder');
    await call('PATCH', licensePath, 200, 'licenses/{id}', { machines_allowed: 3, reason });
    await call('POST', `${licensePath}/send-key`, 202, 'licenses/{id}/send-key', { reason });
    await call('POST', `${licensePath}/rekey`, 202, 'licenses/{id}/rekey', { reason });
    const { release_requests } = (await call('GET', 'release-requests', 200)).json;
    await call('GET', 'release-requests/mails', 200);
    const request = `release-requests/${release_requests.at(-1).id}`;
    await call('POST', request, 200, 'release-requests/{id}', { decision: 'decline', reason });
    await call('POST', `activations/${id}/release`, 200, 'activations/{id}/release', { reason });
    await call('GET', licensePath, 200, 'licenses/{id}');
    const erasure = { email: license.email, reason };
    const { json } = await call('POST', 'erasures', 202, undefined, erasure);
    await call('POST', `erasures/${json.erasure.id}/run`, 200, 'erasures/{id}/run');
    for (const path of ['erasures', 'fleet', 'fleet?weeks=2', 'audit', 'manifests', 'retention', 'service'])
      await call('GET', path, 200, path.split('?')[0]);
    const refresh = await signOnTop(direct, '4.0.0');
    await call('POST', 'manifests?dry_run=true', 200, 'manifests', refresh);
    await call('POST', 'manifests', 200, 'manifests', refresh);
    await insertCrash();
    const resolved = { state: 'resolved', resolved_in: '3.2.1', reason };
    const groupTemplate = 'fleet/crash-groups/{crash_sig}';
    await call('PATCH', `fleet/crash-groups/${CRASH_SIG}`, 200, groupTemplate, resolved);
    await call('GET', 'fleet/crash-groups?state=resolved', 200, 'fleet/crash-groups');
    await call('GET', `audit?license_id=${license.license_id}`, 200, 'audit');
    await call('GET', 'audit/filters', 200);
    await call('GET', 'audit/export?from=2026-01-01', 200, 'audit/export');

    const added = await call('POST', 'staff', 201, undefined, { email: 'linus@example.com', role: 'admin' });
    const person = `staff/${added.json.staff.id}`;
    await call('PATCH', person, 200, 'staff/{id}', { role: 'support', reason });
    await call('POST', `${person}/link`, 202, 'staff/{id}/link');
    await bearer('support');
    const { tokens } = (await call('GET', 'tokens', 200)).json;
    await call('POST', `tokens/${tokens[0].id}/revoke`, 204, 'tokens/{id}/revoke', { reason });
    await call('POST', `${person}/remove`, 204, 'staff/{id}/remove', { reason });
    await call('GET', 'staff', 200);

    const authenticator = new Authenticator(ORIGIN);
    const enrolment = (await call('POST', 'passkeys/options', 200)).json;
    const response = authenticator.create(enrolment.options);
    const { passkey } = (await call('POST', 'passkeys', 201, undefined, { response })).json;
    await call('GET', 'passkeys', 200);
    const signIn = (await call('POST', 'session/options', 200)).json;
    const answer = { response: authenticator.get(signIn.options) };
    await call('POST', 'session', 204, undefined, answer);
    await call('PATCH', `passkeys/${passkey.id}`, 200, 'passkeys/{id}', { name: 'USB key' });
    await call('DELETE', `passkeys/${passkey.id}`, 204, 'passkeys/{id}');
    await call('DELETE', 'session', 204);
  });

  test('of every route of the document, by the tests above', () => {
    const routes = documentedRoutes().map(({ method, path }) => `${method} ${path}`);
    expect([...succeededRoutes].toSorted()).toEqual(routes.toSorted());
  });
});

/**
 * A request for each problem except `method_not_allowed`, which problems.test.ts tests: Prism forwards no method that the
 * document lacks.
 */
const CASES: Record<Exclude<ProblemCode, 'method_not_allowed'>, () => Promise<Answer>> = {
  malformed_request: () => lenientService.call('POST', '/v1/activate', [1]),
  not_found: async () =>
    lenientService.call('GET', `/support/api/licenses/${UNKNOWN}`, undefined, await bearer('support')),
  body_too_large: () => lenientService.call('POST', '/v1/activate', { email: 'x'.repeat(20_000) }),
  unsupported_media_type: () =>
    lenientService.call('POST', '/v1/activate', 'text', { 'content-type': 'text/plain' }),
  invalid_request: () => lenientService.call('POST', '/v1/activate', { email: 'unknown', machine_id: 7 }),
  license_not_found: async () =>
    service.activate({ ...(await direct.issue()), email: 'another@example.com' }),
  license_suspended: () => activateWithStatus('suspended'),
  license_refunded: async () => service.activate(await createRefunded('tx-refunded')),
  license_revoked: () => activateWithStatus('revoked'),
  license_expired: async () => {
    const expires_at = new Date('2026-11-01T00:00:00Z');
    return service.activate(await direct.issue({ expires_at, on_expiry: 'stop' }));
  },
  version_not_covered: async () => {
    await publish(direct, '9.0.0', '2030-01-01T00:00:00Z');
    const license = await direct.issue({ expires_at: new Date('2027-01-01T00:00:00Z') });
    const { json } = await service.activate(license);
    expect(statusOf(await service.activate(license, 'another', { app_version: '9.0.0' }))).toBe(403);
    return service.heartbeat(json.token, { app_version: '9.0.0' });
  },
  machine_limit_reached: async () => {
    const license = await direct.issue();
    await service.activate(license);
    return service.activate(license, 'another machine');
  },
  binding_released: async () => {
    const { json } = await service.activate(await direct.issue());
    const path = `/support/api/activations/${json.activation.id}/release`;
    await service.call('POST', path, { reason: 'Sold.' }, await bearer('support'));
    return service.heartbeat(json.token);
  },
  token_invalid: () => service.heartbeat('no token'),
  no_version_published: async () => noManifestAnswer,
  sign_in_required: async () => {
    // The proxy checks this answer too.
    await service.call('GET', '/portal/api/export', undefined, { cookie: 'mooring_holder=none' });
    return service.call('GET', '/support/api/audit', undefined, { authorization: 'Bearer none' });
  },
  forbidden: async () => service.call('GET', '/support/api/staff', undefined, await bearer('support')),
  another_person: async () => {
    const headers = { ...(await bearer('support')), 'staff-id': '0198f3c2-7b1a-7c3d-9e4f-a1b2c3d4e5f6' };
    const path = '/support/api/activations/0198f3c2-7b1a-7c3d-9e4f-a1b2c3d4e5f6/release';
    return service.call('POST', path, { reason: 'Sold.' }, headers);
  },
  cross_origin: async () =>
    service.call(
      'POST',
      '/portal/api/session/code',
      { email: 'ada@example.com' },
      { origin: 'https://evil.example' },
    ),
  mailbox_proof_needed: async () =>
    (await new Holder(service).signInByKey(await direct.issue())).call('GET', '/export'),
  release_needs_support: async () => {
    const license = await direct.issue({ email: 'mover@example.com', machines_allowed: 2 });
    const answers = [await service.activate(license), await service.activate(license, 'another machine')];
    const holder = await new Holder(service).signInByCode(license.email);
    await holder.call('POST', `/activations/${answers[0]!.json.activation.id}/release`);
    return holder.call('POST', `/activations/${answers[1]!.json.activation.id}/release`);
  },
  code_invalid: async () => {
    const { email } = await direct.issue({ email: 'coded@example.com' });
    const holder = new Holder(service);
    return holder.call('POST', '/session', { email, code: wrongCode(await holder.requestCode(email)) });
  },
  link_invalid: () => new Staff(service).post('session/link', { link: 'x'.repeat(43) }),
  passkey_invalid: async () => {
    const browser = new Staff(service);
    const { options } = (await browser.post('session/options')).json;
    return browser.post('session', { response: new Authenticator(ORIGIN).get(options) });
  },
  key_not_mailable: async () => {
    const send = async ({ license_id }: { license_id: string }) =>
      service.call(
        'POST',
        `/support/api/licenses/${license_id}/send-key`,
        { reason: 'Lost.' },
        await bearer('support'),
      );
    const answers = [
      await send(await createImported('SHOP_UUUU-2345-6789-ABCD')),
      await send(await createRefunded('tx-sent')),
      await send(await createErased()),
    ];
    expect(answers.map(({ json }) => json.reason)).toEqual(['not_made_here', 'refunded', 'erased']);
    return answers[0]!;
  },
  license_changed: async () => {
    const { license_id } = await direct.issue({ email: 'changed@example.com' });
    const headers = { ...(await bearer('admin')), 'if-match': '"0000000000000000"' };
    const body = { machines_allowed: 2, reason: 'Grew.' };
    return service.call('PATCH', `/support/api/licenses/${license_id}`, body, headers);
  },
  idempotency_key_reused: async () => {
    const headers = { ...(await bearer('admin')), 'idempotency-key': 'order-1' };
    const issue = (machines_allowed: number) => {
      const body = { email: 'order@example.com', machines_allowed };
      return service.call('POST', '/support/api/licenses', body, headers);
    };
    expect([(await issue(1)).status, (await issue(1)).status]).toEqual([201, 200]);
    return issue(2);
  },
  manifest_refused: async () => {
    const document = await publish(direct, '9.0.0', '2030-01-01T00:00:00Z');
    // The live document may be published again, and an earlier one may not.
    await publish(direct, '9.1.0', '2030-01-01T00:00:00Z');
    return service.call('POST', '/support/api/manifests', document, await bearer('admin'));
  },
  crash_group_changed: async () => {
    await insertCrash();
    const headers = { ...(await bearer('support')), 'if-match': '"0000000000000000"' };
    const body = { state: 'muted', reason: 'Known.' };
    return service.call('PATCH', `/support/api/fleet/crash-groups/${CRASH_SIG}`, body, headers);
  },
  license_erased: async () => {
    const path = `/support/api/licenses/${(await createErased()).license_id}`;
    const body = { email: 'back@example.com', reason: 'Asked.' };
    return service.call('PATCH', path, body, await bearer('admin'));
  },
  has_passkey: async () => {
    const browser = await signInStaff(service, 'support', 'passkey@example.com');
    const { options } = (await browser.post('passkeys/options')).json;
    await browser.post('passkeys', { response: new Authenticator(ORIGIN).create(options) });
    const { id } = (await browser.get('session')).json;
    return (await signInStaff(service, 'admin')).post(`staff/${id}/link`);
  },
  last_admin: async () => {
    const headers = await bearer('admin');
    // Every other admin loses the role, which no later case needs.
    await direct.sql(`update staff set role = 'support' where email <> 'admin-script@example.com'`);
    const { staff } = (await service.call('GET', '/support/api/staff', undefined, headers)).json;
    const { id } = staff.find(({ role }: { role: string }) => role === 'admin');
    return service.call('POST', `/support/api/staff/${id}/remove`, { reason: 'Left.' }, headers);
  },
  webhook_signature_invalid: () => {
    const body = { transaction_id: 'tx-2', status: 'refunded' };
    return service.call('POST', PURCHASES_PATH, body, signatureHeaders('another body'));
  },
  too_many_requests: async () => {
    const license = await direct.issue({ email: 'impatient@example.com' });
    const holder = await new Holder(service).signInByKey(license);
    const send = () => holder.call('POST', `/licenses/${license.license_id}/send-key`);
    for (let times = 0; times < 10; times += 1) expect(statusOf(await send())).toBe(202);
    return send();
  },
  internal_error: async () => {
    const license = await direct.issue();
    return whileGone(direct, 'license', () => service.activate(license));
  },
  unavailable: async () => {
    const license = await direct.issue();
    return whileLocked(direct, 'license', () => service.activate(license));
  },
};

async function activateWithStatus(staff_status: 'suspended' | 'revoked'): Promise<Answer> {
  const license = await direct.issue();
  await direct.sql('update license set staff_status = $1 where id = $2', [staff_status, license.license_id]);
  return service.activate(license);
}

/** A license with an imported key. */
async function createImported(license_key: string) {
  const license = await direct.issue();
  const values = [licenseKeyHash(license_key), license.license_id];
  await direct.sql('update license set key_hash = $1 where id = $2', values);
  return { ...license, license_key };
}

async function createRefunded(transaction_id: string) {
  const license = await direct.issue();
  await direct.sql(
    `with purchase_row as (insert into purchase (id, transaction_id, email, state, paid, recorded_on)
       values ($1, $2, $3, 'refunded', true, '2026-11-20') returning id)
     update license set purchase_id = (select id from purchase_row) where id = $4`,
    [
      UNKNOWN.replace(/^.{8}/, machineId(transaction_id).slice(0, 8)),
      transaction_id,
      license.email,
      license.license_id,
    ],
  );
  return license;
}

async function createErased() {
  const license = await direct.issue({ email: 'gone@example.com' });
  await direct.sql('update license set email = null, ended_at = now() where id = $1', [license.license_id]);
  return license;
}

describe('Prism accepts the problem', () => {
  test.each(Object.keys(CASES) as (keyof typeof CASES)[])('%s', async (code) => {
    const { status, json } = await CASES[code]();
    expect([status, json.code]).toEqual([PROBLEMS[code].status, code]);
  });

  test('of every code, except method_not_allowed, which Prism does not forward', () => {
    expect([...Object.keys(CASES), 'method_not_allowed'].toSorted()).toEqual(
      Object.keys(PROBLEMS).toSorted(),
    );
  });
});
