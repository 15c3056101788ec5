import {
  activated,
  beat,
  both,
  header,
  instead,
  manifest,
  ofNumber,
  refusing,
  rewrite,
  to,
} from './fault.js';
import type { Broken, Which } from './fault.js';

const asked: Which = (exchange) => to('/v1/manifest')(exchange) && exchange.method !== 'DELETE';
const keys = to('/v1/keys');
const VERIFIES = 'A signature verifies with a key of /v1/keys, and no longer once any byte is changed';

/** Changes what is signed; the signature goes with it. */
const signedAs = (change: (content: Record<string, unknown>) => unknown) =>
  rewrite(manifest, (json) => {
    const content = JSON.parse(json['signed']) as Record<string, unknown>;
    json['signed'] = JSON.stringify(change(content) ?? content);
  });

export const MANIFEST_FAULTS: readonly Broken[] = [
  [
    'answers with something else',
    instead(manifest, 200, []),
    'The manifest answers 200, or 404 no_version_published, which stops nothing',
  ],
  [
    'stops each client that asks while nothing is published',
    refusing(asked, 'no_version_published', { client_action: 'stop' }),
    'The manifest answers 200, or 404 no_version_published, which stops nothing',
    'Each code has the status and the client_action of the contract',
  ],
  [
    'has the manifest kept for a day',
    header(manifest, { 'cache-control': 'public, max-age=86400' }),
    'The manifest may be kept for 5 minutes, and for a day while the service is unavailable',
  ],
  [
    'varies on the language',
    header(manifest, { vary: 'accept-language' }),
    "The manifest varies on nothing of the client's",
  ],
  ['drops the etag', header(to('/v1/manifest'), { etag: undefined }), 'The manifest has a strong etag'],
  [
    'has a weak etag',
    () => (exchange) => {
      const { etag } = exchange.headers;
      if (etag) exchange.headers['etag'] = `W/${String(etag)}`;
    },
    'The manifest has a strong etag',
    '304 without a body to a client that has it, named by if-none-match',
  ],
  [
    'knows no 304',
    instead(({ status }) => status === 304, 200, {}),
    '304 without a body to a client that has it, named by if-none-match',
  ],
  [
    'gives 304 to anyone who names an etag',
    () => (exchange) => {
      if (exchange.askedHeaders['if-none-match'] && exchange.status === 200)
        Object.assign(exchange, { status: 304, body: Buffer.alloc(0) });
    },
    '200 with the whole of it to a client that has another',
  ],
  [
    'knows no HEAD',
    () => (exchange) => {
      if (exchange.method === 'HEAD') exchange.headers['etag'] = '"other"';
    },
    'HEAD answers as GET does, with the same headers',
  ],
  [
    'gives a browser another manifest',
    rewrite(
      both(manifest, ({ askedHeaders }) => askedHeaders.cookie),
      (json) => ({ ...json, version: '9.9.9' }),
    ),
    'The same bytes for everyone, whatever they say of themselves',
  ],
  [
    'reads the query string',
    refusing(({ path }) => path.includes('?'), 'malformed_request'),
    'A query string is ignored',
  ],
  [
    'signs nothing',
    rewrite(manifest, (json) => {
      json['signature'] = json['signatures'][0].signature = 'A'.repeat(86);
    }),
    VERIFIES,
  ],
  [
    'changes an outer member',
    rewrite(manifest, (json) => void (json['version'] = '9.9.9')),
    'The members beside signed are copies of what is signed',
  ],
  [
    'signs members in another order',
    signedAs(({ version, ...rest }) => ({ ...rest, version })),
    VERIFIES,
    'What is signed is ASCII JSON without floats, its members in their order',
  ],
  [
    'signs a number with a fraction',
    rewrite(
      manifest,
      (json) => void (json['signed'] = json['signed'].replace('"sequence":3', '"sequence":3.0')),
    ),
    VERIFIES,
    'What is signed is ASCII JSON without floats, its members in their order',
  ],
  [
    'signs for no product',
    signedAs((content) => void (content['product'] = 7)),
    VERIFIES,
    'What is signed tells type, product, sequence, times, version, image, minimum and previous',
  ],
  [
    'signs what has expired',
    signedAs((content) => void (content['expires_at'] = '2026-11-20T12:59:59Z')),
    VERIFIES,
    'The manifest is not past its expires_at',
  ],
  [
    'offers images without an address',
    signedAs(({ also_available, ...rest }) => ({
      ...rest,
      also_available: (also_available as object[]).map((entry) => ({ ...entry, dmg: {} })),
    })),
    VERIFIES,
    'also_available holds whole entries',
    'What is signed is ASCII JSON without floats, its members in their order',
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
    'shows no key set',
    instead(keys, 200, { keys: [] }),
    'The answer is a JWK Set',
    VERIFIES,
    'A token, where it is a JWS, verifies with them; its exp is offline_until',
  ],
  [
    'forbids to keep the keys',
    header(keys, { 'cache-control': 'no-store' }),
    'The keys may be kept by caches',
  ],
  [
    'shows a key of another kind',
    rewrite(keys, (json) => void json['keys'].push({ kty: 'RSA', n: 'x', e: 'AQAB' })),
    'Every key is an Ed25519 key, of tokens or of manifests',
    'The kid of each is its RFC 7638 thumbprint',
  ],
  [
    'shows a private key',
    rewrite(keys, (json) => void (json['keys'][0].d = 'x')),
    'Nothing of a private key is shown',
  ],
  [
    'names keys otherwise',
    rewrite(keys, (json) => void (json['keys'][1].kid = 'second')),
    'The kid of each is its RFC 7638 thumbprint',
  ],
  [
    'tells the e-mail address in a token',
    // Of a token that is not sent again.
    ofNumber(
      beat,
      3,
      3,
      rewrite(beat, (json) => {
        json['token'] += `.${Buffer.from('ada@example.com').toString('base64url')}`;
      }),
    ),
    'Neither e-mail address, label nor version stand in a token',
  ],
  [
    'tells another time than the token does',
    rewrite(activated, (json) => {
      json['offline_until'] = '2026-11-27T13:00:01Z';
      json['server_time'] = '2026-11-20T13:00:01Z';
    }),
    'A token, where it is a JWS, verifies with them; its exp is offline_until',
  ],
];
