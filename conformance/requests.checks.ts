import { demand, type Check } from './check.ts';
import { APP_VERSION, type Deployment } from './deployment.ts';
import type { RequestOptions } from './http.ts';
import { unknownLicense } from './license-keys.ts';
import { demandInvalid, demandRefusal, formatValue } from './shape.ts';

/** A text in refused requests, which no answer may contain. */
const CANARY = 'conformance-canary';
const MAX_BODY_BYTES = 16 * 1024;

/** The members of an activation of an unknown license. */
const unknownActivation = ({ license }: Deployment) => ({
  ...unknownLicense(license),
  machine_id: 'c0'.repeat(32),
  app_version: APP_VERSION,
});

/** The body of an activation of an unknown license, filled to the given size by an unknown member. */
function activationOfSize(service: Deployment, bytes: number): string {
  const body = { ...unknownActivation(service), unknown: '' };
  const { length } = JSON.stringify(body);
  return JSON.stringify({ ...body, unknown: 'x'.repeat(bytes - length) });
}

/** The body of an activation of an unknown license, with an unknown member whose value is this text, unchanged. */
const activationWith = (service: Deployment, unknown: string) =>
  JSON.stringify({ ...unknownActivation(service), unknown: '' }).replace(/""(?=}$)/, unknown);

const demandRefusals =
  (status: number, code: string, requests: readonly RequestOptions[], path = '/v1/activate'): Check['run'] =>
  async (service) => {
    for (const options of requests)
      demandRefusal(await service.ask('POST', path, { sent: [CANARY], ...options }), status, code);
  };

/** Demands 405 with an `allow` header that contains the method. */
async function demandMethodRefused(
  service: Deployment,
  method: string,
  path: string,
  allowed: string,
): Promise<void> {
  const answer = await service.ask(method, path);
  demandRefusal(answer, 405, 'method_not_allowed');
  const methods = (answer.headers.allow ?? '').split(',').map((each) => each.trim());
  demand(methods.includes(allowed), `allow is ${formatValue(answer.headers.allow)}, without ${allowed}.`);
}

export const requestChecks: readonly Check[] = [
  {
    title: 'A body that is not JSON is refused with 400 malformed_request',
    run: demandRefusals(400, 'malformed_request', [{ body: `{"${CANARY}"` }, { body: '' }]),
  },
  {
    title: 'JSON that is not an object is refused with 400 malformed_request',
    run: demandRefusals(400, 'malformed_request', [{ body: `["${CANARY}"]` }]),
  },
  {
    title: 'Invalid UTF-8 is refused with 400 malformed_request',
    run: demandRefusals(400, 'malformed_request', [
      { body: Buffer.concat([Buffer.from('{"email":"'), Buffer.from([0xc0, 0xaf]), Buffer.from('"}')]) },
    ]),
  },
  {
    title: 'NaN is not JSON, and is refused with 400 malformed_request',
    run: async (service) => {
      const body = activationWith(service, 'NaN');
      demandRefusal(await service.ask('POST', '/v1/activate', { body }), 400, 'malformed_request');
    },
  },
  {
    title: 'An unknown member may be nested 1,000 levels deep, or be an integer of 5,000 digits',
    run: async (service) => {
      for (const unknown of ['['.repeat(1_000) + ']'.repeat(1_000), '7'.repeat(5_000)]) {
        const body = activationWith(service, unknown);
        demandRefusal(await service.ask('POST', '/v1/activate', { body }), 404, 'license_not_found');
      }
    },
  },
  {
    title: 'Members in capitals are unknown, so all required ones are missing',
    run: async (service) => {
      const members = Object.entries(unknownActivation(service));
      const inCapitals = members.map(([name, value]) => [name.toUpperCase(), value]);
      const body = JSON.stringify(Object.fromEntries(inCapitals));
      const answer = await service.ask('POST', '/v1/activate', { body });
      demandInvalid(answer, 'Members in capitals', ...members.map(([name]) => `/${name}`));
    },
  },
  {
    title: 'A heartbeat that is not JSON is refused with 400 malformed_request',
    run: demandRefusals(400, 'malformed_request', [{ body: `{"token":"${CANARY}` }], '/v1/heartbeat'),
  },
  {
    title: 'A body that is not declared as JSON is refused with 415 unsupported_media_type',
    run: demandRefusals(415, 'unsupported_media_type', [
      { body: `{"unknown":"${CANARY}"}`, headers: { 'content-type': 'text/plain' } },
    ]),
  },
  {
    title: 'A body of 16 KiB is accepted',
    run: async (service) => {
      const answer = await service.ask('POST', '/v1/activate', {
        body: activationOfSize(service, MAX_BODY_BYTES),
      });
      demandRefusal(answer, 404, 'license_not_found');
    },
  },
  {
    title: 'A body that is one byte larger is refused with 413 body_too_large',
    run: async (service) => {
      const answer = await service.ask('POST', '/v1/activate', {
        body: activationOfSize(service, MAX_BODY_BYTES + 1),
      });
      demandRefusal(answer, 413, 'body_too_large');
    },
  },
  {
    title: 'An unknown path is refused with 404 not_found',
    run: async (service) => {
      const answer = await service.ask('GET', `/v1/${CANARY}`, { sent: [CANARY] });
      demandRefusal(answer, 404, 'not_found');
    },
  },
  {
    title: 'Another method is refused with 405 method_not_allowed and an allow header',
    run: async (service) => {
      await demandMethodRefused(service, 'GET', '/v1/activate', 'POST');
      await demandMethodRefused(service, 'PUT', '/v1/heartbeat', 'POST');
      await demandMethodRefused(service, 'DELETE', '/v1/manifest', 'GET');
    },
  },
];
