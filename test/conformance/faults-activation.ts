import { activated, both, coded, naming, ofNumber, refusing, replaying, rewrite, to } from './fault.js';
import type { Broken, Which } from './fault.js';

const anotherId = rewrite(activated, (json) => {
  json['activation'].id = '0198f3c2-7b1a-7c3d-9e4f-a1b2c3d4e5f6';
});
const activate = to('/v1/activate');
const unlessText =
  (test: RegExp, member: string): Which =>
  ({ asked }) =>
    test.test(String(asked[member]));
/** Forgets a member's rule: a wrong value is answered as an unknown license. */
const forgets = (pointer: string, sent: Which) =>
  refusing(both(activate, both(naming(pointer), sent)), 'license_not_found');

export const ACTIVATION_FAULTS: readonly Broken[] = [
  [
    'answers an activation with 200 and no JSON',
    ofNumber(activated, 1, 1, () => (exchange) => void (exchange.headers['content-type'] = 'text/plain')),
    'A first activation answers 201, that of a machine which has a binding 200',
  ],
  [
    'tells no time to heartbeat',
    ofNumber(
      activated,
      1,
      1,
      rewrite(activated, (json) => void (json['server_time'] = 1_795_179_600)),
    ),
    'The answer holds a token, until when it holds offline, and when to call again',
    'A token holds 7 days offline, and the next heartbeat is due before that',
  ],
  [
    'lets a token hold for 8 days',
    rewrite(activated, (json) => void (json['offline_until'] = '2026-11-28T13:00:00Z')),
    'A token holds 7 days offline, and the next heartbeat is due before that',
    'A token, where it is a JWS, verifies with them; its exp is offline_until',
  ],
  [
    'tells times with fractions',
    rewrite(activated, (json) => void (json['activation'].activated_at = '2026-11-20T13:00:00.5+01:00')),
    'The answer tells the activation: a UUIDv7, since when, and under which label',
  ],
  [
    'tells of a license that is not active',
    rewrite(activated, (json) => void (json['license'].status = 'expired')),
    'The answer tells the license: active, its expiry or null, machines allowed and in use',
  ],
  [
    'gives the second activation another id',
    ofNumber(activated, 2, 2, anotherId),
    'The same machine again answers 200 with the same activation, since the same moment',
  ],
  [
    'gives one of the concurrent activations another id',
    ofNumber(activated, 4, 4, anotherId),
    'Called concurrently, it still answers with the same activation',
  ],
  [
    'takes upper case for another machine',
    refusing(both(activate, unlessText(/[A-F]/, 'machine_id')), 'machine_limit_reached'),
    'A machine id in upper case is the same machine',
  ],
  [
    'reads keys as they stand',
    refusing(both(activate, unlessText(/^\s/, 'license_key')), 'license_not_found'),
    'Key and e-mail are read kindly: space around them, and either case',
  ],
  [
    'knows no look-alikes',
    refusing(both(activate, unlessText(/_.*[OIL]/i, 'license_key')), 'invalid_request', {
      errors: [{ pointer: '/license_key', detail: 'No.' }],
    }),
    "Crockford's look-alikes in a key are read kindly: O for 0, I and L for 1",
  ],
  [
    'renames a machine',
    () => {
      let hint: string | undefined;
      const renamed = rewrite(activated, (json) => void (json['activation'].hostname_hint = hint));
      return (exchange) => {
        if (/renamed/.test(exchange.asked.hostname_hint)) hint = exchange.asked.hostname_hint;
        if (hint) renamed()(exchange);
      };
    },
    'hostname_hint is never changed by a later activation',
  ],
  [
    'demands a hostname_hint',
    refusing(both(activated, unlessText(/^\s+$/, 'hostname_hint')), 'invalid_request', {
      errors: [{ pointer: '/hostname_hint', detail: 'No.' }],
    }),
    'A blank hostname_hint means none, and is no error',
  ],
  [
    'knows no members but its own',
    refusing(
      both(activated, ({ asked }) => asked.conformance),
      'malformed_request',
    ),
    'Unknown members of an activation are ignored',
  ],
  [
    'repeats unknown members',
    rewrite(activated, (json, { asked }) => ({ ...json, conformance: asked.conformance })),
    'Unknown members of an activation are ignored',
  ],
  [
    'names the first missing member alone',
    rewrite(
      both(activate, ({ asked }) => asked.email === undefined && asked.hostname_hint),
      (json) => {
        json['errors']?.splice(1);
      },
    ),
    'Members that are missing are all named, each by its JSON pointer',
  ],
  [
    'reads numbers as texts',
    rewrite(
      both(activate, ({ asked }) => asked.hostname_hint === 7),
      (json) => void json['errors'].pop(),
    ),
    'Members that are no text are all named',
  ],
  [
    'falls over a NUL',
    refusing(both(activate, unlessText(/\0/, 'email')), 'internal_error'),
    'A NUL in a member is 422, never a 500',
    'Whatever is sent, nothing is an error of the service',
  ],
  [
    'falls over half a surrogate pair',
    refusing(both(activate, unlessText(/\ud83d/, 'email')), 'internal_error'),
    'An unpaired surrogate in a member is 422, never a 500',
    'Whatever is sent, nothing is an error of the service',
  ],
  [
    'takes any key',
    forgets('/license_key', unlessText(/-QKX6-QKX6$/, 'license_key')),
    'A wrong license_key is 422 at /license_key',
  ],
  ['takes any e-mail', forgets('/email', unlessText(/aaa/, 'email')), 'A wrong email is 422 at /email'],
  [
    'takes any machine id',
    forgets('/machine_id', unlessText(/-4000-/, 'machine_id')),
    'A wrong machine_id is 422 at /machine_id',
  ],
  [
    'takes any label',
    forgets('/hostname_hint', unlessText(/xxx/, 'hostname_hint')),
    'A wrong hostname_hint is 422 at /hostname_hint',
  ],
  [
    'takes any version',
    forgets('/app_version', unlessText(/^1\.2/, 'app_version')),
    'A wrong app_version is 422 at /app_version',
  ],
  [
    'knows no check symbol',
    forgets('/license_key', unlessText(/X7$/, 'license_key')),
    'A typing error in a key is found by its check symbol: 422 at /license_key',
  ],
  [
    'says that it is the e-mail address',
    rewrite(both(coded('license_not_found'), unlessText(/(?<!X6)$/, 'license_key')), (json) => {
      json['detail'] = 'The e-mail address is not that of the license.';
    }),
    'An unknown key and the e-mail address of someone else are one answer, byte for byte',
  ],
  [
    'tells of no portal',
    rewrite(coded('machine_limit_reached'), (json) => void delete json['portal_url']),
    'One machine too many is 409, with machines_allowed, machines_in_use and portal_url',
  ],
  [
    'counts no machines',
    replaying(activated, coded('machine_limit_reached')),
    'One machine too many is 409, with machines_allowed, machines_in_use and portal_url',
  ],
  [
    'takes a seat for what it refused',
    // The first that is answered after the limit was reached.
    () => {
      let refused = false;
      return (exchange) => {
        if (coded('machine_limit_reached')(exchange)) refused = true;
        if (refused) rewrite(activated, (json) => void (json['license'].machines_in_use += 1))()(exchange);
      };
    },
    'None of all this took a second seat',
  ],
];
