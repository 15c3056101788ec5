// The cases of license-tokens.json.
import { createHmac } from 'node:crypto';
import { CURRENT, NEXT, UNKNOWN, PRODUCT, base64url, signature, replaceAt } from './keys.mjs';

export const CLAIMS = {
  iss: 'mooring',
  aud: PRODUCT,
  sub: '0198f3c2-7b1a-7c3d-9e4f-a1b2c3d4e5f6',
  lic: '01980000-0000-7000-8000-000000000001',
  mch: 'fZ6NEsEw-i7IFMWg8kihXA',
  lxp: 1798761600,
  iat: 1795179600,
  exp: 1795784400,
};

export function header(key, change = {}) {
  return JSON.stringify({ alg: 'Ed25519', kid: key.published.kid, typ: 'license+jwt', ...change });
}

/** A compact JWS; the header and the payload are texts, the key need not be the one that the header names. */
export function jws({ key = CURRENT, head = header(key), payload = JSON.stringify(CLAIMS) } = {}) {
  const input = `${base64url(head)}.${base64url(payload)}`;
  return `${input}.${signature(key, input)}`;
}

export function tokens() {
  const published = jws();
  const [head, payload, mark] = published.split('.');
  const other = { ...CLAIMS, sub: '0198f3c2-7b1a-7c3d-9e4f-a1b2c3d4e5f7' };
  const [, otherPayload] = jws({ payload: JSON.stringify(other) }).split('.');

  const good = (name, claims, key = CURRENT) => ({
    name,
    token: jws({ key, payload: JSON.stringify(claims) }),
    product: PRODUCT,
    genuine: true,
    claims,
  });
  const bad = (name, reason, token, product = PRODUCT) => ({ name, token, product, genuine: false, reason });
  const withHeader = (name, change) => bad(name, 'another_header', jws({ head: header(CURRENT, change) }));
  const withClaims = (name, change) =>
    bad(name, 'wrong_claims', jws({ payload: JSON.stringify({ ...CLAIMS, ...change }) }));

  const hmacHead = header(CURRENT, { alg: 'HS256' });
  const hmacInput = `${base64url(hmacHead)}.${payload}`;
  const hmac = createHmac('sha256', CURRENT.published.x).update(hmacInput).digest('base64url');

  return {
    description:
      'License tokens for a service to tell apart. The service holds `key` and `second_key`; a token that is not genuine is answered with 403 token_invalid. What a client may read of its own token is in token-reading.json; it keeps what it got, and sends it back.',
    key: CURRENT.published,
    second_key: NEXT.published,
    machine_id: 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
    header: header(CURRENT),
    claims: JSON.stringify(CLAIMS),
    token: published,
    cases: [
      good('The published token is genuine.', CLAIMS),
      good('A license without an expiry has lxp null.', { ...CLAIMS, lxp: null }),
      good('A token of the other key of the ring is genuine, as after a rotation.', CLAIMS, NEXT),
      good('Age is no reason to refuse: a token that ended in 2020 is genuine.', {
        ...CLAIMS,
        lxp: null,
        iat: 1577836800,
        exp: 1578441600,
      }),
      good('A token whose license has expired is genuine: only the database says what holds.', {
        ...CLAIMS,
        lxp: 1577836800,
      }),
      bad('Text that is no token is none.', 'wrong_shape', 'not a token'),
      bad('Two segments are no token.', 'wrong_shape', `${head}.${payload}`),
      bad('Four segments are no token.', 'wrong_shape', `${published}.${mark}`),
      bad('An empty signature is none.', 'wrong_shape', `${head}.${payload}.`),
      bad('Space before a token makes it another text.', 'wrong_shape', ` ${published}`),
      bad('A line end after a token makes it another text.', 'wrong_shape', `${published}\n`),
      withHeader('The polymorphic name alg EdDSA is not the one this format uses.', { alg: 'EdDSA' }),
      withHeader('alg none is refused, even with a genuine signature.', { alg: 'none' }),
      bad(
        'alg none without a signature is refused.',
        'another_header',
        `${base64url(header(CURRENT, { alg: 'none' }))}.${payload}.AA`,
      ),
      bad(
        'alg HS256 with the public key as its secret is refused.',
        'another_header',
        `${hmacInput}.${hmac}`,
      ),
      withHeader('Another typ is another kind of token, whatever signed it.', { typ: 'JWT' }),
      withHeader('An unknown kid is refused.', { kid: 'unknown' }),
      withHeader('The kid of another key of the ring does not fit this signature.', {
        kid: NEXT.published.kid,
      }),
      withHeader('One more header member makes another header.', { crit: [] }),
      bad(
        'The same header members in another order are another header.',
        'another_header',
        jws({ head: JSON.stringify({ typ: 'license+jwt', kid: CURRENT.published.kid, alg: 'Ed25519' }) }),
      ),
      bad(
        'A key that the service never had signs no token, under its own kid.',
        'another_header',
        jws({ key: UNKNOWN }),
      ),
      bad(
        'A key that the service never had signs no token, under a kid of the service.',
        'wrong_signature',
        jws({ key: UNKNOWN, head: header(CURRENT) }),
      ),
      bad(
        'One changed byte of the payload breaks the signature.',
        'wrong_signature',
        `${head}.${base64url(JSON.stringify(CLAIMS).replace('"lxp":1798761600', '"lxp":1998761600'))}.${mark}`,
      ),
      bad(
        'The payload of another token breaks the signature.',
        'wrong_signature',
        `${head}.${otherPayload}.${mark}`,
      ),
      bad(
        'One changed character of the signature is refused.',
        'wrong_signature',
        `${head}.${payload}.${replaceAt(mark, 0, (first) => (first === 'd' ? 'e' : 'd'))}`,
      ),
      bad(
        'The same 64 bytes in another spelling are refused: the last character has unused bits set.',
        'wrong_signature',
        `${head}.${payload}.${replaceAt(mark, -1, () => 'B')}`,
      ),
      bad('Base64 padding is refused.', 'wrong_signature', `${published}==`),
      bad(
        'The alphabet of plain base64 is refused.',
        'wrong_signature',
        `${head}.${payload}.${mark.replaceAll('-', '+').replaceAll('_', '/')}`,
      ),
      bad('A genuine token of another product is refused.', 'wrong_audience', published, 'com.example.other'),
      bad(
        'A list of audiences is refused, though it holds this product.',
        'wrong_claims',
        jws({ payload: JSON.stringify({ ...CLAIMS, aud: [PRODUCT] }) }),
      ),
      bad(
        'Another issuer is refused.',
        'wrong_issuer',
        jws({ payload: JSON.stringify({ ...CLAIMS, iss: 'other' }) }),
      ),
      withClaims('sub must be a UUID.', { sub: 'x' }),
      withClaims('lic must be a text.', { lic: 7 }),
      withClaims('mch must be a text.', { mch: null }),
      withClaims('lxp must be whole seconds or null.', { lxp: 'never' }),
      withClaims('lxp must be whole.', { lxp: 1798761600.5 }),
      withClaims('lxp must be there.', { lxp: undefined }),
      withClaims('iat must be a number.', { iat: '1795179600' }),
      withClaims('exp must be there.', { exp: undefined }),
      bad(
        'A payload that is a list is refused.',
        'wrong_claims',
        jws({ payload: `[${JSON.stringify(CLAIMS)}]` }),
      ),
      bad('A payload that is no JSON is refused.', 'wrong_claims', jws({ payload: '{' })),
    ],
  };
}
