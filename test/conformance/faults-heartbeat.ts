import {
  heartbeatConfirmed,
  and,
  withCode,
  withPointer,
  onlyNumbers,
  refusing,
  replaying,
  rewrite,
  to,
} from './fault.js';
import type { FaultCase, ExchangeFilter } from './fault.js';

const heartbeat = to('/v1/heartbeat');
const withTelemetry: ExchangeFilter = (exchange) =>
  heartbeatConfirmed(exchange) && exchange.requestBody.telemetry !== undefined;
const plain: ExchangeFilter = (exchange) =>
  heartbeatConfirmed(exchange) && exchange.requestBody.telemetry === undefined;
/** Accepts a forged token: the answer is a copy of the previous confirmation. */
const acceptsForged = (sent: (token: string) => unknown) =>
  replaying(
    heartbeatConfirmed,
    and(withCode('token_invalid'), ({ requestBody }) => sent(requestBody.token)),
  );
const header = (token: string) => Buffer.from(token.split('.')[0]!, 'base64url').toString();
/** ExchangeFilter of the refused tokens it is, in the order of the checks. */
const forgery = (number: number) => {
  const forged = and(withCode('token_invalid'), ({ requestBody }) =>
    /^[\w-]+\.[\w-]+\.[\w-]*$/.test(requestBody.token),
  );
  return onlyNumbers(forged, number, number, refusing(forged, 'license_revoked'));
};
const dropping = (change: (names: string[]) => string[]) =>
  rewrite(
    and(withTelemetry, ({ requestBody }) => requestBody.telemetry?.cpu_cores),
    (json) => {
      json['telemetry'].dropped = change(json['telemetry'].dropped);
    },
  );
const storing = (which: (telemetry: unknown) => boolean) =>
  rewrite(
    and(withTelemetry, ({ requestBody }) => which(requestBody.telemetry)),
    (json) => {
      json['telemetry'].stored = true;
    },
  );

export const HEARTBEAT_FAULTS: readonly FaultCase[] = [
  [
    'omits expires_at from the first heartbeat',
    onlyNumbers(
      heartbeatConfirmed,
      1,
      1,
      rewrite(heartbeatConfirmed, (json) => void delete json['license'].expires_at),
    ),
    'A heartbeat is answered with 200, a new token, its times and the license',
  ],
  [
    'allows one hour offline after a heartbeat',
    rewrite(heartbeatConfirmed, (json) => void (json['offline_until'] = '2026-11-20T14:00:00Z')),
    'offline_until of a heartbeat is 7 days after server_time, and the next heartbeat is due earlier',
  ],
  [
    'mentions telemetry that was not sent',
    rewrite(plain, (json) => void (json['telemetry'] = { stored: false, dropped: [] })),
    'The answer has no telemetry member if the request has none',
  ],
  [
    'refuses the refreshed token',
    onlyNumbers(heartbeatConfirmed, 2, 2, refusing(heartbeatConfirmed, 'token_invalid')),
    'The refreshed token works',
  ],
  [
    'refuses the previous token',
    onlyNumbers(heartbeatConfirmed, 3, 3, refusing(heartbeatConfirmed, 'token_invalid')),
    'The previous token still works, so a lost answer does no harm',
  ],
  [
    'refuses unknown members',
    refusing(
      and(heartbeatConfirmed, ({ requestBody }) => requestBody.conformance),
      'malformed_request',
    ),
    'Unknown members of a heartbeat are ignored',
  ],
  [
    'stops a client for a changed token',
    forgery(1),
    'A token with one character changed in its middle is token_invalid, and the client activates again',
  ],
  [
    'stops a client for a changed signature',
    forgery(2),
    'A token with one character changed near its end is token_invalid, and the client activates again',
  ],
  [
    'accepts alg none',
    acceptsForged((token) => header(token).includes('none')),
    'A token without a signature, alg none, is token_invalid, and the client activates again',
  ],
  [
    'accepts alg HS256',
    acceptsForged((token) => header(token).includes('HS256')),
    'A token of alg HS256 is token_invalid, and the client activates again',
  ],
  [
    'stops a client for a token of another service',
    forgery(5),
    'A token signed with an unknown key is token_invalid, and the client activates again',
  ],
  [
    'fails at a token of 2 KiB',
    refusing(
      and(heartbeat, ({ requestBody }) => requestBody.token?.length === 2048),
      'internal_error',
    ),
    'A text of 2 KiB that is not a token is token_invalid too',
    'No request is answered with a status of 500 or above',
  ],
  [
    'accepts tokens of any length',
    refusing(
      and(heartbeat, ({ requestBody }) => requestBody.token?.length === 2049),
      'token_invalid',
    ),
    'A token over 2 KiB is 422 at /token',
  ],
  [
    'treats an empty token as one of another service',
    refusing(
      and(heartbeat, ({ requestBody }) => requestBody.token === ''),
      'token_invalid',
    ),
    'An empty token is 422 at /token',
  ],
  [
    'lists only the first missing member',
    rewrite(
      and(heartbeat, ({ requestBody }) => requestBody.token === undefined),
      (json) => {
        json['errors']?.splice(1);
      },
    ),
    'All missing members of a heartbeat are listed',
  ],
  [
    'accepts any version',
    refusing(
      and(
        heartbeat,
        and(withPointer('/app_version'), ({ requestBody }) => requestBody.token),
      ),
      'token_invalid',
    ),
    'A wrong app_version of a heartbeat is 422 at /app_version',
  ],
  [
    'omits dropped',
    rewrite(withTelemetry, (json) => void delete json['telemetry'].dropped),
    'Valid telemetry is answered with stored: true and an empty dropped',
  ],
  [
    'refuses invalid telemetry',
    refusing(
      and(withTelemetry, ({ requestBody }) => requestBody.telemetry?.cpu_cores),
      'invalid_request',
      {
        errors: [{ pointer: '/telemetry', detail: 'No.' }],
      },
    ),
    'Telemetry with invalid values is answered with 200 and stored: true',
  ],
  [
    'accepts a fraction as an integer',
    dropping((names) => names.filter((name) => name !== 'camera_count')),
    'Members with an invalid value are listed in dropped',
  ],
  [
    'stores addresses',
    dropping((names) => names.filter((name) => name !== 'crash_label')),
    'Members whose text looks like an address, a UUID, a URL or a path are listed in dropped',
  ],
  [
    'lists unknown members in dropped',
    dropping((names) => [...names, 'conformance']),
    'An unknown member is not listed in dropped',
  ],
  [
    'reports stored: true for null',
    storing((telemetry) => telemetry === null),
    'A telemetry that is null is answered with 200 and stored: false',
  ],
  [
    'reports stored: true for a list',
    storing(Array.isArray),
    'A telemetry that is a list is answered with 200 and stored: false',
  ],
  [
    'reports stored: true for a text',
    storing((telemetry) => typeof telemetry === 'string'),
    'A telemetry that is a text is answered with 200 and stored: false',
  ],
  [
    'refuses large telemetry',
    refusing(
      and(withTelemetry, ({ requestBody }) => requestBody.telemetry?.conformance?.length > 8000),
      'body_too_large',
    ),
    'A telemetry that is an object over 8 KiB is answered with 200 and stored: false',
  ],
];
