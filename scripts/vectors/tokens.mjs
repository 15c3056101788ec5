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

/** Signs a compact JWS. The header and the payload are texts, and the key may differ from the one that the header names. */
export function jws({ key = CURRENT, head = header(key), payload = JSON.stringify(CLAIMS) } = {}) {
  const input = `${base64url(head)}.${base64url(payload)}`;
  return `${input}.${signature(key, input)}`;
}

export function tokens() {
  const published = jws();
  const [head, payload, signatureText] = published.split('.');
  const other = { ...CLAIMS, sub: '0198f3c2-7b1a-7c3d-9e4f-a1b2c3d4e5f7' };
  const [, otherPayload] = jws({ payload: JSON.stringify(other) }).split('.');

  const genuineCase = (name, claims, key = CURRENT) => ({
    name,
    token: jws({ key, payload: JSON.stringify(claims) }),
    product: PRODUCT,
    genuine: true,
    claims,
  });
  const refusedCase = (name, reason, token, product = PRODUCT) => ({
    name,
    token,
    product,
    genuine: false,
    reason,
  });
  const wrongHeaderCase = (name, change) =>
    refusedCase(name, 'another_header', jws({ head: header(CURRENT, change) }));
  const wrongClaimsCase = (name, change) =>
    refusedCase(name, 'wrong_claims', jws({ payload: JSON.stringify({ ...CLAIMS, ...change }) }));

  const hmacHead = header(CURRENT, { alg: 'HS256' });
  const hmacInput = `${base64url(hmacHead)}.${payload}`;
  const hmac = createHmac('sha256', CURRENT.published.x).update(hmacInput).digest('base64url');

  return {
    description:
      'License tokens that a service must accept or refuse. The service holds `key` and `second_key`; a token that is not genuine is answered with 403 token_invalid. What a client may read of its own token is in token-reading.json; it stores the token and sends it back unchanged.',
    key: CURRENT.published,
    second_key: NEXT.published,
    machine_id: 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
    header: header(CURRENT),
    claims: JSON.stringify(CLAIMS),
    token: published,
    cases: [
      genuineCase('The published token is genuine.', CLAIMS),
      genuineCase('A license without an expiry has lxp null.', { ...CLAIMS, lxp: null }),
      genuineCase('A token of the other key of the ring is genuine, as after a rotation.', CLAIMS, NEXT),
      genuineCase('A token that expired in 2020 is genuine: its age is no reason to refuse it.', {
        ...CLAIMS,
        lxp: null,
        iat: 1577836800,
        exp: 1578441600,
      }),
      genuineCase(
        'A token whose license has expired is genuine: only the database decides about the license.',
        {
          ...CLAIMS,
          lxp: 1577836800,
        },
      ),
      refusedCase('Text that is not a token is refused.', 'wrong_shape', 'not a token'),
      refusedCase('A token with two segments is refused.', 'wrong_shape', `${head}.${payload}`),
      refusedCase('A token with four segments is refused.', 'wrong_shape', `${published}.${signatureText}`),
      refusedCase('An empty signature is refused.', 'wrong_shape', `${head}.${payload}.`),
      refusedCase('Space before a token is refused.', 'wrong_shape', ` ${published}`),
      refusedCase('A line end after a token is refused.', 'wrong_shape', `${published}\n`),
      wrongHeaderCase('The alg EdDSA is refused: this format uses Ed25519.', { alg: 'EdDSA' }),
      wrongHeaderCase('alg none is refused, even with a genuine signature.', { alg: 'none' }),
      refusedCase(
        'alg none with a signature of one byte is refused.',
        'another_header',
        `${base64url(header(CURRENT, { alg: 'none' }))}.${payload}.AA`,
      ),
      refusedCase(
        'alg HS256 with the public key as its secret is refused.',
        'another_header',
        `${hmacInput}.${hmac}`,
      ),
      wrongHeaderCase('Another typ is refused, even with a genuine signature.', { typ: 'JWT' }),
      wrongHeaderCase('An unknown kid is refused.', { kid: 'unknown' }),
      refusedCase(
        'The kid of another key of the ring is refused.',
        'wrong_signature',
        jws({ head: header(NEXT) }),
      ),
      wrongHeaderCase('An additional header member is refused.', { crit: [] }),
      refusedCase(
        'The same header members in another order are refused.',
        'another_header',
        jws({ head: JSON.stringify({ typ: 'license+jwt', kid: CURRENT.published.kid, alg: 'Ed25519' }) }),
      ),
      refusedCase(
        'A signature of a key that the service never had is refused under the kid of that key.',
        'another_header',
        jws({ key: UNKNOWN }),
      ),
      refusedCase(
        'A signature of a key that the service never had is refused under a kid of the service.',
        'wrong_signature',
        jws({ key: UNKNOWN, head: header(CURRENT) }),
      ),
      refusedCase(
        'One changed byte of the payload breaks the signature.',
        'wrong_signature',
        `${head}.${base64url(JSON.stringify(CLAIMS).replace('"lxp":1798761600', '"lxp":1998761600'))}.${signatureText}`,
      ),
      refusedCase(
        'The payload of another token breaks the signature.',
        'wrong_signature',
        `${head}.${otherPayload}.${signatureText}`,
      ),
      refusedCase(
        'One changed character of the signature is refused.',
        'wrong_signature',
        `${head}.${payload}.${replaceAt(signatureText, 0, (first) => (first === 'd' ? 'e' : 'd'))}`,
      ),
      refusedCase(
        'The same 64 bytes in another encoding are refused: the last base64url character has unused bits set.',
        'wrong_signature',
        `${head}.${payload}.${replaceAt(signatureText, -1, () => 'B')}`,
      ),
      refusedCase('Base64 padding is refused.', 'wrong_signature', `${published}==`),
      refusedCase(
        'The alphabet of plain base64 is refused.',
        'wrong_signature',
        `${head}.${payload}.${signatureText.replaceAll('-', '+').replaceAll('_', '/')}`,
      ),
      refusedCase(
        'A genuine token of another product is refused.',
        'wrong_audience',
        published,
        'com.example.other',
      ),
      wrongClaimsCase('A list of audiences is refused, although it contains this product.', {
        aud: [PRODUCT],
      }),
      refusedCase(
        'Another issuer is refused.',
        'wrong_issuer',
        jws({ payload: JSON.stringify({ ...CLAIMS, iss: 'other' }) }),
      ),
      wrongClaimsCase('sub must be a UUID.', { sub: 'x' }),
      wrongClaimsCase('lic must be a text.', { lic: 7 }),
      wrongClaimsCase('mch must be a text.', { mch: null }),
      wrongClaimsCase('lxp must be whole seconds or null.', { lxp: 'never' }),
      wrongClaimsCase('lxp must be whole.', { lxp: 1798761600.5 }),
      wrongClaimsCase('lxp must be present.', { lxp: undefined }),
      wrongClaimsCase('iat must be a number.', { iat: '1795179600' }),
      wrongClaimsCase('exp must be present.', { exp: undefined }),
      refusedCase(
        'A payload that is a list is refused.',
        'wrong_claims',
        jws({ payload: `[${JSON.stringify(CLAIMS)}]` }),
      ),
      refusedCase('A payload that is not JSON is refused.', 'wrong_claims', jws({ payload: '{' })),
    ],
  };
}
