import {
  activationConfirmed,
  heartbeatConfirmed,
  and,
  header,
  instead,
  manifest,
  onlyNumbers,
  refusing,
  rewrite,
  to,
} from './fault.js';
import type { FaultCase, ExchangeFilter } from './fault.js';

const manifestRequested: ExchangeFilter = (exchange) =>
  to('/v1/manifest')(exchange) && exchange.method !== 'DELETE';
const keys = to('/v1/keys');
const VERIFIES = 'A signature verifies with a key of /v1/keys, and fails if a byte is changed';

/** Changes the signed content, which makes the signature invalid. */
const signedAs = (change: (content: Record<string, unknown>) => unknown) =>
  rewrite(manifest, (json) => {
    const content = JSON.parse(json['signed']) as Record<string, unknown>;
    json['signed'] = JSON.stringify(change(content) ?? content);
  });

export const MANIFEST_FAULTS: readonly FaultCase[] = [
  [
    'answers with a list',
    instead(manifest, 200, []),
    'The manifest is answered with 200, or with 404 no_version_published, which stops no client',
  ],
  [
    'stops each client while no version is published',
    refusing(manifestRequested, 'no_version_published', { client_action: 'stop' }),
    'The manifest is answered with 200, or with 404 no_version_published, which stops no client',
    'Each code has the status and the client_action of the contract',
  ],
  [
    'allows caches to keep the manifest for a day',
    header(manifest, { 'cache-control': 'public, max-age=86400' }),
    'The manifest may be cached for 5 minutes, and for a day while the service is unavailable',
  ],
  [
    'varies on the language',
    header(manifest, { vary: 'accept-language' }),
    'The manifest has no vary header',
  ],
  ['drops the etag', header(to('/v1/manifest'), { etag: undefined }), 'The manifest has a strong etag'],
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
    instead(({ status }) => status === 304, 200, {}),
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
    rewrite(
      and(manifest, ({ requestHeaders }) => requestHeaders.cookie),
      (json) => ({ ...json, version: '9.9.9' }),
    ),
    'The bytes are the same whatever headers the client sends',
  ],
  [
    'reads the query string',
    refusing(({ path }) => path.includes('?'), 'malformed_request'),
    'A query string is ignored',
  ],
  [
    'has an invalid signature',
    rewrite(manifest, (json) => {
      json['signature'] = json['signatures'][0].signature = 'A'.repeat(86);
    }),
    VERIFIES,
  ],
  [
    'changes an outer member',
    rewrite(manifest, (json) => void (json['version'] = '9.9.9')),
    'The members beside signed are copies of signed content',
  ],
  [
    'signs members in another order',
    signedAs(({ version, ...rest }) => ({ ...rest, version })),
    VERIFIES,
    'The signed content is ASCII JSON without floats, with its members in the fixed order',
  ],
  [
    'signs a number with a fraction',
    rewrite(
      manifest,
      (json) => void (json['signed'] = json['signed'].replace('"sequence":3', '"sequence":3.0')),
    ),
    VERIFIES,
    'The signed content is ASCII JSON without floats, with its members in the fixed order',
  ],
  [
    'signs a product that is a number',
    signedAs((content) => void (content['product'] = 7)),
    VERIFIES,
    'The signed content has _type, product, sequence, times, version, dmg, minimum_license_expiry and previous',
  ],
  [
    'signs an expired manifest',
    signedAs((content) => void (content['expires_at'] = '2026-11-20T12:59:59Z')),
    VERIFIES,
    'The manifest has not expired',
  ],
  [
    'offers versions without a URL',
    signedAs(({ also_available, ...rest }) => ({
      ...rest,
      also_available: (also_available as object[]).map((entry) => ({ ...entry, dmg: {} })),
    })),
    VERIFIES,
    'The entries of also_available are complete',
    'The signed content is ASCII JSON without floats, with its members in the fixed order',
  ],
  [
    'offers the oldest first',
    signedAs((content) => {
      content['also_available'] = (content['also_available'] as object[]).toReversed();
    }),
    VERIFIES,
    'also_available is newest first, each with a lower minimum_license_expiry',
  ],
  [
    'publishes no keys',
    instead(keys, 200, { keys: [] }),
    'The answer is a JWK Set',
    VERIFIES,
    'A token that is a JWS verifies with these keys, and its exp is offline_until',
  ],
  [
    'forbids caches to keep the keys',
    header(keys, { 'cache-control': 'no-store' }),
    'The keys may be cached',
  ],
  [
    'publishes a key of another type',
    rewrite(keys, (json) => void json['keys'].push({ kty: 'RSA', n: 'x', e: 'AQAB' })),
    'Every key is an Ed25519 key, of tokens or of manifests',
    'The kid of each key is its RFC 7638 thumbprint',
  ],
  [
    'publishes a private key',
    rewrite(keys, (json) => void (json['keys'][0].d = 'x')),
    'No key has a private member',
  ],
  [
    'has a kid that is not the thumbprint',
    rewrite(keys, (json) => void (json['keys'][1].kid = 'second')),
    'The kid of each key is its RFC 7638 thumbprint',
  ],
  [
    'has the e-mail address in a token',
    // The token of this answer is not sent again.
    onlyNumbers(
      heartbeatConfirmed,
      3,
      3,
      rewrite(heartbeatConfirmed, (json) => {
        json['token'] += `.${Buffer.from('ada@example.com').toString('base64url')}`;
      }),
    ),
    'A token contains neither the e-mail address, nor the label, nor the version',
  ],
  [
    'answers with another offline_until than the token',
    rewrite(activationConfirmed, (json) => {
      json['offline_until'] = '2026-11-27T13:00:01Z';
      json['server_time'] = '2026-11-20T13:00:01Z';
    }),
    'A token that is a JWS verifies with these keys, and its exp is offline_until',
  ],
];
