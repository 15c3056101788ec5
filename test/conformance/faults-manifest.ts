import {
  activationConfirmed,
  heartbeatConfirmed,
  both,
  setHeaders,
  replaceAnswer,
  manifestAnswered,
  onlyAnswersNumbered,
  refuse,
  changeJson,
  requestTo,
} from './fault.js';
import type { FaultCase, ExchangeFilter } from './fault.js';

/** Requests for the manifest, except with the method DELETE, which a check expects to be refused. */
const manifestRequested: ExchangeFilter = (exchange) =>
  requestTo('/v1/manifest')(exchange) && exchange.method !== 'DELETE';
const keysRequested = requestTo('/v1/keys');
const SIGNATURE_CHECK = 'A signature verifies with a key of /v1/keys, and fails if a byte is changed';

/** Changes the signed content in place, or replaces it by the value that `change` returns. This makes the signature invalid. */
const changeSignedContent = (change: (content: Record<string, unknown>) => unknown) =>
  changeJson(manifestAnswered, (json) => {
    const content = JSON.parse(json['signed']) as Record<string, unknown>;
    json['signed'] = JSON.stringify(change(content) ?? content);
  });

/** Changes the claims of the token that answers the second heartbeat, which no later check sends. Its signature becomes invalid. */
const changeClaims = (change: object) =>
  onlyAnswersNumbered(
    heartbeatConfirmed,
    2,
    2,
    changeJson(heartbeatConfirmed, (json) => {
      const [header, claims, signature] = String(json['token']).split('.');
      const changed = { ...JSON.parse(Buffer.from(claims!, 'base64url').toString()), ...change };
      json['token'] = [header, Buffer.from(JSON.stringify(changed)).toString('base64url'), signature].join(
        '.',
      );
    }),
  );
const TOKEN_CHECK = 'A token that is a JWS verifies with these keys, and its exp is offline_until';

/** Faults in the manifest, in the published keys, and in what a token contains. */
export const MANIFEST_FAULTS: readonly FaultCase[] = [
  [
    'answers with a list in place of the manifest',
    replaceAnswer(manifestAnswered, 200, []),
    'The manifest is answered with 200, or with 404 no_version_published and client_action retry',
  ],
  [
    'answers that no version is published, with the client_action stop',
    refuse(manifestRequested, 'no_version_published', { client_action: 'stop' }),
    'The manifest is answered with 200, or with 404 no_version_published and client_action retry',
    'Each code has the status and the client_action of the contract',
  ],
  [
    'allows caches to keep the manifest for a day',
    setHeaders(manifestAnswered, { 'cache-control': 'public, max-age=86400' }),
    'The manifest may be cached for 5 minutes, and for a day while the service is unavailable',
  ],
  [
    'has a vary header',
    setHeaders(manifestAnswered, { vary: 'accept-language' }),
    'The manifest has no vary header',
  ],
  [
    'has no etag',
    setHeaders(requestTo('/v1/manifest'), { etag: undefined }),
    'The manifest has a strong etag',
  ],
  [
    'has a weak etag',
    () => (exchange) => {
      const { etag } = exchange.headers;
      if (etag) exchange.headers['etag'] = `W/${String(etag)}`;
    },
    'The manifest has a strong etag',
    'A request with the etag in if-none-match is answered with 304, without a body',
  ],
  [
    'answers 200 instead of 304',
    replaceAnswer(({ status }) => status === 304, 200, {}),
    'A request with the etag in if-none-match is answered with 304, without a body',
  ],
  [
    'answers 304 to any etag',
    () => (exchange) => {
      if (exchange.requestHeaders['if-none-match'] && exchange.status === 200)
        Object.assign(exchange, { status: 304, body: Buffer.alloc(0) });
    },
    'A request with another etag is answered with 200 and the whole manifest',
  ],
  [
    'answers HEAD with another etag',
    () => (exchange) => {
      if (exchange.method === 'HEAD') exchange.headers['etag'] = '"other"';
    },
    'HEAD is answered like GET, with the same headers',
  ],
  [
    'answers a request with a cookie with another manifest',
    changeJson(
      both(manifestAnswered, ({ requestHeaders }) => requestHeaders.cookie),
      (json) => ({ ...json, version: '9.9.9' }),
    ),
    'The bytes are the same whatever headers the client sends',
  ],
  [
    'reads the query string',
    refuse(({ path }) => path.includes('?'), 'malformed_request'),
    'A query string is ignored',
  ],
  [
    'has an invalid signature',
    changeJson(manifestAnswered, (json) => {
      json['signature'] = json['signatures'][0].signature = 'A'.repeat(86);
    }),
    SIGNATURE_CHECK,
  ],
  [
    'has its signatures in padded base64, which no client accepts',
    changeJson(manifestAnswered, (json) => {
      for (const each of [json, ...json['signatures']]) each.signature += '==';
    }),
    'Each signature is 64 bytes in base64url without padding, and its key_id is a thumbprint',
  ],
  [
    'offers a version at an address with a user name',
    changeSignedContent((content) => {
      (content['dmg'] as { url: string }).url = 'https://user@dl.example.com/App.dmg';
    }),
    SIGNATURE_CHECK,
    'The signed content has _type, product, sequence, times, version, dmg, minimum_license_expiry and previous',
  ],
  [
    'changes an outer member',
    changeJson(manifestAnswered, (json) => void (json['version'] = '9.9.9')),
    'The other members of the manifest are copies of its signed content',
  ],
  [
    'has the signed members in another order',
    changeSignedContent(({ version, ...rest }) => ({ ...rest, version })),
    SIGNATURE_CHECK,
    'The signed content is ASCII JSON without floats, with its members in the fixed order',
  ],
  [
    'has a number with a fraction in the signed content',
    changeJson(
      manifestAnswered,
      (json) => void (json['signed'] = json['signed'].replace('"sequence":3', '"sequence":3.0')),
    ),
    SIGNATURE_CHECK,
    'The signed content is ASCII JSON without floats, with its members in the fixed order',
  ],
  [
    'has a number as the product in the signed content',
    changeSignedContent((content) => void (content['product'] = 7)),
    SIGNATURE_CHECK,
    'The signed content has _type, product, sequence, times, version, dmg, minimum_license_expiry and previous',
  ],
  [
    'has an expires_at in the past in the signed content',
    changeSignedContent((content) => void (content['expires_at'] = '2026-11-20T12:59:59Z')),
    SIGNATURE_CHECK,
    'The manifest has not expired',
  ],
  [
    'offers older versions without a URL',
    changeSignedContent((content) => {
      const entries = content['also_available'] as { dmg: { url?: string } }[];
      for (const { dmg } of entries) delete dmg.url;
    }),
    SIGNATURE_CHECK,
    'The entries of also_available are complete',
  ],
  [
    'has null in place of a list of older versions',
    changeSignedContent((content) => void (content['also_available'] = null)),
    SIGNATURE_CHECK,
    'The entries of also_available are complete',
    'also_available is sorted newest first, with a lower minimum_license_expiry for each older version',
  ],
  [
    'offers the oldest version first',
    changeSignedContent((content) => {
      content['also_available'] = (content['also_available'] as object[]).toReversed();
    }),
    SIGNATURE_CHECK,
    'also_available is sorted newest first, with a lower minimum_license_expiry for each older version',
  ],
  [
    'publishes no keys',
    replaceAnswer(keysRequested, 200, { keys: [] }),
    'The answer is a JWK Set',
    SIGNATURE_CHECK,
    TOKEN_CHECK,
  ],
  [
    'forbids caches to keep the keys',
    setHeaders(keysRequested, { 'cache-control': 'no-store' }),
    'The keys may be cached',
  ],
  [
    'publishes a key of another type',
    changeJson(keysRequested, (json) => void json['keys'].push({ kty: 'RSA', n: 'x', e: 'AQAB' })),
    'Every key is an Ed25519 key, of tokens or of manifests',
    'The kid of each key is its RFC 7638 thumbprint',
  ],
  [
    'publishes a private key',
    changeJson(keysRequested, (json) => void (json['keys'][0].d = 'x')),
    'No key has a private member',
  ],
  [
    'has a kid that is not the thumbprint',
    changeJson(keysRequested, (json) => void (json['keys'][1].kid = 'second')),
    'The kid of each key is its RFC 7638 thumbprint',
  ],
  [
    'has the e-mail address in a token',
    // The third heartbeat is changed, because no later check sends the token of its answer.
    onlyAnswersNumbered(
      heartbeatConfirmed,
      3,
      3,
      changeJson(heartbeatConfirmed, (json) => {
        json['token'] += `.${Buffer.from('ada@example.com').toString('base64url')}`;
      }),
    ),
    'A token contains neither the e-mail address, nor the label, nor the version',
  ],
  [
    'answers with an offline_until that is not the exp of the token',
    changeJson(activationConfirmed, (json) => {
      // Both times are one second later, so that they are still 7 days apart.
      json['offline_until'] = '2026-11-27T13:00:01Z';
      json['server_time'] = '2026-11-20T13:00:01Z';
    }),
    TOKEN_CHECK,
  ],
  [
    'answers a heartbeat with a token that ends before offline_until',
    onlyAnswersNumbered(
      heartbeatConfirmed,
      2,
      2,
      changeJson(heartbeatConfirmed, (json) => void (json['offline_until'] = '2026-11-27T13:00:01Z')),
    ),
    TOKEN_CHECK,
  ],
  [
    'issues a token for another machine',
    changeClaims({ mch: 'AAAAAAAAAAAAAAAAAAAAAA' }),
    TOKEN_CHECK,
    'A token that is a JWS names the machine of its request in mch, and its iat is 7 days before its exp',
  ],
  [
    'issues a token without the time of issue',
    changeClaims({ iat: undefined }),
    TOKEN_CHECK,
    'A token that is a JWS names the machine of its request in mch, and its iat is 7 days before its exp',
  ],
];
