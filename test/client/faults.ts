import { ANSWER_LIMIT_BYTES } from '../../client/src/transport.js';
import type { Exchange } from './exchange.js';
import { at } from './harness.js';

/** Handles a request in place of the correct answer. */
export type Fault = (exchange: Exchange) => void;

const JSON_TYPE = { 'content-type': 'application/json' };
const PROBLEM_TYPE = { 'content-type': 'application/problem+json' };
/** The body of a problem that asks the client to stop. Each fault that sends it makes it invalid. */
const STOP = JSON.stringify({
  title: 'Revoked',
  status: 403,
  code: 'license_revoked',
  detail: 'A stop that must not be obeyed.',
  client_action: 'stop',
});

/** Sends a confirmation with these members changed. */
const confirmed =
  (changes: Record<string, unknown>): Fault =>
  (exchange) =>
    exchange.json(200, exchange.service.confirmation(changes));
/** Sends this text as the body of an answer. */
const body =
  (text: string | Buffer, status = 200, headers: Record<string, string> = JSON_TYPE): Fault =>
  (exchange) =>
    exchange.send(status, headers, text);

/** Faults of the network, of intermediaries and of a broken server: the client must treat each as no answer. */
export const NO_ANSWERS = {
  'no response': (exchange) => exchange.stall(),
  'a response that never ends': (exchange) => exchange.stall('{"token":'),
  'a connection that is closed without a response': (exchange) => exchange.cut(),
  'an incomplete answer': (exchange) => {
    exchange.begin(200, JSON_TYPE);
    exchange.cut('{"token":"t');
  },
  'an incomplete stop': (exchange) => {
    exchange.begin(403, { ...PROBLEM_TYPE, 'content-length': '9999' });
    exchange.cut(STOP);
  },
  'a stop shorter than its content-length': (exchange) => {
    exchange.begin(403, { ...PROBLEM_TYPE, 'content-length': String(STOP.length + 1), connection: 'close' });
    exchange.response.write(STOP, () => exchange.response.socket!.end());
  },
  'bytes that are not HTTP': (exchange) => exchange.sendBytes('SSH-2.0-OpenSSH_9.9\r\n\r\n'),
  'a captive portal’s page': (exchange) => exchange.page(200),
  'a captive portal’s page that calls itself JSON': body('<html>Sign in</html>'),
  'a captive portal’s redirect': (exchange) => exchange.page(302, { location: 'https://portal.example/' }),
  'a redirect that says stop': body(STOP, 307, { ...PROBLEM_TYPE, location: '/elsewhere' }),
  'a proxy’s 403': (exchange) => exchange.page(403),
  'a proxy’s 502': (exchange) => exchange.page(502),
  'a 500': (exchange) => exchange.json(500, { error: 'internal' }),
  'a stop as plain JSON': body(STOP, 403),
  'a stop with status 200': body(STOP, 200, PROBLEM_TYPE),
  'a stop with status 202': body(STOP, 202, PROBLEM_TYPE),
  'a stop without a code': body('{"client_action":"stop","detail":"x"}', 403, PROBLEM_TYPE),
  'a stop whose code is a number': body('{"client_action":"stop","code":1}', 403, PROBLEM_TYPE),
  'a stop in a list': body(`[${STOP}]`, 403, PROBLEM_TYPE),
  'invalid UTF-8': body(Buffer.from([0xff, 0xfe, 0x7b])),
  'an empty answer': body(''),
  'an answer that is too large': (exchange) => confirmed({ x: 'x'.repeat(ANSWER_LIMIT_BYTES) })(exchange),
  'a stop that is too large': body(
    STOP.replace('{', `{"x":"${'x'.repeat(ANSWER_LIMIT_BYTES)}",`),
    403,
    PROBLEM_TYPE,
  ),
  'a 503 without a retry-after': (exchange) => exchange.page(503),
  'a 503 with a retry-after of two minutes': (exchange) => exchange.busy(503, '120', 120),
  'a 503 with a date as its retry-after': (exchange) =>
    exchange.busy(503, new Date(exchange.service.now() + 900_000).toUTCString(), 900),
  'a 503 with a retry-after in the past': (exchange) =>
    exchange.busy(503, 'Thu, 19 Nov 2026 13:00:00 GMT', 0),
  'a 503 with a retry-after of zero': (exchange) => exchange.busy(503, '0', 0),
  'a 503 with a retry-after of ten years': (exchange) => exchange.busy(503, '315360000', 315_360_000),
  'a 503 with a negative retry-after': (exchange) => exchange.busy(503, '-120'),
  'a 429 with a retry-after that is not a time': (exchange) => exchange.busy(429, 'soon'),
  'a 429 with a retry-after of 90 seconds': (exchange) => exchange.busy(429, '90', 90),
} as const satisfies Record<string, Fault>;

/** Answers with status 200 whose JSON is not a confirmation. */
export const WRONG_SHAPES = {
  null: body('null'),
  'a list': body('[]'),
  text: body('"ok"'),
  'no member at all': body('{}'),
  'no license': confirmed({ license: undefined }),
  'a license that is a list': confirmed({ license: [] }),
  'an expiry that is not a time': confirmed({ license: { status: 'active', expires_at: 'never' } }),
  'no token': confirmed({ token: undefined }),
  'an empty token': confirmed({ token: '' }),
  'a token that is a number': confirmed({ token: 7 }),
  'a token that is too long': confirmed({ token: 't'.repeat(2049) }),
  'no offline_until': confirmed({ offline_until: null }),
  'an offline_until that has passed': (exchange) =>
    confirmed({ offline_until: at(exchange.service.now() - 1) })(exchange),
  'a server_time that is not a time': confirmed({ server_time: 'now' }),
} as const satisfies Record<string, Fault>;

/** Problem documents that the client must follow as `retry`, whatever action they name. */
export const RETRY_PROBLEMS = {
  'a stop with status 500': (exchange) => exchange.problem(500, 'license_revoked', 'stop'),
  'a stop with status 503': (exchange) => exchange.problem(503, 'license_refunded', 'stop'),
  'a reactivate with status 500': (exchange) => exchange.problem(500, 'token_invalid', 'reactivate'),
  internal_error: (exchange) => exchange.problem(500, 'internal_error', 'retry'),
  'an unknown action': (exchange) => exchange.problem(403, 'license_asleep', 'self_destruct'),
  'no action': (exchange) => exchange.problem(403, 'license_asleep', ''),
  'an action that is a list': (exchange) =>
    exchange.problem(403, 'license_asleep', '', { client_action: ['stop'] }),
} as const satisfies Record<string, Fault>;

/** Problem documents that report a bug of the client. */
export const FIX_PROBLEMS = {
  not_found: (exchange) => exchange.problem(404, 'not_found', 'fix'),
  invalid_request: (exchange) =>
    exchange.problem(422, 'invalid_request', 'fix', { errors: [{ pointer: '/token', detail: 'no' }] }),
} as const satisfies Record<string, Fault>;
