import { beat, both, coded, naming, ofNumber, refusing, replaying, rewrite, to } from './fault.js';
import type { Broken, Which } from './fault.js';

const heartbeat = to('/v1/heartbeat');
const withTelemetry: Which = (exchange) => beat(exchange) && exchange.asked.telemetry !== undefined;
const plain: Which = (exchange) => beat(exchange) && exchange.asked.telemetry === undefined;
/** Takes a forged token: its answer is that to the heartbeat before. */
const takes = (sent: (token: string) => unknown) =>
  replaying(
    beat,
    both(coded('token_invalid'), ({ asked }) => sent(asked.token)),
  );
const header = (token: string) => Buffer.from(token.split('.')[0]!, 'base64url').toString();
/** Which of the refused tokens it is, in the order of the checks. */
const forgery = (number: number) => {
  const forged = both(coded('token_invalid'), ({ asked }) => /^[\w-]+\.[\w-]+\.[\w-]*$/.test(asked.token));
  return ofNumber(forged, number, number, refusing(forged, 'license_revoked'));
};
const dropping = (change: (names: string[]) => string[]) =>
  rewrite(
    both(withTelemetry, ({ asked }) => asked.telemetry?.cpu_cores),
    (json) => {
      json['telemetry'].dropped = change(json['telemetry'].dropped);
    },
  );
const storing = (which: (telemetry: unknown) => boolean) =>
  rewrite(
    both(withTelemetry, ({ asked }) => which(asked.telemetry)),
    (json) => {
      json['telemetry'].stored = true;
    },
  );

export const HEARTBEAT_FAULTS: readonly Broken[] = [
  [
    'refreshes no token',
    ofNumber(
      beat,
      1,
      1,
      rewrite(beat, (json) => void delete json['license'].expires_at),
    ),
    'A heartbeat answers 200 with a new token, its times, and the license',
  ],
  [
    'lets the refreshed token hold for an hour',
    rewrite(beat, (json) => void (json['offline_until'] = '2026-11-20T14:00:00Z')),
    'The new token holds 7 days offline, and the next heartbeat is due before that',
  ],
  [
    'mentions telemetry that was not sent',
    rewrite(plain, (json) => void (json['telemetry'] = { stored: false, dropped: [] })),
    'Without telemetry in the request there is none in the answer',
  ],
  [
    'refuses the refreshed token',
    ofNumber(beat, 2, 2, refusing(beat, 'token_invalid')),
    'The refreshed token works',
  ],
  [
    'refuses the token before it',
    ofNumber(beat, 3, 3, refusing(beat, 'token_invalid')),
    'The token before it goes on working: a lost answer costs nothing',
  ],
  [
    'knows no members but its own',
    refusing(
      both(beat, ({ asked }) => asked.conformance),
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
    'takes alg none',
    takes((token) => header(token).includes('none')),
    'A token without a signature, alg none, is token_invalid, and the client activates again',
  ],
  [
    'takes alg HS256',
    takes((token) => header(token).includes('HS256')),
    'A token of alg HS256 is token_invalid, and the client activates again',
  ],
  [
    'stops a client for a token of another service',
    forgery(5),
    'A token signed with an unknown key is token_invalid, and the client activates again',
  ],
  [
    'reads no token over 1 KiB',
    refusing(
      both(heartbeat, ({ asked }) => asked.token?.length === 2048),
      'internal_error',
    ),
    'A text of 2 KiB that is no token is token_invalid too',
    'Whatever is sent, nothing is an error of the service',
  ],
  [
    'reads tokens of any length',
    refusing(
      both(heartbeat, ({ asked }) => asked.token?.length === 2049),
      'token_invalid',
    ),
    'A token over 2 KiB is 422 at /token',
  ],
  [
    'takes an empty token for one of another service',
    refusing(
      both(heartbeat, ({ asked }) => asked.token === ''),
      'token_invalid',
    ),
    'An empty token is 422 at /token',
  ],
  [
    'names the first missing member alone',
    rewrite(
      both(heartbeat, ({ asked }) => asked.token === undefined),
      (json) => {
        json['errors']?.splice(1);
      },
    ),
    'Missing members of a heartbeat are all named',
  ],
  [
    'takes any version',
    refusing(
      both(
        heartbeat,
        both(naming('/app_version'), ({ asked }) => asked.token),
      ),
      'token_invalid',
    ),
    'A wrong app_version of a heartbeat is 422 at /app_version',
  ],
  [
    'does not say what it dropped',
    rewrite(withTelemetry, (json) => void delete json['telemetry'].dropped),
    'A good block answers stored: true, and nothing was dropped',
  ],
  [
    'refuses bad telemetry',
    refusing(
      both(withTelemetry, ({ asked }) => asked.telemetry?.cpu_cores),
      'invalid_request',
      {
        errors: [{ pointer: '/telemetry', detail: 'No.' }],
      },
    ),
    'A block full of bad values answers 200 and stored: true',
  ],
  [
    'takes a number that is none',
    dropping((names) => names.filter((name) => name !== 'camera_count')),
    'A bad value of a known member is named in dropped',
  ],
  [
    'stores addresses',
    dropping((names) => names.filter((name) => name !== 'crash_label')),
    'A text that looks like an address, a UUID, a URL or a path is named in dropped',
  ],
  [
    'tells which members it does not know',
    dropping((names) => [...names, 'conformance']),
    'An unknown member is dropped in silence',
  ],
  [
    'stores nothing, and says otherwise',
    storing((telemetry) => telemetry === null),
    'A telemetry that is null answers stored: false, and still 200',
  ],
  ['stores lists', storing(Array.isArray), 'A telemetry that is a list answers stored: false, and still 200'],
  [
    'stores texts',
    storing((telemetry) => typeof telemetry === 'string'),
    'A telemetry that is a text answers stored: false, and still 200',
  ],
  [
    'refuses what is large',
    refusing(
      both(withTelemetry, ({ asked }) => asked.telemetry?.conformance?.length > 8000),
      'body_too_large',
    ),
    'A telemetry that is an object over 8 KiB answers stored: false, and still 200',
  ],
];
