// The cases of token-reading.json. The file is long, because it is a table of cases.
import { CURRENT, NEXT, UNKNOWN, base64url, replaceAt } from './keys.mjs';
import { CLAIMS, header, jws } from './tokens.mjs';

const MACHINE_ID = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';
const OTHER_MACHINE_ID = 'd84ff7a02ff241567cbb80f6670f9360217fa971826966778c6a9d5da1ae45c5';
const WEEK_SECONDS = 7 * 86_400;
/** The end of the year 9999. */
const LATEST = 253_402_300_799;
const at = (seconds) => new Date(seconds * 1000).toISOString();

export function tokenReadings() {
  const published = jws();
  const [head, payload, signature] = published.split('.');
  const end = at(CLAIMS.exp);
  const late = at(CLAIMS.exp + 400 * 86_400);
  const { mch, iat, exp } = CLAIMS;

  /** Makes a case from what differs from the token of license-tokens.json and from its expected reading. */
  const readingCase = (name, given = {}, expected = {}) => ({
    name,
    token: published,
    offline_until: end,
    machine_id: MACHINE_ID,
    token_keys: [],
    ...given,
    expected: {
      claims: { mch, iat, exp },
      // Without token keys nothing is checked.
      is_believable: true,
      offline_until: end,
      is_of_another_machine: false,
      ...expected,
    },
  });
  /** Makes a case of a token whose format this client does not know, so that only offline_until counts. */
  const otherFormatCase = (name, token) =>
    readingCase(name, { token, offline_until: late }, { claims: null, offline_until: late });
  const withShippedKey = { token_keys: [CURRENT.published.x] };
  const notBelieved = { is_believable: false };
  const withClaims = (change, key = CURRENT, head = header(key)) =>
    jws({ key, head, payload: JSON.stringify({ ...CLAIMS, ...change }) });
  /** Replaces the value of a claim by a text that is written as it is. */
  const withRawClaim = (name, text) =>
    jws({ payload: JSON.stringify({ ...CLAIMS, [name]: '@' }).replace('"@"', text) });
  const editedToken = `${head}.${base64url(JSON.stringify({ ...CLAIMS, exp: exp + 400 * 86_400 }))}.${signature}`;

  return {
    description:
      'Stored licenses for a client to read: what it may conclude from its own token, without the service.',
    key: CURRENT.published,
    second_key: NEXT.published,
    unknown_key: UNKNOWN.published,
    cases: [
      readingCase('A token of this machine is read without any key.'),
      readingCase('A token of this machine is believed under the shipped key.', withShippedKey),
      readingCase('A token of the second shipped key is believed.', {
        token: withClaims({}, NEXT),
        token_keys: [CURRENT.published.x, NEXT.published.x],
      }),
      readingCase(
        'A token of another machine is recognized by its mch.',
        { machine_id: OTHER_MACHINE_ID },
        { is_of_another_machine: true },
      ),
      readingCase(
        'A token of another machine is recognized under the shipped key too.',
        { ...withShippedKey, machine_id: OTHER_MACHINE_ID },
        { is_of_another_machine: true },
      ),
      readingCase('A machine id in upper case is the same machine.', {
        machine_id: MACHINE_ID.toUpperCase(),
      }),
      readingCase('Where the machine id cannot be read, no token is of another machine.', {
        machine_id: null,
      }),
      readingCase('An offline_until later than exp ends at exp.', { offline_until: late }),
      readingCase(
        'An offline_until earlier than exp counts.',
        { offline_until: at(iat + 3600) },
        { offline_until: at(iat + 3600) },
      ),
      readingCase(
        'An exp later than seven days after iat ends seven days after iat.',
        { token: withClaims({ exp: exp + 86_400 }), offline_until: late },
        { claims: { mch, iat, exp: exp + 86_400 }, offline_until: at(iat + WEEK_SECONDS) },
      ),
      readingCase(
        'An exp earlier than seven days after iat counts.',
        { token: withClaims({ exp: exp - 86_400 }) },
        { claims: { mch, iat, exp: exp - 86_400 }, offline_until: at(exp - 86_400) },
      ),
      readingCase(
        'A token that expired long ago ends at its exp.',
        { token: withClaims({ iat: 1577836800, exp: 1578441600 }) },
        { claims: { mch, iat: 1577836800, exp: 1578441600 }, offline_until: '2020-01-08T00:00:00.000Z' },
      ),
      readingCase('The other claims are ignored: a license expiry (lxp) in the past ends nothing.', {
        token: withClaims({ iss: undefined, aud: 'com.example.other', sub: 7, lic: undefined, lxp: 1 }),
      }),
      readingCase(
        'Without keys an edited exp is not detected, and an offline start still ends seven days after iat.',
        { token: editedToken, offline_until: late },
        { claims: { mch, iat, exp: exp + 400 * 86_400 } },
      ),
      readingCase(
        'An edited payload is not believed under the shipped key.',
        { ...withShippedKey, token: editedToken, offline_until: late },
        { claims: { mch, iat, exp: exp + 400 * 86_400 }, ...notBelieved },
      ),
      readingCase(
        'One changed character of the signature is not believed under the shipped key.',
        {
          ...withShippedKey,
          token: `${head}.${payload}.${replaceAt(signature, 0, (first) => (first === 'd' ? 'e' : 'd'))}`,
        },
        notBelieved,
      ),
      readingCase(
        'The same signature in another encoding is not believed under the shipped key.',
        { ...withShippedKey, token: `${head}.${payload}.${replaceAt(signature, -1, () => 'B')}` },
        notBelieved,
      ),
      readingCase(
        'Another key under the kid of the shipped one is not believed.',
        { ...withShippedKey, token: jws({ key: UNKNOWN, head: header(CURRENT) }) },
        notBelieved,
      ),
      readingCase(
        'alg none under the kid of the shipped key is not believed.',
        { ...withShippedKey, token: `${base64url(header(CURRENT, { alg: 'none' }))}.${payload}.AA` },
        notBelieved,
      ),
      readingCase(
        'A token with a kid that is not shipped is believed: the service may have rotated its keys.',
        {
          ...withShippedKey,
          token: jws({ key: UNKNOWN }),
        },
      ),
      readingCase(
        'A token with a kid that is not shipped, whose exp is at most seven days after iat, ends at the same time as without keys.',
        { ...withShippedKey, token: withClaims({ exp: exp - 86_400 }, UNKNOWN), offline_until: late },
        { claims: { mch, iat, exp: exp - 86_400 }, offline_until: at(exp - 86_400) },
      ),
      readingCase(
        'An exp more than seven days after iat is not believed under a kid that is not shipped.',
        { ...withShippedKey, token: withClaims({ exp: exp + 1 }, UNKNOWN), offline_until: late },
        { claims: { mch, iat, exp: exp + 1 }, ...notBelieved },
      ),
      readingCase(
        'An exp more than seven days after iat is believed under the shipped key, and ends seven days after iat.',
        { ...withShippedKey, token: withClaims({ exp: exp + 1 }), offline_until: late },
        { claims: { mch, iat, exp: exp + 1 } },
      ),
      readingCase(
        'An exp equal to iat is not believed under a kid that is not shipped.',
        { ...withShippedKey, token: withClaims({ exp: iat }, UNKNOWN) },
        { claims: { mch, iat, exp: iat }, ...notBelieved, offline_until: at(iat) },
      ),
      readingCase(
        'An exp before iat is not believed under a kid that is not shipped.',
        { ...withShippedKey, token: withClaims({ iat: exp, exp: iat }, UNKNOWN) },
        { claims: { mch, iat: exp, exp: iat }, ...notBelieved, offline_until: at(iat) },
      ),
      readingCase(
        'Without keys a token whose exp is before iat ends at exp. No offline start is possible, because the highest time that the client has seen is at least iat.',
        { token: withClaims({ iat: exp, exp: iat }) },
        { claims: { mch, iat: exp, exp: iat }, offline_until: at(iat) },
      ),
      readingCase(
        'A token of the last minute of the year 9999 ends in that year.',
        {
          token: withClaims({ iat: LATEST - 60, exp: LATEST }),
          offline_until: '9999-12-31T23:59:59.999Z',
        },
        { claims: { mch, iat: LATEST - 60, exp: LATEST }, offline_until: at(LATEST) },
      ),
      readingCase(
        "A token of the last minute of the year 9999 is believed under a kid that is not shipped. It allows a minute at most: the client's time is at least its iat.",
        {
          ...withShippedKey,
          token: withClaims({ iat: LATEST - 60, exp: LATEST }, UNKNOWN),
          offline_until: '9999-12-31T23:59:59.999Z',
        },
        { claims: { mch, iat: LATEST - 60, exp: LATEST }, offline_until: at(LATEST) },
      ),
      readingCase(
        'A token whose iat and exp are the end of the year 9999 ends at exp, although iat + 7 days has no RFC 3339 form.',
        {
          token: withClaims({ iat: LATEST, exp: LATEST }),
          offline_until: '9999-12-31T23:59:59.999Z',
        },
        { claims: { mch, iat: LATEST, exp: LATEST }, offline_until: at(LATEST) },
      ),
      otherFormatCase(
        'Text that is no token is kept as it is, and offline_until alone counts.',
        'v2:not-a-jws',
      ),
      readingCase(
        'Text that is no token is not believed where a key is shipped.',
        { ...withShippedKey, token: 'v2:not-a-jws', offline_until: late },
        { claims: null, ...notBelieved, offline_until: late },
      ),
      otherFormatCase('Two segments are another format.', `${head}.${payload}`),
      otherFormatCase('Four segments are another format.', `${published}.${signature}`),
      otherFormatCase('Base64 padding is another format.', `${published}==`),
      otherFormatCase('A header without a kid is another format.', jws({ head: '{"alg":"Ed25519"}' })),
      otherFormatCase('A header that is no JSON is another format.', jws({ head: 'Ed25519' })),
      otherFormatCase('A payload that is no JSON is another format.', jws({ payload: '{' })),
      otherFormatCase('A payload that is a list is another format.', jws({ payload: '[]' })),
      otherFormatCase('A token without mch is another format.', withClaims({ mch: undefined })),
      otherFormatCase('A token whose iat is a text is another format.', withClaims({ iat: '1795179600' })),
      otherFormatCase('A token without exp is another format.', withClaims({ exp: undefined })),
      otherFormatCase('An exp that is not whole is another format.', withClaims({ exp: exp + 0.5 })),
      otherFormatCase('An exp before 1970 is another format.', withClaims({ exp: -1 })),
      otherFormatCase('An exp after the year 9999 is another format.', withClaims({ exp: LATEST + 1 })),
      otherFormatCase(
        'An iat that is true is another format: true is no number, although some languages read it as 1.',
        withClaims({ iat: true }),
      ),
      otherFormatCase('An exp that is NaN is another format: NaN is not JSON.', withRawClaim('exp', 'NaN')),
      otherFormatCase('An exp of 5,000 digits is another format.', withRawClaim('exp', '9'.repeat(5_000))),
      readingCase('An integer of 5,000 digits in another claim is ignored.', {
        token: withRawClaim('lxp', '9'.repeat(5_000)),
      }),
      readingCase('A whole number may be written with a fraction of zero.', {
        token: jws({ payload: JSON.stringify(CLAIMS).replace(/("iat":\d+)/, '$1.0') }),
      }),
      otherFormatCase(
        'A payload that is nested 33 levels deep is another format.',
        withRawClaim('lxp', '['.repeat(32) + ']'.repeat(32)),
      ),
      otherFormatCase(
        'Claims in capitals are other claims: a token without exp is another format.',
        withClaims({ exp: undefined, EXP: exp }),
      ),
    ],
  };
}
