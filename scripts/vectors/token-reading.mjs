// The cases of token-reading.json.
import { CURRENT, NEXT, UNKNOWN, base64url, replaceAt } from './keys.mjs';
import { CLAIMS, header, jws } from './tokens.mjs';

const MACHINE_ID = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';
const OTHER_MACHINE_ID = 'd84ff7a02ff241567cbb80f6670f9360217fa971826966778c6a9d5da1ae45c5';
const WEEK = 7 * 86_400;
/** The end of the year 9999. */
const LATEST = 253_402_300_799;
const at = (seconds) => new Date(seconds * 1000).toISOString();

export function tokenReadings() {
  const published = jws();
  const [head, payload, mark] = published.split('.');
  const end = at(CLAIMS.exp);
  const late = at(CLAIMS.exp + 400 * 86_400);
  const { mch, iat, exp } = CLAIMS;

  /** A case: what is given beside the published token, and what differs from its plain reading. */
  const reads = (name, given = {}, expected = {}) => ({
    name,
    token: published,
    offline_until: end,
    machine_id: MACHINE_ID,
    token_keys: [],
    ...given,
    expected: {
      claims: { mch, iat, exp },
      is_believable: true,
      offline_until: end,
      is_of_another_machine: false,
      ...expected,
    },
  });
  const opaque = (name, token) =>
    reads(name, { token, offline_until: late }, { claims: null, offline_until: late });
  const shipped = { token_keys: [CURRENT.published.x] };
  const refused = { is_believable: false };
  const withClaims = (change, key = CURRENT, head = header(key)) =>
    jws({ key, head, payload: JSON.stringify({ ...CLAIMS, ...change }) });
  const edited = `${head}.${base64url(JSON.stringify({ ...CLAIMS, exp: exp + 400 * 86_400 }))}.${mark}`;

  return {
    description:
      'Stored licenses for a client to read: what it may conclude from its own token, without the service.',
    key: CURRENT.published,
    second_key: NEXT.published,
    unknown_key: UNKNOWN.published,
    cases: [
      reads('A token of this machine is read without any key.'),
      reads('A token of this machine is believed under the shipped key.', shipped),
      reads('A token of the second shipped key is believed.', {
        token: withClaims({}, NEXT),
        token_keys: [CURRENT.published.x, NEXT.published.x],
      }),
      reads(
        'A token of another machine is recognised by its mch.',
        { machine_id: OTHER_MACHINE_ID },
        { is_of_another_machine: true },
      ),
      reads(
        'A token of another machine is recognised under the shipped key too.',
        { ...shipped, machine_id: OTHER_MACHINE_ID },
        { is_of_another_machine: true },
      ),
      reads('A machine id in upper case is the same machine.', { machine_id: MACHINE_ID.toUpperCase() }),
      reads('Where the machine id cannot be read, no token is of another machine.', { machine_id: null }),
      reads('An offline_until later than exp ends at exp.', { offline_until: late }),
      reads(
        'An offline_until earlier than exp counts.',
        { offline_until: at(iat + 3600) },
        { offline_until: at(iat + 3600) },
      ),
      reads(
        'An exp later than seven days after iat ends seven days after iat.',
        { token: withClaims({ exp: exp + 86_400 }), offline_until: late },
        { claims: { mch, iat, exp: exp + 86_400 }, offline_until: at(iat + WEEK) },
      ),
      reads(
        'An exp earlier than seven days after iat counts.',
        { token: withClaims({ exp: exp - 86_400 }) },
        { claims: { mch, iat, exp: exp - 86_400 }, offline_until: at(exp - 86_400) },
      ),
      reads(
        'An old token ends when it did.',
        { token: withClaims({ iat: 1577836800, exp: 1578441600 }) },
        { claims: { mch, iat: 1577836800, exp: 1578441600 }, offline_until: '2020-01-08T00:00:00.000Z' },
      ),
      reads('The other claims are not looked at, and lxp ends nothing.', {
        token: withClaims({ iss: undefined, aud: 'com.example.other', sub: 7, lic: undefined, lxp: 1 }),
      }),
      reads(
        'An edited exp is not noticed without keys, and ends seven days after iat all the same.',
        { token: edited, offline_until: late },
        { claims: { mch, iat, exp: exp + 400 * 86_400 } },
      ),
      reads(
        'An edited payload is not believed under the shipped key.',
        { ...shipped, token: edited, offline_until: late },
        { claims: { mch, iat, exp: exp + 400 * 86_400 }, ...refused },
      ),
      reads(
        'One changed character of the signature is not believed under the shipped key.',
        {
          ...shipped,
          token: `${head}.${payload}.${replaceAt(mark, 0, (first) => (first === 'd' ? 'e' : 'd'))}`,
        },
        refused,
      ),
      reads(
        'The same signature in another spelling is not believed under the shipped key.',
        { ...shipped, token: `${head}.${payload}.${replaceAt(mark, -1, () => 'B')}` },
        refused,
      ),
      reads(
        'Another key under the kid of the shipped one is not believed.',
        { ...shipped, token: jws({ key: UNKNOWN, head: header(CURRENT) }) },
        refused,
      ),
      reads(
        'alg none under the kid of the shipped key is not believed.',
        { ...shipped, token: `${base64url(header(CURRENT, { alg: 'none' }))}.${payload}.AA` },
        refused,
      ),
      reads('A kid that is not shipped is no failure: the service may have rotated its keys.', {
        ...shipped,
        token: jws({ key: UNKNOWN }),
      }),
      reads(
        'A kid that is not shipped is read like a token without keys.',
        { ...shipped, token: withClaims({ exp: exp - 86_400 }, UNKNOWN), offline_until: late },
        { claims: { mch, iat, exp: exp - 86_400 }, offline_until: at(exp - 86_400) },
      ),
      reads(
        'An exp more than seven days after iat is not believed under a kid that is not shipped.',
        { ...shipped, token: withClaims({ exp: exp + 1 }, UNKNOWN), offline_until: late },
        { claims: { mch, iat, exp: exp + 1 }, ...refused },
      ),
      reads(
        'An exp more than seven days after iat is believed under the shipped key, and ends seven days after iat.',
        { ...shipped, token: withClaims({ exp: exp + 1 }), offline_until: late },
        { claims: { mch, iat, exp: exp + 1 } },
      ),
      reads(
        'An exp equal to iat is not believed under a kid that is not shipped.',
        { ...shipped, token: withClaims({ exp: iat }, UNKNOWN) },
        { claims: { mch, iat, exp: iat }, ...refused, offline_until: at(iat) },
      ),
      reads(
        'An exp before iat is not believed under a kid that is not shipped.',
        { ...shipped, token: withClaims({ iat: exp, exp: iat }, UNKNOWN) },
        { claims: { mch, iat: exp, exp: iat }, ...refused, offline_until: at(iat) },
      ),
      reads(
        'An exp before iat ends at exp without keys, which is before the floor that iat sets.',
        { token: withClaims({ iat: exp, exp: iat }) },
        { claims: { mch, iat: exp, exp: iat }, offline_until: at(iat) },
      ),
      reads(
        'A token of the last minute of the year 9999 ends in that year.',
        {
          token: withClaims({ iat: LATEST - 60, exp: LATEST }),
          offline_until: '9999-12-31T23:59:59.999Z',
        },
        { claims: { mch, iat: LATEST - 60, exp: LATEST }, offline_until: at(LATEST) },
      ),
      reads(
        'The same under a kid that is not shipped: a future iat is no failure, and is the floor of the time seen.',
        {
          ...shipped,
          token: withClaims({ iat: LATEST - 60, exp: LATEST }, UNKNOWN),
          offline_until: '9999-12-31T23:59:59.999Z',
        },
        { claims: { mch, iat: LATEST - 60, exp: LATEST }, offline_until: at(LATEST) },
      ),
      reads(
        'Seven days after an iat at the end of the year 9999 end at exp, which is in that year.',
        {
          token: withClaims({ iat: LATEST, exp: LATEST }),
          offline_until: '9999-12-31T23:59:59.999Z',
        },
        { claims: { mch, iat: LATEST, exp: LATEST }, offline_until: at(LATEST) },
      ),
      opaque('Text that is no token is kept as it is, and offline_until alone counts.', 'v2:not-a-jws'),
      reads(
        'Text that is no token is not believed where a key is shipped.',
        { ...shipped, token: 'v2:not-a-jws', offline_until: late },
        { claims: null, ...refused, offline_until: late },
      ),
      opaque('Two segments are another format.', `${head}.${payload}`),
      opaque('Four segments are another format.', `${published}.${mark}`),
      opaque('Base64 padding is another format.', `${published}==`),
      opaque('A header without a kid is another format.', jws({ head: '{"alg":"Ed25519"}' })),
      opaque('A header that is no JSON is another format.', jws({ head: 'Ed25519' })),
      opaque('A payload that is no JSON is another format.', jws({ payload: '{' })),
      opaque('A payload that is a list is another format.', jws({ payload: '[]' })),
      opaque('A token without mch is another format.', withClaims({ mch: undefined })),
      opaque('A token whose iat is a text is another format.', withClaims({ iat: '1795179600' })),
      opaque('A token without exp is another format.', withClaims({ exp: undefined })),
      opaque('An exp that is not whole is another format.', withClaims({ exp: exp + 0.5 })),
      opaque('An exp before 1970 is another format.', withClaims({ exp: -1 })),
      opaque('An exp after the year 9999 is another format.', withClaims({ exp: LATEST + 1 })),
    ],
  };
}
