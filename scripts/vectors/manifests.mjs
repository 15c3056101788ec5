// The cases of manifests.json: long, because it is a table of them.
import { CURRENT, NEXT, UNKNOWN, PRODUCT, sha256, signature, replaceAt } from './keys.mjs';

const dmg = (version) => ({
  url: `https://dl.example.com/App-${version}.dmg`,
  size: 187654321,
  sha256: sha256(`App-${version}.dmg`),
});
const entry = (version, minimum_license_expiry = null) => ({
  version,
  dmg: dmg(version),
  minimum_license_expiry,
});

/** The first manifest ever published here: also in docs, so its bytes stay. */
const FIRST = {
  _type: 'update-manifest/v1',
  product: PRODUCT,
  sequence: 42,
  issued_at: '2027-01-04T09:00:00Z',
  expires_at: '2027-04-04T09:00:00Z',
  version: '3.2.0',
  dmg: {
    url: 'https://dl.example.com/App-3.2.0.dmg',
    size: 187654321,
    sha256: '5a1f27070468f970992ccef42365d294ee8040990f76cb20d832e83ffbe14eb3',
  },
  minimum_license_expiry: '2027-01-04T00:00:00Z',
  also_available: [
    {
      version: '2.9.4',
      dmg: {
        url: 'https://dl.example.com/App-2.9.4.dmg',
        size: 180000000,
        sha256: '0f5d7c8b7f0bb9c1c2a9bbd6d1d0f0b1a2c3d4e5f60718293a4b5c6d7e8f9012',
      },
      minimum_license_expiry: null,
    },
  ],
  previous: null,
};
/** What most cases start from: one version that everybody may have. */
const PLAIN = { ...FIRST, minimum_license_expiry: null, also_available: [] };

/** A manifest as it travels; `facts` may be anything, also what no publisher's tool would sign. */
function manifest(facts, signers = [CURRENT], outer = {}) {
  const signed = typeof facts === 'string' ? facts : JSON.stringify(facts);
  const { version, dmg: image, minimum_license_expiry } = typeof facts === 'string' ? FIRST : facts;
  const signatures = signers.map((key) => ({ key_id: key.published.kid, signature: signature(key, signed) }));
  const copies = { version, dmg_sha256: image?.sha256, minimum_license_expiry };
  const [first = { signature: '', key_id: '' }] = signatures;
  return { ...copies, signature: first.signature, key_id: first.key_id, signed, signatures, ...outer };
}

const seenAt = (facts, ...keys) =>
  Object.fromEntries(
    keys.map((key) => [key.published.kid, { sequence: facts.sequence, digest: digestOf(facts) }]),
  );

const STATE = {
  product: PRODUCT,
  app_version: '3.1.0',
  license: { expires_at: null },
  now: '2027-02-01T00:00:00Z',
  trusted_keys: [CURRENT, NEXT],
  seen: {},
};

/** The state a client is in, with the keys it trusts as it ships them. */
function stateOf(change) {
  const { trusted_keys, ...rest } = { ...STATE, ...change };
  return { ...rest, trusted_keys: trusted_keys.map(({ published }) => published.x) };
}

/**
 * One case. `by` are the trusted keys whose signature is good, `facts` what they signed, `offer` the entry that is
 * offered or `reason` why none is, `odd` that the publisher's tools would not have made this document.
 */
function judged(
  name,
  { answer, by = [CURRENT], facts, offer, reason, newest, remembers = true, odd, ...state },
) {
  const before = stateOf(state);
  const seen = remembers ? { ...before.seen, ...seenAt(facts, ...by) } : before.seen;
  const result = offer
    ? { available: true, offer, newest_version: facts.version }
    : { available: false, reason, ...(newest && { newest_version: newest }) };
  const signed_by = by.map(({ published }) => published.kid);
  return { name, state: before, body: answer, expected: { ...result, signed_by, verifies: !odd, seen } };
}

function offered(name, facts, offer, more = {}) {
  const { signers = [CURRENT], by = signers, outer, ...rest } = more;
  return judged(name, { answer: manifest(facts, signers, outer), by, facts, offer, ...rest });
}

/** No update, and its sequence is remembered all the same: it was right, and forbids all older ones. */
function noUpdate(name, reason, facts, more = {}) {
  const { signers = [CURRENT], by = signers, ...rest } = more;
  return judged(name, { answer: manifest(facts, signers), by, facts, reason, ...rest });
}

/** Not even remembered: nothing of it is believed, or it comes out of turn. */
function refused(name, reason, facts, more = {}) {
  return noUpdate(name, reason, facts, { remembers: false, ...more });
}

/** What is not signed by a key that is trusted. */
function untrusted(name, answer, more = {}) {
  return judged(name, {
    answer,
    by: [],
    facts: FIRST,
    reason: 'untrusted',
    remembers: false,
    odd: true,
    ...more,
  });
}

/** What is no manifest at all. */
function malformed(name, answer) {
  return judged(name, { answer, by: [], facts: FIRST, reason: 'malformed', remembers: false, odd: true });
}

/** What is signed, and still cannot be read. */
function unreadable(name, change) {
  return refused(name, 'malformed', { ...PLAIN, ...change }, { odd: true });
}

export function manifests() {
  const latest = entryOf(FIRST);
  const published = manifest(FIRST);
  const swapped = (change) => ({ ...published, ...change });
  const signedAs = (change) => {
    const changed = change(published.signature);
    return swapped({ signature: changed, signatures: [{ ...published.signatures[0], signature: changed }] });
  };
  const older = { ...PLAIN, sequence: 41, version: '3.1.9', dmg: dmg('3.1.9') };
  const refreshed = { ...PLAIN, sequence: 43, expires_at: '2027-06-04T09:00:00Z', previous: digestOf(PLAIN) };
  const withdrawn = {
    ...PLAIN,
    sequence: 44,
    ...entry('3.1.9'),
    previous: digestOf(refreshed),
  };
  const grades = {
    ...FIRST,
    also_available: [entry('3.1.5', '2026-06-01T00:00:00Z'), entry('2.9.4', null)],
  };
  const others = grades.also_available;
  const lapsed = (expires_at) => ({ license: { expires_at } });
  const worst = {
    ...PLAIN,
    product: 'com.example.other',
    sequence: 1,
    issued_at: '2019-01-01T00:00:00Z',
    expires_at: '2020-01-01T00:00:00Z',
    version: '1.0',
    minimum_license_expiry: '2099-01-01T00:00:00Z',
  };
  const inOrder = { ...lapsed('2026-01-01T00:00:00Z'), seen: seenAt(PLAIN, CURRENT) };
  const ours = { ...worst, product: PRODUCT };

  return {
    description:
      'Manifests, each with the state a client is in and what it makes of it; versions compared; licenses that cover a version or not. The keys are `key` (current) and `second_key` (next); `unknown_key` is trusted by no client.',
    key: CURRENT.published,
    second_key: NEXT.published,
    unknown_key: UNKNOWN.published,
    signed_sha256: digestOf(FIRST),
    manifest: published,
    cases: [
      offered('The published manifest is offered to a license that never expires.', FIRST, latest),
      offered('Two signatures: the sequence is remembered under both keys.', FIRST, latest, {
        signers: [CURRENT, NEXT],
      }),
      offered('Rotation: an old application, which trusts the first key alone, takes it.', FIRST, latest, {
        signers: [CURRENT, NEXT],
        by: [CURRENT],
        trusted_keys: [CURRENT],
      }),
      offered('Rotation: a new application, which trusts the second key alone, takes it.', FIRST, latest, {
        signers: [CURRENT, NEXT],
        by: [NEXT],
        trusted_keys: [NEXT, UNKNOWN],
      }),
      offered('One good signature is enough: the first one is of an unknown key.', FIRST, latest, {
        signers: [UNKNOWN, CURRENT],
        by: [CURRENT],
      }),
      offered('One good signature is enough: the one before it is of other bytes.', FIRST, latest, {
        signers: [NEXT, CURRENT],
        by: [CURRENT],
        outer: {
          signature: signature(NEXT, 'other bytes'),
          signatures: [
            { key_id: NEXT.published.kid, signature: signature(NEXT, 'other bytes') },
            published.signatures[0],
          ],
        },
      }),
      offered('A wrong key_id changes nothing: the key is the one whose signature is good.', FIRST, latest, {
        outer: {
          key_id: UNKNOWN.published.kid,
          signatures: [{ ...published.signatures[0], key_id: UNKNOWN.published.kid }],
        },
        odd: true,
      }),
      offered('The outer copies lie: the client offers what is signed.', FIRST, latest, {
        outer: { version: '99.0.0', dmg_sha256: sha256('another image'), minimum_license_expiry: null },
        odd: true,
      }),
      offered(
        'Outer members that are not signed are not read: product, sequence, expiry, image.',
        FIRST,
        latest,
        {
          outer: {
            product: 'com.example.other',
            sequence: 1,
            expires_at: '2000-01-01T00:00:00Z',
            dmg: dmg('99.0.0'),
          },
        },
      ),
      offered(
        'A signed member that is not known is passed over: a newer publisher may add some.',
        { ...PLAIN, channel: 'stable' },
        entryOf(PLAIN),
        { odd: true },
      ),
      offered(
        'A license that expires at the very minimum covers the version.',
        FIRST,
        latest,
        lapsed('2027-01-04T00:00:00Z'),
      ),
      offered(
        'A lapsed license is offered the newest version it still covers.',
        grades,
        others[0],
        lapsed('2027-01-03T23:59:59Z'),
      ),
      offered(
        'A license that lapsed long ago is offered the version that everyone may have.',
        grades,
        others[1],
        {
          ...lapsed('2026-05-31T00:00:00Z'),
          app_version: '2.9.0',
        },
      ),
      offered('Without a license a version for everyone is offered.', PLAIN, entryOf(PLAIN), {
        license: null,
      }),
      offered(
        'A version without a minimum is offered to a lapsed license too.',
        PLAIN,
        entryOf(PLAIN),
        lapsed('2020-01-01T00:00:00Z'),
      ),
      offered('The same manifest is read again, and offered again.', PLAIN, entryOf(PLAIN), {
        seen: seenAt(PLAIN, CURRENT),
      }),
      offered('A higher sequence takes the place of the one seen.', PLAIN, entryOf(PLAIN), {
        seen: seenAt(older, CURRENT),
      }),
      offered('The sequence seen under another key says nothing about this one.', older, entryOf(older), {
        signers: [NEXT],
        seen: seenAt(PLAIN, CURRENT),
      }),
      offered(
        'A refresh: the same version with a higher sequence is offered as before.',
        refreshed,
        entryOf(refreshed),
        {
          seen: seenAt(PLAIN, CURRENT),
        },
      ),
      offered(
        'A withdrawal: who runs a version below is offered the one before the bad build.',
        withdrawn,
        entryOf(withdrawn),
        {
          seen: seenAt(refreshed, CURRENT),
        },
      ),
      offered('One second before it expires a manifest is good.', PLAIN, entryOf(PLAIN), {
        now: '2027-04-04T08:59:59Z',
      }),
      offered('Versions are numbers: 3.10 is above 3.9.', { ...PLAIN, ...entry('3.10') }, entry('3.10'), {
        app_version: '3.9',
      }),

      malformed('A captive portal’s page is no manifest.', '<html><body>Sign in to the hotel</body></html>'),
      malformed('An empty answer is no manifest.', ''),
      malformed('A cut answer is no manifest.', JSON.stringify(published).slice(0, 400)),
      malformed('A list is no manifest.', '[]'),
      malformed('Without signed there is nothing to verify.', { ...published, signed: undefined }),
      refused('A trusted key has signed what is no JSON.', 'malformed', 'not JSON', { odd: true }),
      malformed('signed must be a text: an object has no exact bytes.', { ...published, signed: FIRST }),

      untrusted('Signed by an unknown key alone.', manifest(FIRST, [UNKNOWN])),
      untrusted('Signed by an unknown key under the kid of a trusted one.', {
        ...manifest(FIRST, [UNKNOWN]),
        key_id: CURRENT.published.kid,
        signatures: [{ ...manifest(FIRST, [UNKNOWN]).signatures[0], key_id: CURRENT.published.kid }],
      }),
      untrusted('Signed by a key that this application no longer trusts.', published, {
        trusted_keys: [NEXT],
      }),
      untrusted(
        'One byte of signed was changed.',
        swapped({ signed: published.signed.replace('"3.2.0"', '"3.2.1"') }),
      ),
      untrusted(
        'signed was written again, with a space: the same facts, other bytes.',
        swapped({ signed: published.signed.replace(',', ', ') }),
      ),
      untrusted(
        'One character of the signature was changed.',
        signedAs((text) => replaceAt(text, 0, () => 'q')),
      ),
      untrusted(
        'The signature has a second spelling: the last character carries bits that no byte has.',
        signedAs((text) => replaceAt(text, text.length - 1, () => 'h')),
      ),
      untrusted('There is no signature.', manifest(FIRST, [])),
      untrusted(
        'A signature that is no text is none, and has no effect.',
        swapped({
          signatures: [{ signature: { toString: 1 } }, { signature: ['p'] }, { signature: 7 }, null],
        }),
      ),
      untrusted(
        'The outer signature is a copy: what is not in signatures does not count.',
        swapped({ signatures: manifest(FIRST, [UNKNOWN]).signatures }),
      ),
      untrusted('The signature is that of another manifest.', {
        ...manifest(older),
        signed: published.signed,
      }),

      refused('A manifest of another product.', 'wrong_product', { ...PLAIN, product: 'com.example.other' }),
      refused(
        'Another type of document, signed by the same key.',
        'wrong_product',
        { ...PLAIN, _type: 'update-manifest/v2' },
        { odd: true },
      ),

      unreadable('A sequence that is text is malformed.', { sequence: '42' }),
      unreadable('A fractional sequence is malformed.', { sequence: 42.5 }),
      unreadable('Without an expiry a manifest is malformed.', { expires_at: null }),
      unreadable('A version that is not dotted numeric is malformed.', { version: '3.2.0-beta' }),
      unreadable('An image without a hash is malformed.', { dmg: { ...PLAIN.dmg, sha256: 'none' } }),
      unreadable('An image without its size is malformed.', {
        dmg: { url: PLAIN.dmg.url, sha256: PLAIN.dmg.sha256 },
      }),
      unreadable('A minimum that is no time is malformed.', { minimum_license_expiry: 'never' }),
      unreadable('A minimum that is missing is malformed: null alone means everyone.', {
        minimum_license_expiry: undefined,
      }),
      unreadable('Without also_available a manifest is malformed.', { also_available: undefined }),
      unreadable('An older version that is malformed makes the whole manifest so.', {
        also_available: [{ version: '3.1.5' }],
      }),
      refused('An image that is not fetched by https is malformed.', 'malformed', {
        ...PLAIN,
        dmg: { ...PLAIN.dmg, url: 'http://dl.example.com/App-3.2.0.dmg' },
      }),

      refused(
        'A lower sequence than the one seen is an old copy, whatever version it names.',
        'sequence_too_low',
        { ...older, ...entry('3.3.0') },
        { seen: seenAt(PLAIN, CURRENT) },
      ),
      refused('After a withdrawal the withdrawn manifest is an old copy.', 'sequence_too_low', refreshed, {
        seen: seenAt(withdrawn, CURRENT),
      }),
      refused('With two signers the highest sequence of either counts.', 'sequence_too_low', older, {
        signers: [CURRENT, NEXT],
        seen: seenAt(PLAIN, NEXT),
      }),
      refused(
        'Other bytes under a sequence that was seen are an equivocation: report it.',
        'equivocation',
        { ...PLAIN, ...entry('3.2.1') },
        { seen: seenAt(PLAIN, CURRENT) },
      ),

      noUpdate(
        'At the moment it expires a manifest is no longer good, and still forbids older ones.',
        'expired',
        PLAIN,
        { now: PLAIN.expires_at },
      ),
      noUpdate('An expired manifest is no update, a year later.', 'expired', PLAIN, {
        now: '2028-02-01T00:00:00Z',
      }),
      noUpdate('The running version is no update.', 'up_to_date', PLAIN, { app_version: '3.2.0' }),
      noUpdate('Missing parts are 0: 3.2 is 3.2.0.', 'up_to_date', PLAIN, { app_version: '3.2' }),
      noUpdate('A running version above the newest is left alone.', 'up_to_date', PLAIN, {
        app_version: '3.10',
      }),
      noUpdate('A refresh is no update for who runs the version.', 'up_to_date', refreshed, {
        app_version: '3.2.0',
        seen: seenAt(PLAIN, CURRENT),
      }),
      noUpdate(
        'A withdrawal is no update for who runs the bad build: nothing goes down.',
        'up_to_date',
        withdrawn,
        {
          app_version: '3.2.0',
          seen: seenAt(refreshed, CURRENT),
        },
      ),
      noUpdate(
        'A license that expired one second before the minimum does not cover the version.',
        'not_covered',
        FIRST,
        {
          ...lapsed('2027-01-03T23:59:59Z'),
          newest: '3.2.0',
        },
      ),
      noUpdate('Without a license a version with a minimum is not covered.', 'not_covered', FIRST, {
        license: null,
        newest: '3.2.0',
      }),
      noUpdate(
        'The older version that a lapsed license covers is not above the running one.',
        'not_covered',
        grades,
        {
          ...lapsed('2026-07-01T00:00:00Z'),
          app_version: '3.1.5',
          newest: '3.2.0',
        },
      ),

      judged('The order of the rules: the signature comes first.', {
        answer: manifest(worst, [UNKNOWN]),
        by: [],
        facts: worst,
        reason: 'untrusted',
        remembers: false,
        odd: true,
        ...inOrder,
      }),
      refused('The order of the rules: then type and product.', 'wrong_product', worst, inOrder),
      refused('The order of the rules: then the sequence.', 'sequence_too_low', ours, inOrder),
      noUpdate('The order of the rules: then the expiry.', 'expired', { ...ours, sequence: 43 }, inOrder),
      noUpdate(
        'The order of the rules: then the version.',
        'up_to_date',
        { ...ours, sequence: 43, expires_at: PLAIN.expires_at },
        inOrder,
      ),
      noUpdate(
        'The order of the rules: then what the license covers.',
        'not_covered',
        { ...PLAIN, sequence: 43, minimum_license_expiry: worst.minimum_license_expiry },
        { ...inOrder, newest: '3.2.0' },
      ),
    ],
    compare_versions: [
      compared('A version is itself.', '3.2.0', '3.2.0', 0),
      compared('Missing parts are 0.', '3.2', '3.2.0.0', 0),
      compared('Parts are numbers, not text.', '3.10', '3.9', 1),
      compared('The same the other way round.', '3.9', '3.10', -1),
      compared('Leading zeros say nothing.', '03.2', '3.2', 0),
      compared('The first part that differs decides.', '2.9.4', '3', -1),
      compared('The fourth part counts.', '0.0.0.1', '0', 1),
      compared('Parts may be beyond what a double holds.', '9007199254740993', '9007199254740992', 1),
      compared('Parts may be beyond 64 bits.', '1.99999999999999999999', '1.100000000000000000000', -1),
    ],
    version_shapes: [
      shaped('One part is a version.', '3', true),
      shaped('Four parts are a version.', '1.2.3.4', true),
      shaped('A leading zero is allowed.', '007.1', true),
      shaped('32 characters are allowed.', '9'.repeat(32), true),
      shaped('33 characters are too many.', '9'.repeat(33), false),
      shaped('Five parts are too many.', '1.2.3.4.5', false),
      shaped('An empty text is no version.', '', false),
      shaped('An empty part is none.', '1..2', false),
      shaped('A dot at the end is one too many.', '1.', false),
      shaped('A letter is no number.', 'v1', false),
      shaped('A suffix is no number.', '3.2.0-beta', false),
      shaped('A build part belongs to crash_app_version alone.', '3.2.0+451', false),
      shaped('Space is not trimmed.', ' 3.2', false),
      shaped('A line end is not trimmed.', '3.2\n', false),
      shaped('Digits of other scripts are none.', '٣.٢', false),
      shaped('A sign is none.', '-1', false),
    ],
    covers: [
      covered('A null minimum covers everyone.', null, null, true),
      covered('A null minimum covers a lapsed license.', null, '2020-01-01T00:00:00Z', true),
      covered('A license without an expiry covers everything.', FIRST.minimum_license_expiry, null, true),
      covered('Equal is covered.', FIRST.minimum_license_expiry, '2027-01-04T00:00:00Z', true),
      covered('One second less is not.', FIRST.minimum_license_expiry, '2027-01-03T23:59:59Z', false),
      covered('One second more is.', FIRST.minimum_license_expiry, '2027-01-04T00:00:01Z', true),
    ],
  };
}

function entryOf({ version, dmg: image, minimum_license_expiry }) {
  return { version, dmg: image, minimum_license_expiry };
}

function digestOf(facts) {
  return sha256(JSON.stringify(facts));
}

function compared(name, a, b, order) {
  return { name, a, b, sign: order };
}

function shaped(name, text, is_version) {
  return { name, text, is_version };
}

function covered(name, minimum_license_expiry, license_expires_at, holds) {
  return { name, minimum_license_expiry, license_expires_at, covered: holds };
}
