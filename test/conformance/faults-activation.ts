import {
  activationConfirmed,
  both,
  withCode,
  withPointer,
  onlyAnswersNumbered,
  refuse,
  replay,
  changeJson,
  requestTo,
} from './fault.js';
import type { FaultCase, ExchangeFilter } from './fault.js';

const changeId = changeJson(activationConfirmed, (json) => {
  json['activation'].id = '0198f3c2-7b1a-7c3d-9e4f-a1b2c3d4e5f6';
});
const activationRequested = requestTo('/v1/activate');
const memberMatches =
  (pattern: RegExp, member: string): ExchangeFilter =>
  ({ requestBody }) =>
    pattern.test(String(requestBody[member]));
/** Accepts the selected invalid values of a member: the answer is license_not_found, because the license is unknown. */
const acceptInvalid = (pointer: string, filter: ExchangeFilter) =>
  refuse(both(activationRequested, both(withPointer(pointer), filter)), 'license_not_found');

/** Faults in the answers to activations. The clock of the service is always at 2026-11-20T13:00:00Z. */
export const ACTIVATION_FAULTS: readonly FaultCase[] = [
  [
    'answers the first activation with the content type text/plain',
    onlyAnswersNumbered(
      activationConfirmed,
      1,
      1,
      () => (exchange) => void (exchange.headers['content-type'] = 'text/plain'),
    ),
    'An activation is answered with 201, or with 200 if the machine is already activated',
  ],
  [
    'answers the first activation with a server_time that is a number',
    onlyAnswersNumbered(
      activationConfirmed,
      1,
      1,
      changeJson(activationConfirmed, (json) => void (json['server_time'] = 1_795_179_600)),
    ),
    'The answer has the token, offline_until, server_time and heartbeat_after_seconds',
    'offline_until is 7 days after server_time, and the next heartbeat is due before offline_until',
  ],
  [
    'allows 8 days offline',
    changeJson(activationConfirmed, (json) => void (json['offline_until'] = '2026-11-28T13:00:00Z')),
    'offline_until is 7 days after server_time, and the next heartbeat is due before offline_until',
    'A token that is a JWS verifies with these keys, and its exp is offline_until',
  ],
  [
    'answers with a time that has a fraction and another offset than Z',
    changeJson(
      activationConfirmed,
      (json) => void (json['activation'].activated_at = '2026-11-20T13:00:00.5+01:00'),
    ),
    'The answer has the activation: id (a UUIDv7), activated_at and hostname_hint',
  ],
  [
    'answers with a license that is not active',
    changeJson(activationConfirmed, (json) => void (json['license'].status = 'expired')),
    'The answer has the license: status active, expires_at or null, machines allowed and in use',
  ],
  [
    'gives the second activation another id',
    onlyAnswersNumbered(activationConfirmed, 2, 2, changeId),
    'A second activation of the machine is answered with 200, the same id and the same activated_at',
  ],
  [
    'gives one of the concurrent activations another id',
    // The answers 3 to 5 are those to the concurrent activations.
    onlyAnswersNumbered(activationConfirmed, 4, 4, changeId),
    'Concurrent activations are answered with the same activation',
  ],
  [
    'treats a machine id in upper case as another machine',
    refuse(both(activationRequested, memberMatches(/[A-F]/, 'machine_id')), 'machine_limit_reached'),
    'A machine id in upper case is the same machine',
  ],
  [
    'does not trim keys',
    refuse(both(activationRequested, memberMatches(/^\s/, 'license_key')), 'license_not_found'),
    'Space around the key and the e-mail address is ignored, and so is their case',
  ],
  [
    'refuses look-alikes',
    refuse(both(activationRequested, memberMatches(/_.*[OIL]/i, 'license_key')), 'invalid_request', {
      errors: [{ pointer: '/license_key', detail: 'No.' }],
    }),
    "Crockford's look-alikes in a key are accepted: O for 0, I and L for 1",
  ],
  [
    'changes the label of an active machine',
    () => {
      let hint: string | undefined;
      const changeHint = changeJson(
        activationConfirmed,
        (json) => void (json['activation'].hostname_hint = hint),
      );
      return (exchange) => {
        if (/renamed/.test(exchange.requestBody.hostname_hint)) hint = exchange.requestBody.hostname_hint;
        if (hint) changeHint()(exchange);
      };
    },
    'hostname_hint is never changed by a later activation',
  ],
  [
    'refuses a blank hostname_hint',
    refuse(both(activationConfirmed, memberMatches(/^\s+$/, 'hostname_hint')), 'invalid_request', {
      errors: [{ pointer: '/hostname_hint', detail: 'No.' }],
    }),
    'A blank hostname_hint counts as missing and is no error',
  ],
  [
    'refuses unknown members',
    refuse(
      both(activationConfirmed, ({ requestBody }) => requestBody.conformance),
      'malformed_request',
    ),
    'Unknown members of an activation are ignored',
  ],
  [
    'repeats an unknown member in the answer',
    changeJson(activationConfirmed, (json, { requestBody }) => ({
      ...json,
      conformance: requestBody.conformance,
    })),
    'Unknown members of an activation are ignored',
  ],
  [
    'lists only the first missing member',
    changeJson(
      both(
        activationRequested,
        ({ requestBody }) => requestBody.email === undefined && requestBody.hostname_hint,
      ),
      (json) => {
        json['errors']?.splice(1);
      },
    ),
    'All missing members are listed, each with its JSON pointer',
  ],
  [
    'accepts a number for one member that must be a text',
    changeJson(
      both(activationRequested, ({ requestBody }) => requestBody.hostname_hint === 7),
      (json) => void json['errors'].pop(),
    ),
    'All members that are not texts are listed',
  ],
  [
    'answers a NUL with internal_error',
    refuse(both(activationRequested, memberMatches(/\0/, 'email')), 'internal_error'),
    'A NUL in a member is refused with 422, never a 500',
    'No request is answered with a status of 500 or above',
  ],
  [
    'answers an unpaired surrogate with internal_error',
    refuse(both(activationRequested, memberMatches(/\ud83d/, 'email')), 'internal_error'),
    'An unpaired surrogate in a member is refused with 422, never a 500',
    'No request is answered with a status of 500 or above',
  ],
  [
    'accepts a license key of five groups',
    acceptInvalid('/license_key', memberMatches(/-QKX6-QKX6$/, 'license_key')),
    'A wrong license_key is refused with 422 at /license_key',
  ],
  [
    'accepts an e-mail address of 255 characters',
    acceptInvalid('/email', memberMatches(/aaa/, 'email')),
    'A wrong email is refused with 422 at /email',
  ],
  [
    'accepts a UUID as a machine id',
    acceptInvalid('/machine_id', memberMatches(/-4000-/, 'machine_id')),
    'A wrong machine_id is refused with 422 at /machine_id',
  ],
  [
    'accepts a label of 101 characters',
    acceptInvalid('/hostname_hint', memberMatches(/xxx/, 'hostname_hint')),
    'A wrong hostname_hint is refused with 422 at /hostname_hint',
  ],
  [
    'accepts a version of five parts',
    acceptInvalid('/app_version', memberMatches(/^1\.2/, 'app_version')),
    'A wrong app_version is refused with 422 at /app_version',
  ],
  [
    'ignores the check symbol',
    acceptInvalid('/license_key', memberMatches(/X7$/, 'license_key')),
    'A key with a wrong check symbol is refused with 422 at /license_key',
  ],
  [
    'says that the e-mail address is wrong',
    // The unknown key of that check ends with TB3R-QKX6. Its answer is not changed, so the two answers differ.
    changeJson(
      both(withCode('license_not_found'), memberMatches(/(?<!-TB3R-QKX6)$/, 'license_key')),
      (json) => {
        json['detail'] = 'The e-mail address is not that of the license.';
      },
    ),
    'An unknown key and another e-mail address have the same answer, byte for byte',
  ],
  [
    'omits portal_url',
    changeJson(withCode('machine_limit_reached'), (json) => void delete json['portal_url']),
    'A machine above the limit is refused with 409, the numbers of machines, portal_url and release_url',
  ],
  [
    'omits the machine that waits from release_url',
    changeJson(withCode('machine_limit_reached'), (json) => {
      json['release_url'] = json['release_url'].replace(/&.*/, '');
    }),
    'A machine above the limit is refused with 409, the numbers of machines, portal_url and release_url',
  ],
  [
    'has no machine limit',
    // The replayed answer has the token of the first machine, so the check of `mch` fails too.
    replay(activationConfirmed, withCode('machine_limit_reached')),
    'A token that is a JWS names the machine of its request in mch, and its iat is 7 days before its exp',
    'A machine above the limit is refused with 409, the numbers of machines, portal_url and release_url',
  ],
  [
    'counts a refused machine as in use',
    // The fault changes the activations that are confirmed after the refusal.
    () => {
      let refused = false;
      return (exchange) => {
        if (withCode('machine_limit_reached')(exchange)) refused = true;
        if (refused)
          changeJson(activationConfirmed, (json) => void (json['license'].machines_in_use += 1))()(exchange);
      };
    },
    'No refused activation counts as a machine in use',
  ],
];
