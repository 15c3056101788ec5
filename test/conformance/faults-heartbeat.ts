import {
  heartbeatConfirmed,
  both,
  withCode,
  withPointer,
  onlyAnswersNumbered,
  refuse,
  replay,
  changeJson,
  setHeaders,
  requestTo,
} from './fault.js';
import type { FaultCase, ExchangeFilter } from './fault.js';

const heartbeatRequested = requestTo('/v1/heartbeat');
const heartbeatWithTelemetry: ExchangeFilter = (exchange) =>
  heartbeatConfirmed(exchange) && exchange.requestBody.telemetry !== undefined;
const heartbeatWithoutTelemetry: ExchangeFilter = (exchange) =>
  heartbeatConfirmed(exchange) && exchange.requestBody.telemetry === undefined;
/** Accepts the forged tokens that `isAccepted` selects: the answer is a copy of the previous confirmation. */
const acceptForged = (isAccepted: (token: string) => unknown) =>
  replay(
    heartbeatConfirmed,
    both(withCode('token_invalid'), ({ requestBody }) => isAccepted(requestBody.token)),
  );
const headerOf = (token: string) => Buffer.from(token.split('.')[0]!, 'base64url').toString();
/** Refuses one forged token with license_revoked. @param number its position among the forged tokens, counted from 1 */
const refuseForgery = (number: number) => {
  const forgeryRefused = both(withCode('token_invalid'), ({ requestBody }) =>
    /^[\w-]+\.[\w-]+\.[\w-]*$/.test(requestBody.token),
  );
  return onlyAnswersNumbered(forgeryRefused, number, number, refuse(forgeryRefused, 'license_revoked'));
};
/** Changes the list of dropped members in the answer to the invalid telemetry. */
const changeDropped = (change: (names: string[]) => string[]) =>
  changeJson(
    both(heartbeatWithTelemetry, ({ requestBody }) => requestBody.telemetry?.cpu_cores),
    (json) => {
      json['telemetry'].dropped = change(json['telemetry'].dropped);
    },
  );
/** Reports stored: true for the telemetry that `filter` selects. */
const reportStored = (filter: (telemetry: unknown) => boolean) =>
  changeJson(
    both(heartbeatWithTelemetry, ({ requestBody }) => filter(requestBody.telemetry)),
    (json) => {
      json['telemetry'].stored = true;
    },
  );

/** Faults in the answers to heartbeats. */
export const HEARTBEAT_FAULTS: readonly FaultCase[] = [
  [
    'answers the first heartbeat with a media type that only begins with application/json',
    onlyAnswersNumbered(
      heartbeatConfirmed,
      1,
      1,
      setHeaders(heartbeatConfirmed, { 'content-type': 'application/json-seq' }),
    ),
    'A heartbeat is answered with 200, a token, its times and the license',
  ],
  [
    'omits expires_at from the first heartbeat',
    onlyAnswersNumbered(
      heartbeatConfirmed,
      1,
      1,
      changeJson(heartbeatConfirmed, (json) => void delete json['license'].expires_at),
    ),
    'A heartbeat is answered with 200, a token, its times and the license',
  ],
  [
    'allows one hour offline after a heartbeat',
    changeJson(heartbeatConfirmed, (json) => void (json['offline_until'] = '2026-11-20T14:00:00Z')),
    'offline_until of a heartbeat is 7 days after server_time, and the next heartbeat is due before offline_until',
    'A token that is a JWS verifies with these keys, and its exp is offline_until',
  ],
  [
    'answers with a telemetry member to a heartbeat without telemetry',
    changeJson(
      heartbeatWithoutTelemetry,
      (json) => void (json['telemetry'] = { stored: false, dropped: [] }),
    ),
    'The answer has no telemetry member if the request has none',
  ],
  [
    'refuses the refreshed token',
    // The second confirmed heartbeat has the refreshed token, and the third has the previous token.
    onlyAnswersNumbered(heartbeatConfirmed, 2, 2, refuse(heartbeatConfirmed, 'token_invalid')),
    'The refreshed token works',
  ],
  [
    'refuses the previous token',
    onlyAnswersNumbered(heartbeatConfirmed, 3, 3, refuse(heartbeatConfirmed, 'token_invalid')),
    'The previous token still works, so a lost answer does no harm',
  ],
  [
    'refuses unknown members',
    refuse(
      both(heartbeatConfirmed, ({ requestBody }) => requestBody.conformance),
      'malformed_request',
    ),
    'Unknown members of a heartbeat are ignored',
  ],
  [
    'stops a client for a changed token',
    refuseForgery(1),
    'A token with one character changed in its claims is refused with token_invalid, so that the client activates again',
  ],
  [
    'stops a client for a changed signature',
    refuseForgery(2),
    'A token with one character changed near its end is refused with token_invalid, so that the client activates again',
  ],
  [
    'accepts alg none',
    acceptForged((token) => headerOf(token).includes('none')),
    'A token without a signature, alg none, is refused with token_invalid, so that the client activates again',
  ],
  [
    'accepts alg HS256',
    acceptForged((token) => headerOf(token).includes('HS256')),
    'A token of alg HS256 is refused with token_invalid, so that the client activates again',
  ],
  [
    'stops a client for a token that is signed with an unknown key',
    refuseForgery(5),
    'A token signed with an unknown key is refused with token_invalid, so that the client activates again',
  ],
  [
    'answers a token of 2 KiB with internal_error',
    refuse(
      both(heartbeatRequested, ({ requestBody }) => requestBody.token?.length === 2048),
      'internal_error',
    ),
    'A text of 2 KiB that is not a token is refused with token_invalid too',
    'No request is answered with a status of 500 or above',
  ],
  [
    'answers a token over 2 KiB with token_invalid',
    refuse(
      both(heartbeatRequested, ({ requestBody }) => requestBody.token?.length === 2049),
      'token_invalid',
    ),
    'A token over 2 KiB is refused with 422 at /token',
  ],
  [
    'answers an empty token with token_invalid',
    refuse(
      both(heartbeatRequested, ({ requestBody }) => requestBody.token === ''),
      'token_invalid',
    ),
    'An empty token is refused with 422 at /token',
  ],
  [
    'lists only the first missing member',
    changeJson(
      both(heartbeatRequested, ({ requestBody }) => requestBody.token === undefined),
      (json) => {
        json['errors']?.splice(1);
      },
    ),
    'All missing members of a heartbeat are listed',
  ],
  [
    'answers an invalid version with token_invalid',
    refuse(
      both(
        heartbeatRequested,
        both(withPointer('/app_version'), ({ requestBody }) => requestBody.token),
      ),
      'token_invalid',
    ),
    'A wrong app_version of a heartbeat is refused with 422 at /app_version',
  ],
  [
    'omits dropped',
    changeJson(heartbeatWithTelemetry, (json) => void delete json['telemetry'].dropped),
    'Valid telemetry is answered with stored: true and an empty dropped',
  ],
  [
    'refuses invalid telemetry',
    refuse(
      both(heartbeatWithTelemetry, ({ requestBody }) => requestBody.telemetry?.cpu_cores),
      'invalid_request',
      {
        errors: [{ pointer: '/telemetry', detail: 'No.' }],
      },
    ),
    'Telemetry with invalid values is answered with 200 and stored: true',
  ],
  [
    'does not list a fraction in place of an integer in dropped',
    changeDropped((names) => names.filter((name) => name !== 'camera_count')),
    'Members with an invalid value are listed in dropped',
  ],
  [
    'does not list a text that looks like an IP address in dropped',
    changeDropped((names) => names.filter((name) => name !== 'crash_label')),
    'Members whose text looks like an address, a UUID or a path are listed in dropped',
  ],
  [
    'lists unknown members in dropped',
    changeDropped((names) => [...names, 'conformance']),
    'An unknown member is not listed in dropped',
  ],
  [
    'reports stored: true for null',
    reportStored((telemetry) => telemetry === null),
    'Telemetry that is null is answered with 200 and stored: false',
  ],
  [
    'reports stored: true for a list',
    reportStored(Array.isArray),
    'Telemetry that is a list is answered with 200 and stored: false',
  ],
  [
    'reports stored: true for a text',
    reportStored((telemetry) => typeof telemetry === 'string'),
    'Telemetry that is a text is answered with 200 and stored: false',
  ],
  [
    'refuses large telemetry',
    refuse(
      both(heartbeatWithTelemetry, ({ requestBody }) => requestBody.telemetry?.conformance?.length > 8000),
      'body_too_large',
    ),
    'Telemetry that is an object over 8 KiB is answered with 200 and stored: false',
  ],
];
