// The cases of manifests.json. The file is long, because it is a table of cases.
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

/** The manifest of the examples in docs/openapi.yaml: its bytes must not change. */
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
/** The manifest from which most cases start: one version that every license covers. */
const PLAIN = { ...FIRST, minimum_license_expiry: null, also_available: [] };

/**
 * Signs a manifest. `content` may be anything, also what the publisher's tools would not sign. @returns the document
 * @param outer members that replace those outside the signed text
 */
function manifest(content, signers = [CURRENT], outer = {}) {
  const signed = typeof content === 'string' ? content : JSON.stringify(content);
  const { version, dmg: image, minimum_license_expiry } = typeof content === 'string' ? FIRST : content;
  const signatures = signers.map((key) => ({ key_id: key.published.kid, signature: signature(key, signed) }));
  const copies = { version, dmg_sha256: image?.sha256, minimum_license_expiry };
  const [first = { signature: '', key_id: '' }] = signatures;
  return { ...copies, signature: first.signature, key_id: first.key_id, signed, signatures, ...outer };
}

/** The member `seen` of a client's state, after the client has seen a manifest under these keys. */
const seenAt = (content, ...keys) =>
  Object.fromEntries(
    keys.map((key) => [key.published.kid, { sequence: content.sequence, digest: digestOf(content) }]),
  );

const STATE = {
  product: PRODUCT,
  app_version: '3.1.0',
  license: { expires_at: null },
  now: '2027-02-01T00:00:00Z',
  trusted_keys: [CURRENT, NEXT],
  seen: {},
};

/** Numbers of 32 bytes that are no public key. Under a point of small order everyone can sign. */
const NO_KEYS = {
  '32 zero bytes, such as a placeholder, are a point of order 4: everyone can sign under it.': '00'.repeat(
    32,
  ),
  'The other point of order 4 is no public key.': `${'00'.repeat(31)}80`,
  'The neutral point is no public key.': `01${'00'.repeat(31)}`,
  'The point of order 2 is no public key.': `ec${'ff'.repeat(30)}7f`,
  'A point of order 8 is no public key.': '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  'Another point of order 8 is no public key.':
    'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
  'A third point of order 8 is no public key.':
    '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85',
  'The last point of order 8 is no public key.':
    'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa',
  'A point whose y is the prime or above it is another encoding.': `f0${'ff'.repeat(30)}7f`,
  'A number that is the y of no point is no public key.': `02${'00'.repeat(31)}`,
};

/** The state of a client, with its trusted keys in the form in which it ships them. */
function stateOf(change) {
  const { trusted_keys, ...rest } = { ...STATE, ...change };
  return { ...rest, trusted_keys: trusted_keys.map(({ published }) => published.x) };
}

/**
 * Makes a case. `by` are the trusted keys whose signature is valid, and `content` is what they signed. `offer` is the entry
 * that the client offers. If it offers none, `reason` says why, and `newest` is the version that the license does not cover.
 * `remembers` says whether the client remembers the sequence, and `isUnverifiable` that `mooring manifest verify`
 * refuses the document. The other members replace those of `STATE`.
 */
function manifestCase(
  name,
  { answer, by = [CURRENT], content, offer, reason, newest, remembers = true, isUnverifiable, ...state },
) {
  const before = stateOf(state);
  const seen = remembers ? { ...before.seen, ...seenAt(content, ...by) } : before.seen;
  const result = offer
    ? { available: true, offer, newest_version: content.version }
    : { available: false, reason, ...(newest && { newest_version: newest }) };
  const signed_by = by.map(({ published }) => published.kid);
  return {
    name,
    state: before,
    body: answer,
    expected: { ...result, signed_by, verifies: !isUnverifiable, seen },
  };
}

function offerCase(name, content, offer, more = {}) {
  const { signers = [CURRENT], by = signers, outer, ...rest } = more;
  return manifestCase(name, { answer: manifest(content, signers, outer), by, content, offer, ...rest });
}

/** A valid manifest that offers no update. The client remembers its sequence, so that it refuses older ones. */
function noUpdateCase(name, reason, content, more = {}) {
  const { signers = [CURRENT], by = signers, ...rest } = more;
  return manifestCase(name, { answer: manifest(content, signers), by, content, reason, ...rest });
}

/** A signed manifest that the client refuses, and whose sequence it does not remember. */
function refusedCase(name, reason, content, more = {}) {
  return noUpdateCase(name, reason, content, { remembers: false, ...more });
}

/** A document that no trusted key has signed. */
function untrustedCase(name, answer, more = {}) {
  return manifestCase(name, {
    answer,
    by: [],
    content: FIRST,
    reason: 'untrusted',
    remembers: false,
    isUnverifiable: true,
    ...more,
  });
}

/** An answer that is not a manifest. */
function malformedCase(name, answer) {
  return untrustedCase(name, answer, { reason: 'malformed' });
}

/** A signed manifest whose content is malformed. */
function unreadableCase(name, change) {
  return refusedCase(name, 'malformed', { ...PLAIN, ...change }, { isUnverifiable: true });
}

/** A malformed text that a trusted key has signed. */
function unreadableTextCase(name, text) {
  return refusedCase(name, 'malformed', text, { isUnverifiable: true });
}

/** The content of PLAIN with a sequence that is written as this text. */
function withRawSequence(text) {
  return JSON.stringify(PLAIN).replace('"sequence":42', `"sequence":${text}`);
}

export function manifests() {
  const latest = entryOf(FIRST);
  const published = manifest(FIRST);
  const publishedWith = (change) => ({ ...published, ...change });
  const withSignature = (change) => {
    const changed = change(published.signature);
    return publishedWith({
      signature: changed,
      signatures: [{ ...published.signatures[0], signature: changed }],
    });
  };
  const older = { ...PLAIN, sequence: 41, version: '3.1.9', dmg: dmg('3.1.9') };
  const atAddress = { ...PLAIN, dmg: { ...PLAIN.dmg, url: 'https://192.0.2.1/App-3.2.0.dmg' } };
  const refreshed = { ...PLAIN, sequence: 43, expires_at: '2027-06-04T09:00:00Z', previous: digestOf(PLAIN) };
  const withdrawn = {
    ...PLAIN,
    sequence: 44,
    ...entry('3.1.9'),
    previous: digestOf(refreshed),
  };
  const threeVersions = {
    ...FIRST,
    also_available: [entry('3.1.5', '2026-06-01T00:00:00Z'), entry('2.9.4', null)],
  };
  const olderVersions = threeVersions.also_available;
  const licenseExpiring = (expires_at) => ({ license: { expires_at } });
  // A manifest that each rule would refuse, to test the order of the rules.
  const breaksEveryRule = {
    ...PLAIN,
    product: 'com.example.other',
    sequence: 1,
    issued_at: '2019-01-01T00:00:00Z',
    expires_at: '2020-01-01T00:00:00Z',
    version: '1.0',
    minimum_license_expiry: '2099-01-01T00:00:00Z',
  };
  const stateForOrder = { ...licenseExpiring('2026-01-01T00:00:00Z'), seen: seenAt(PLAIN, CURRENT) };
  const ofThisProduct = { ...breaksEveryRule, product: PRODUCT };

  return {
    description:
      'Manifests, each with the state of a client and the result that the client must reach; comparisons of versions; texts that are a version or not; licenses that cover a version or not. The keys are `key` (current) and `second_key` (next); `unknown_key` is trusted by no client.',
    key: CURRENT.published,
    second_key: NEXT.published,
    unknown_key: UNKNOWN.published,
    signed_sha256: digestOf(FIRST),
    manifest: published,
    cases: [
      offerCase('The published manifest is offered to a license that never expires.', FIRST, latest),
      offerCase('Two signatures: the sequence is remembered under both keys.', FIRST, latest, {
        signers: [CURRENT, NEXT],
      }),
      offerCase(
        'Rotation: an old application, which trusts only the first key, accepts the manifest.',
        FIRST,
        latest,
        {
          signers: [CURRENT, NEXT],
          by: [CURRENT],
          trusted_keys: [CURRENT],
        },
      ),
      offerCase(
        'Rotation: a new application, which trusts only the second key, accepts the manifest.',
        FIRST,
        latest,
        {
          signers: [CURRENT, NEXT],
          by: [NEXT],
          trusted_keys: [NEXT],
        },
      ),
      offerCase('One valid signature is enough: the first signature is of an unknown key.', FIRST, latest, {
        signers: [UNKNOWN, CURRENT],
        by: [CURRENT],
      }),
      offerCase('One valid signature is enough: the first signature is of other bytes.', FIRST, latest, {
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
      offerCase('A wrong key_id has no effect: the signature determines the key.', FIRST, latest, {
        outer: {
          key_id: UNKNOWN.published.kid,
          signatures: [{ ...published.signatures[0], key_id: UNKNOWN.published.kid }],
        },
        isUnverifiable: true,
      }),
      offerCase(
        'The unsigned copies differ from the signed content: the client offers the signed content.',
        FIRST,
        latest,
        {
          outer: { version: '99.0.0', dmg_sha256: sha256('another image'), minimum_license_expiry: null },
          isUnverifiable: true,
        },
      ),
      offerCase(
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
      offerCase(
        'An unknown signed member is ignored: a newer publisher may add some.',
        { ...PLAIN, channel: 'stable' },
        entryOf(PLAIN),
        { isUnverifiable: true },
      ),
      offerCase(
        'A license that expires exactly at the minimum covers the version.',
        FIRST,
        latest,
        licenseExpiring('2027-01-04T00:00:00Z'),
      ),
      offerCase(
        'An expired license is offered the newest version that it covers.',
        threeVersions,
        olderVersions[0],
        licenseExpiring('2027-01-03T23:59:59Z'),
      ),
      offerCase(
        'A license that expired long ago is offered the version without a minimum.',
        threeVersions,
        olderVersions[1],
        {
          ...licenseExpiring('2026-05-31T00:00:00Z'),
          app_version: '2.9.0',
        },
      ),
      offerCase('Without a license a version without a minimum is offered.', PLAIN, entryOf(PLAIN), {
        license: null,
      }),
      offerCase(
        'A version without a minimum is offered to an expired license too.',
        PLAIN,
        entryOf(PLAIN),
        licenseExpiring('2020-01-01T00:00:00Z'),
      ),
      offerCase('The same manifest is read again, and offered again.', PLAIN, entryOf(PLAIN), {
        seen: seenAt(PLAIN, CURRENT),
      }),
      offerCase('A manifest with a higher sequence than the one seen is accepted.', PLAIN, entryOf(PLAIN), {
        seen: seenAt(older, CURRENT),
      }),
      offerCase(
        'A higher sequence that was seen under another key does not prevent an update.',
        older,
        entryOf(older),
        {
          signers: [NEXT],
          seen: seenAt(PLAIN, CURRENT),
        },
      ),
      offerCase(
        'A refresh: the same version with a higher sequence is offered as before.',
        refreshed,
        entryOf(refreshed),
        {
          seen: seenAt(PLAIN, CURRENT),
        },
      ),
      offerCase(
        'A withdrawal: an application of an older version is offered the version before the withdrawn one.',
        withdrawn,
        entryOf(withdrawn),
        {
          seen: seenAt(refreshed, CURRENT),
        },
      ),
      offerCase('One second before its expiry a manifest is valid.', PLAIN, entryOf(PLAIN), {
        now: '2027-04-04T08:59:59Z',
      }),
      offerCase('Versions are numbers: 3.10 is above 3.9.', { ...PLAIN, ...entry('3.10') }, entry('3.10'), {
        app_version: '3.9',
      }),

      malformedCase(
        'A captive portal’s page is no manifest.',
        '<html><body>Sign in to the hotel</body></html>',
      ),
      malformedCase('An empty answer is no manifest.', ''),
      malformedCase('A truncated answer is no manifest.', JSON.stringify(published).slice(0, 400)),
      malformedCase('A list is no manifest.', '[]'),
      malformedCase('A manifest without the member signed is malformed.', {
        ...published,
        signed: undefined,
      }),
      unreadableTextCase('A trusted key has signed a text that is not JSON.', 'not JSON'),
      malformedCase('signed must be a text: an object has no exact bytes.', { ...published, signed: FIRST }),

      untrustedCase('A manifest is signed only by an unknown key.', manifest(FIRST, [UNKNOWN])),
      untrustedCase('A manifest is signed by an unknown key and names the kid of a trusted key.', {
        ...manifest(FIRST, [UNKNOWN]),
        key_id: CURRENT.published.kid,
        signatures: [{ ...manifest(FIRST, [UNKNOWN]).signatures[0], key_id: CURRENT.published.kid }],
      }),
      untrustedCase('A manifest is signed by a key that this application no longer trusts.', published, {
        trusted_keys: [NEXT],
      }),
      untrustedCase(
        'One byte of signed was changed.',
        publishedWith({ signed: published.signed.replace('"3.2.0"', '"3.2.1"') }),
      ),
      untrustedCase(
        'signed was serialized again with a space: the content is the same, and the bytes differ.',
        publishedWith({ signed: published.signed.replace(',', ', ') }),
      ),
      untrustedCase(
        'One character of the signature was changed.',
        withSignature((text) => replaceAt(text, 0, () => 'q')),
      ),
      untrustedCase(
        'The signature is encoded differently: its last base64url character has unused bits set.',
        withSignature((text) => replaceAt(text, text.length - 1, () => 'h')),
      ),
      untrustedCase('There is no signature.', manifest(FIRST, [])),
      untrustedCase(
        'A signature that is not a text is ignored.',
        publishedWith({
          signatures: [{ signature: { toString: 1 } }, { signature: ['p'] }, { signature: 7 }, null],
        }),
      ),
      untrustedCase(
        'The outer signature is only a copy: a signature that is not in signatures does not count.',
        publishedWith({ signatures: manifest(FIRST, [UNKNOWN]).signatures }),
      ),
      untrustedCase('The signature is that of another manifest.', {
        ...manifest(older),
        signed: published.signed,
      }),

      refusedCase('A manifest of another product is refused.', 'wrong_product', {
        ...PLAIN,
        product: 'com.example.other',
      }),
      refusedCase(
        'Another type of document is refused, although the same key has signed it.',
        'wrong_product',
        { ...PLAIN, _type: 'update-manifest/v2' },
        { isUnverifiable: true },
      ),

      unreadableCase('A sequence that is text is malformed.', { sequence: '42' }),
      unreadableCase('A fractional sequence is malformed.', { sequence: 42.5 }),
      unreadableCase('A sequence that is true is malformed: true is no number.', { sequence: true }),
      unreadableCase('A size that is true is malformed: true is no number.', {
        dmg: { ...PLAIN.dmg, size: true },
      }),
      unreadableTextCase('A sequence that is NaN is malformed: NaN is not JSON.', withRawSequence('NaN')),
      unreadableTextCase('A sequence of 5,000 digits is malformed.', withRawSequence('9'.repeat(5_000))),
      unreadableTextCase(
        'Signed content that is nested 33 levels deep is malformed.',
        withRawSequence(`42,"unknown":${'['.repeat(32)}${']'.repeat(32)}`),
      ),
      unreadableTextCase(
        'Signed members in capitals are other members: without a sequence a manifest is malformed.',
        JSON.stringify(PLAIN).replace('"sequence"', '"SEQUENCE"'),
      ),
      unreadableCase('An expiry on a day that its month lacks is malformed.', {
        expires_at: '2027-02-29T00:00:00Z',
      }),
      unreadableCase('An expiry in a leap second is malformed.', { expires_at: '2027-06-30T23:59:60Z' }),
      unreadableCase('An expiry with ten digits of a second is malformed.', {
        expires_at: '2027-04-04T09:00:00.1234567890Z',
      }),
      unreadableTextCase('A sequence of 2^53 is malformed.', withRawSequence('9007199254740992')),
      unreadableCase('A size that is text is malformed.', { dmg: { ...PLAIN.dmg, size: '187654321' } }),
      unreadableCase('A negative size is malformed.', { dmg: { ...PLAIN.dmg, size: -1 } }),
      unreadableCase('Without an expiry a manifest is malformed.', { expires_at: null }),
      unreadableCase('A version that is not dotted numeric is malformed.', { version: '3.2.0-beta' }),
      unreadableCase('An image whose sha256 is not hex is malformed.', {
        dmg: { ...PLAIN.dmg, sha256: 'none' },
      }),
      unreadableCase('An image without its size is malformed.', {
        dmg: { url: PLAIN.dmg.url, sha256: PLAIN.dmg.sha256 },
      }),
      unreadableCase('A minimum that is no time is malformed.', { minimum_license_expiry: 'never' }),
      unreadableCase(
        'A missing minimum is malformed: only null means that every license covers the version.',
        {
          minimum_license_expiry: undefined,
        },
      ),
      unreadableCase('Without also_available a manifest is malformed.', { also_available: undefined }),
      unreadableCase('An older version that is malformed makes the whole manifest malformed.', {
        also_available: [{ version: '3.1.5' }],
      }),
      refusedCase('An image whose url is not https is malformed.', 'malformed', {
        ...PLAIN,
        dmg: { ...PLAIN.dmg, url: 'http://dl.example.com/App-3.2.0.dmg' },
      }),
      unreadableCase('An image whose url has a backslash is malformed: a browser reads it as a slash.', {
        dmg: { ...PLAIN.dmg, url: 'https://dl.example.com\\@other.example/App-3.2.0.dmg' },
      }),
      refusedCase(
        'An image whose url has no host is malformed, although a browser takes its path for one.',
        'malformed',
        {
          ...PLAIN,
          dmg: { ...PLAIN.dmg, url: 'https:///dl.example.com/App-3.2.0.dmg' },
        },
      ),
      refusedCase('An image whose url has a user name is malformed.', 'malformed', {
        ...PLAIN,
        dmg: { ...PLAIN.dmg, url: 'https://user@dl.example.com/App-3.2.0.dmg' },
      }),
      refusedCase('An image whose url has a percent sign in its host is malformed.', 'malformed', {
        ...PLAIN,
        dmg: { ...PLAIN.dmg, url: 'https://dl%2eexample.com/App-3.2.0.dmg' },
      }),
      unreadableCase('An image whose url has a port above 65535 is malformed.', {
        dmg: { ...PLAIN.dmg, url: 'https://dl.example.com:65536/App-3.2.0.dmg' },
      }),
      unreadableCase('An image whose url has an IPv4 address with a part above 255 is malformed.', {
        dmg: { ...PLAIN.dmg, url: 'https://256.1.1.1/App-3.2.0.dmg' },
      }),
      unreadableCase('An image whose url has a host name that ends in a hex number is malformed.', {
        dmg: { ...PLAIN.dmg, url: 'https://dl.example.0x1/App-3.2.0.dmg' },
      }),
      offerCase('An image whose url has an IPv4 address is offered.', atAddress, entryOf(atAddress)),
      unreadableCase('An image whose url has a space is malformed.', {
        dmg: { ...PLAIN.dmg, url: 'https://dl.example.com/App 3.2.0.dmg' },
      }),

      refusedCase(
        'A manifest with a lower sequence than the one seen is refused, also if its version is higher.',
        'sequence_too_low',
        { ...older, ...entry('3.3.0') },
        { seen: seenAt(PLAIN, CURRENT) },
      ),
      refusedCase('After a withdrawal the withdrawn manifest is refused.', 'sequence_too_low', refreshed, {
        seen: seenAt(withdrawn, CURRENT),
      }),
      refusedCase(
        'With two signers a higher sequence that was seen under one of their keys counts.',
        'sequence_too_low',
        older,
        {
          signers: [CURRENT, NEXT],
          seen: seenAt(PLAIN, NEXT),
        },
      ),
      refusedCase(
        'Other bytes with a sequence that was seen are an equivocation.',
        'equivocation',
        { ...PLAIN, ...entry('3.2.1') },
        { seen: seenAt(PLAIN, CURRENT) },
      ),

      noUpdateCase(
        'At the moment of its expiry a manifest offers no update, and its sequence is still remembered.',
        'expired',
        PLAIN,
        { now: PLAIN.expires_at },
      ),
      noUpdateCase('Months after its expiry a manifest offers no update.', 'expired', PLAIN, {
        now: '2028-02-01T00:00:00Z',
      }),
      noUpdateCase('The running version is no update.', 'up_to_date', PLAIN, { app_version: '3.2.0' }),
      noUpdateCase('Missing parts are 0: 3.2 is 3.2.0.', 'up_to_date', PLAIN, { app_version: '3.2' }),
      noUpdateCase('No update is offered to a running version above the newest one.', 'up_to_date', PLAIN, {
        app_version: '3.10',
      }),
      noUpdateCase(
        'A refresh is no update for an application of the same version.',
        'up_to_date',
        refreshed,
        {
          app_version: '3.2.0',
          seen: seenAt(PLAIN, CURRENT),
        },
      ),
      noUpdateCase(
        'A withdrawal is no update for an application of the withdrawn version: there are no downgrades.',
        'up_to_date',
        withdrawn,
        {
          app_version: '3.2.0',
          seen: seenAt(refreshed, CURRENT),
        },
      ),
      noUpdateCase(
        'A license that expired one second before the minimum does not cover the version.',
        'not_covered',
        FIRST,
        {
          ...licenseExpiring('2027-01-03T23:59:59Z'),
          newest: '3.2.0',
        },
      ),
      noUpdateCase('Without a license a version with a minimum is not covered.', 'not_covered', FIRST, {
        license: null,
        newest: '3.2.0',
      }),
      noUpdateCase(
        'The older version that an expired license covers is not above the running one.',
        'not_covered',
        threeVersions,
        {
          ...licenseExpiring('2026-07-01T00:00:00Z'),
          app_version: '3.1.5',
          newest: '3.2.0',
        },
      ),

      manifestCase('The order of the rules: the signature comes first.', {
        answer: manifest(breaksEveryRule, [UNKNOWN]),
        by: [],
        content: breaksEveryRule,
        reason: 'untrusted',
        remembers: false,
        isUnverifiable: true,
        ...stateForOrder,
      }),
      refusedCase(
        'The order of the rules: then type and product.',
        'wrong_product',
        breaksEveryRule,
        stateForOrder,
      ),
      refusedCase(
        'The order of the rules: then the sequence.',
        'sequence_too_low',
        ofThisProduct,
        stateForOrder,
      ),
      noUpdateCase(
        'The order of the rules: then the expiry.',
        'expired',
        { ...ofThisProduct, sequence: 43 },
        stateForOrder,
      ),
      noUpdateCase(
        'The order of the rules: then the version.',
        'up_to_date',
        { ...ofThisProduct, sequence: 43, expires_at: PLAIN.expires_at },
        stateForOrder,
      ),
      noUpdateCase(
        'The order of the rules: then what the license covers.',
        'not_covered',
        { ...PLAIN, sequence: 43, minimum_license_expiry: breaksEveryRule.minimum_license_expiry },
        { ...stateForOrder, newest: '3.2.0' },
      ),
    ],
    public_keys: [
      publicKeyCase('The `x` of a manifest key is a public key.', CURRENT.published.x, true),
      publicKeyCase('31 bytes are no public key.', CURRENT.published.x.slice(0, -1), false),
      publicKeyCase(
        'The same bytes in another encoding are no public key.',
        replaceAt(CURRENT.published.x, -1, (last) => String.fromCharCode(last.charCodeAt(0) + 1)),
        false,
      ),
      ...Object.entries(NO_KEYS).map(([name, hex]) =>
        publicKeyCase(name, Buffer.from(hex, 'hex').toString('base64url'), false),
      ),
    ],
    compare_versions: [
      comparisonCase('A version equals itself.', '3.2.0', '3.2.0', 0),
      comparisonCase('Missing parts are 0.', '3.2', '3.2.0.0', 0),
      comparisonCase('Parts are numbers, not text.', '3.10', '3.9', 1),
      comparisonCase('The opposite order has the opposite sign.', '3.9', '3.10', -1),
      comparisonCase('Leading zeros are ignored.', '03.2', '3.2', 0),
      comparisonCase('The first part that differs decides.', '2.9.4', '3', -1),
      comparisonCase('The fourth part counts.', '0.0.0.1', '0', 1),
      comparisonCase(
        'Parts may be above the exact integers of a double.',
        '9007199254740993',
        '9007199254740992',
        1,
      ),
      comparisonCase(
        'Parts may have more than 64 bits.',
        '1.99999999999999999999',
        '1.100000000000000000000',
        -1,
      ),
    ],
    version_shapes: [
      versionShapeCase('One part is a version.', '3', true),
      versionShapeCase('Four parts are a version.', '1.2.3.4', true),
      versionShapeCase('A leading zero is allowed.', '007.1', true),
      versionShapeCase('32 characters are allowed.', '9'.repeat(32), true),
      versionShapeCase('33 characters are too many.', '9'.repeat(33), false),
      versionShapeCase('Five parts are too many.', '1.2.3.4.5', false),
      versionShapeCase('An empty text is no version.', '', false),
      versionShapeCase('An empty part is not allowed.', '1..2', false),
      versionShapeCase('A dot at the end is not allowed.', '1.', false),
      versionShapeCase('A letter is not allowed.', 'v1', false),
      versionShapeCase('A suffix is not allowed.', '3.2.0-beta', false),
      versionShapeCase('A build part is allowed only in crash_app_version.', '3.2.0+451', false),
      versionShapeCase('Space is not trimmed.', ' 3.2', false),
      versionShapeCase('A line end is not trimmed.', '3.2\n', false),
      versionShapeCase('Digits of other scripts are not allowed.', '٣.٢', false),
      versionShapeCase('A sign is not allowed.', '-1', false),
    ],
    covers: [
      coverageCase('A null minimum is covered by a license without an expiry.', null, null, true),
      coverageCase('A null minimum is covered by an expired license.', null, '2020-01-01T00:00:00Z', true),
      coverageCase(
        'A license without an expiry covers every minimum.',
        FIRST.minimum_license_expiry,
        null,
        true,
      ),
      coverageCase(
        'A license that expires at the minimum covers it.',
        FIRST.minimum_license_expiry,
        '2027-01-04T00:00:00Z',
        true,
      ),
      coverageCase(
        'A license that expires one second before the minimum does not cover it.',
        FIRST.minimum_license_expiry,
        '2027-01-03T23:59:59Z',
        false,
      ),
      coverageCase(
        'A license that expires one second after the minimum covers it.',
        FIRST.minimum_license_expiry,
        '2027-01-04T00:00:01Z',
        true,
      ),
    ],
  };
}

function entryOf({ version, dmg: image, minimum_license_expiry }) {
  return { version, dmg: image, minimum_license_expiry };
}

function digestOf(content) {
  return sha256(JSON.stringify(content));
}

function comparisonCase(name, a, b, sign) {
  return { name, a, b, sign };
}

function publicKeyCase(name, x, is_public_key) {
  return { name, x, is_public_key };
}

function versionShapeCase(name, text, is_version) {
  return { name, text, is_version };
}

function coverageCase(name, minimum_license_expiry, license_expires_at, covered) {
  return { name, minimum_license_expiry, license_expires_at, covered };
}
