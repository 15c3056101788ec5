import { both, withCode, setHeaders, replaceAnswer, refuse, changeJson, requestTo } from './fault.js';
import type { FaultCase } from './fault.js';

const anyExchange = () => true;
const activationRequested = requestTo('/v1/activate');
const refused = ({ status }: { status: number }) => status >= 400;

/** Faults in the health reports, in refusals, and in the headers of all answers. */
export const REFUSAL_FAULTS: readonly FaultCase[] = [
  [
    'reports no health status',
    replaceAnswer(requestTo('/health/live'), 200, {}),
    'GET /health/live reports that the process runs',
  ],
  [
    'reports warnings that are not a list',
    replaceAnswer(requestTo('/health/ready'), 200, { status: 'ready', warnings: 'none' }),
    'GET /health/ready reports that the service is ready, with warnings for its operator',
  ],
  [
    'answers an empty body with 415',
    refuse(
      both(activationRequested, ({ method, requestBytes }) => method === 'POST' && requestBytes.length === 0),
      'unsupported_media_type',
    ),
    'A body that is not JSON is refused with 400 malformed_request',
  ],
  [
    'reads a list as an object',
    refuse(
      both(activationRequested, ({ requestBody }) => Array.isArray(requestBody)),
      'invalid_request',
      {
        errors: [{ pointer: '/email', detail: 'No.' }],
      },
    ),
    'JSON that is not an object is refused with 400 malformed_request',
  ],
  [
    'accepts invalid UTF-8',
    refuse(({ requestBytes }) => requestBytes.includes(0xc0), 'license_not_found'),
    'Invalid UTF-8 is refused with 400 malformed_request',
  ],
  [
    'accepts NaN as JSON',
    refuse(({ requestBytes }) => requestBytes.includes('NaN'), 'license_not_found'),
    'NaN is not JSON, and is refused with 400 malformed_request',
  ],
  [
    'limits the nesting of members that it does not read',
    refuse(({ requestBytes }) => requestBytes.includes('[['), 'malformed_request'),
    'An unknown member may be nested 1,000 levels deep, or be an integer of 5,000 digits',
  ],
  [
    'accepts names of members in capitals',
    refuse(({ requestBytes }) => requestBytes.includes('LICENSE_KEY'), 'license_not_found'),
    'Members in capitals are unknown, so all required ones are missing',
  ],
  [
    'answers a heartbeat that is not JSON with token_invalid',
    refuse(both(requestTo('/v1/heartbeat'), withCode('malformed_request')), 'token_invalid'),
    'A heartbeat that is not JSON is refused with 400 malformed_request',
  ],
  [
    'accepts any content type',
    refuse(withCode('unsupported_media_type'), 'license_not_found'),
    'A body that is not declared as JSON is refused with 415 unsupported_media_type',
  ],
  [
    'accepts at most 10 KiB',
    refuse(({ requestBytes }) => requestBytes.length > 10_240, 'body_too_large'),
    'A body of 16 KiB is accepted',
  ],
  [
    'accepts any size',
    refuse(withCode('body_too_large'), 'license_not_found'),
    'A body that is one byte larger is refused with 413 body_too_large',
  ],
  [
    'answers an unknown path with 200',
    replaceAnswer(withCode('not_found'), 200, {}),
    'An unknown path is refused with 404 not_found',
  ],
  [
    'omits the allow header',
    setHeaders(withCode('method_not_allowed'), { allow: undefined }),
    'Another method is refused with 405 method_not_allowed and an allow header',
  ],
  [
    'refuses with plain JSON',
    setHeaders(withCode('not_found'), { 'content-type': 'application/json' }),
    'Every refusal is an application/problem+json document',
  ],
  [
    'refuses without a detail',
    changeJson(withCode('not_found'), (json) => void delete json['detail']),
    'Each refusal has title, status, detail, client_action and request_id',
  ],
  [
    'refuses with the type about:blank',
    changeJson(withCode('not_found'), (json) => void (json['type'] = 'about:blank')),
    'Each type is the URL of /docs/errors with the code as its fragment',
  ],
  [
    'stops a client for a body that is too large',
    changeJson(withCode('body_too_large'), (json) => void (json['client_action'] = 'stop')),
    'Each code has the status and the client_action of the contract',
  ],
  [
    'stops a client for a forged token',
    changeJson(withCode('token_invalid'), (json) => void (json['client_action'] = 'stop')),
    'Each code has the status and the client_action of the contract',
  ],
  [
    'adds a member "errors" to a refusal with license_not_found',
    changeJson(withCode('license_not_found'), (json) => void (json['errors'] = [])),
    'Only invalid_request has errors, each with pointer and detail',
  ],
  [
    'has the same request_id in all refusals',
    changeJson(refused, (json) => void (json['request_id'] = 'one')),
    'No two refusals have the same request_id',
  ],
  [
    'repeats the path in the detail',
    changeJson(withCode('not_found'), (json, { path }) => void (json['detail'] = `${path} is not here.`)),
    'No refusal repeats a submitted value',
  ],
  [
    'repeats the e-mail address in a member',
    changeJson(
      withCode('license_not_found'),
      (json, { requestBody }) => void (json['instance'] = requestBody.email),
    ),
    'No refusal repeats a submitted value',
    'An unknown key and another e-mail address have the same answer, byte for byte',
  ],
  [
    'answers 503 to an unknown path',
    refuse(withCode('not_found'), 'unavailable'),
    'An unknown path is refused with 404 not_found',
    'No request is answered with a status of 500 or above',
  ],
  [
    'allows caches to keep a heartbeat',
    setHeaders(requestTo('/v1/heartbeat'), { 'cache-control': 'public' }),
    'cache-control is no-store, except for the manifest and the keys',
  ],
  [
    'sends no date',
    setHeaders(anyExchange, { date: undefined }),
    'Each answer has a date, to which a retry-after is relative',
  ],
  [
    'sends a date header without a valid date',
    setHeaders(anyExchange, { date: 'Invalid Date' }),
    'Each answer has a date, to which a retry-after is relative',
  ],
  ['sets a cookie', setHeaders(anyExchange, { 'set-cookie': 'session=1' }), 'No answer sets a cookie'],
  ['has a server header', setHeaders(anyExchange, { server: 'example' }), 'No answer has a server header'],
];
