import { both, coded, header, instead, refusing, rewrite, to } from './fault.js';
import type { Broken } from './fault.js';

const any = () => true;
const activate = to('/v1/activate');
const refusal = ({ status }: { status: number }) => status >= 400;

export const REFUSAL_FAULTS: readonly Broken[] = [
  ['is dead', instead(to('/health/live'), 200, {}), 'GET /health/live answers that the process runs'],
  [
    'is not ready',
    instead(to('/health/ready'), 200, { status: 'ready', warnings: 'none' }),
    'GET /health/ready answers that it is ready, with the warnings for its operator',
  ],
  [
    'takes what is no JSON for an empty object',
    refusing(
      both(activate, ({ method, askedBytes }) => method === 'POST' && askedBytes.length === 0),
      'unsupported_media_type',
    ),
    'A body that is no JSON is 400 malformed_request',
  ],
  [
    'reads a list as an object',
    refusing(
      both(activate, ({ asked }) => Array.isArray(asked)),
      'invalid_request',
      {
        errors: [{ pointer: '/email', detail: 'No.' }],
      },
    ),
    'A JSON that is no object is 400 malformed_request',
  ],
  [
    'reads any bytes',
    refusing(({ askedBytes }) => askedBytes.includes(0xc0), 'license_not_found'),
    'Invalid UTF-8 is 400 malformed_request',
  ],
  [
    'stops a client for a broken heartbeat',
    refusing(both(to('/v1/heartbeat'), coded('malformed_request')), 'token_invalid'),
    'A heartbeat that is no JSON is 400 malformed_request',
  ],
  [
    'reads any type',
    refusing(coded('unsupported_media_type'), 'license_not_found'),
    'A body that is not declared as JSON is 415 unsupported_media_type',
  ],
  [
    'takes 10 KiB',
    refusing(({ askedBytes }) => askedBytes.length > 10_240, 'body_too_large'),
    'A body of 16 KiB is taken',
  ],
  [
    'takes any size',
    refusing(coded('body_too_large'), 'license_not_found'),
    'One byte more is 413 body_too_large',
  ],
  ['answers anything', instead(coded('not_found'), 200, {}), 'An unknown address is 404 not_found'],
  [
    'allows no method',
    header(coded('method_not_allowed'), { allow: undefined }),
    'Another method is 405 method_not_allowed, with allow',
  ],
  [
    'refuses with plain JSON',
    header(coded('not_found'), { 'content-type': 'application/json' }),
    'Every refusal is an application/problem+json document',
  ],
  [
    'refuses without saying why',
    rewrite(coded('not_found'), (json) => void delete json['detail']),
    'Each has type, title, status, code, detail, client_action and request_id',
  ],
  [
    'explains nothing',
    rewrite(coded('not_found'), (json) => void (json['type'] = 'about:blank')),
    'Each type is the address of /docs/errors at its code',
  ],
  [
    'stops a client for a body that is too large',
    rewrite(coded('body_too_large'), (json) => void (json['client_action'] = 'stop')),
    'Each code has the status and the client_action of the contract',
  ],
  [
    'stops a client for a forged token',
    rewrite(coded('token_invalid'), (json) => void (json['client_action'] = 'stop')),
    'Each code has the status and the client_action of the contract',
  ],
  [
    'names errors where there are none',
    rewrite(coded('license_not_found'), (json) => void (json['errors'] = [])),
    'errors is a member of invalid_request alone, each with pointer and detail',
  ],
  [
    'has one request id for all',
    rewrite(refusal, (json) => void (json['request_id'] = 'one')),
    'Each request_id is another',
  ],
  [
    'repeats what was asked for',
    rewrite(coded('not_found'), (json, { path }) => void (json['detail'] = `${path} is not here.`)),
    'No refusal repeats a submitted value',
  ],
  [
    'repeats the e-mail address',
    rewrite(coded('license_not_found'), (json, { asked }) => void (json['instance'] = asked.email)),
    'No refusal repeats a submitted value',
    'An unknown key and the e-mail address of someone else are one answer, byte for byte',
  ],
  [
    'is overloaded',
    refusing(coded('not_found'), 'unavailable'),
    'An unknown address is 404 not_found',
    'Whatever is sent, nothing is an error of the service',
  ],
  [
    'lets a heartbeat be kept',
    header(to('/v1/heartbeat'), { 'cache-control': 'public' }),
    'No answer is kept: cache-control is no-store, but for the manifest and the keys',
  ],
  ['sets a cookie', header(any, { 'set-cookie': 'session=1' }), 'No answer sets a cookie'],
  ['names its server', header(any, { server: 'example' }), 'No answer has a server header'],
];
