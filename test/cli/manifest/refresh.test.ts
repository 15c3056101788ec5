import { describe, expect, test } from '@jest/globals';
import { trustedKey } from '../../../client/src/manifest-signature.js';
import { checkManifest } from '../../../client/src/update.js';
import {
  parseSigned,
  type ManifestContent,
  type SignedManifest,
} from '../../../src/keys/manifests/signed-manifest.js';
import { manifestDigest } from '../../../src/manifest/manifest.rules.js';
import {
  WITHOUT_SERVER,
  Publisher,
  PUBLISH,
  signArgs,
  type Run,
  inDays,
} from '../../support/processes/cli-harness.js';
import { createDatabase } from '../../support/harness.js';
import { readPrivateKey, openManifests, offerOf } from '../../manifest/hand-signed-manifests.js';
import { expectInvalidAfterAnyChange, expectVerifiedByOpenssl } from '../../manifest/openssl-verification.js';
import { afterThisFile } from '../../support/of-this-file.js';
import { query } from '../../support/databases/replica-harness.js';

const JANUARY_2025 = '2025-01-04T00:00:00Z';
const JANUARY_2027 = '2027-01-04T00:00:00Z';

/** The manifests of 1.0, 2.0 and 3.0, as they were published. */
const published: SignedManifest[] = [];
const database = await createDatabase();
const publisher = await Publisher.at(database.url);
const manifests = await openManifests(database.url, readPrivateKey(publisher.file('two.pem')));
published.push(await manifests.publish(manifests.next('1.0')));
published.push(await manifests.publish(manifests.next('2.0', JANUARY_2025)));
published.push(await manifests.publish(manifests.next('3.0', JANUARY_2027)));
afterThisFile(() => manifests[Symbol.asyncDispose]());

/** The arguments of `manifest refresh` or `manifest withdraw`, with the key `two.pem`. */
const signingArgs = (command: 'refresh' | 'withdraw', ...moreArgs: string[]) => [
  'manifest',
  command,
  '--key',
  'two.pem',
  '--json',
  ...moreArgs,
];
const publish = (document: unknown, ...moreArgs: string[]) =>
  publisher.run([...PUBLISH, publisher.writeDocument('next.json', document), '--json', ...moreArgs]);

/** Checks with openssl the signature of the manifest that a command printed. @returns its content */
async function verifiedContent(run: Run): Promise<ManifestContent> {
  expect(run).toMatchObject({ code: 0 });
  return expectVerifiedByOpenssl(run.json, publisher.publicKeyOfTwo);
}

/** Lets the reference client check for an update. @returns the offered version, or the reason why there is none */
function checkByClient(
  { signed, signatures }: SignedManifest,
  app_version: string,
  license_expires_at: string | null,
) {
  const running = { product: 'com.example.app', app_version, license_expires_at, now: Date.now() };
  const text = JSON.stringify({ signed, signatures });
  const { check } = checkManifest(text, [trustedKey(publisher.publicKeyOfTwo)], {}, running);
  return check.available ? check.offer.version : check.reason;
}

describe('refresh', () => {
  test('signs the same version with a later expiry, and publish accepts it', async () => {
    const live = parseSigned(published[2]!.signed);
    const run = await publisher.run(signingArgs('refresh', '--expires', inDays(200)));
    const content = await verifiedContent(run);
    expect(offerOf(content)).toEqual(offerOf(live));
    expect(content).toMatchObject({ sequence: 4, previous: manifestDigest(published[2]!.signed) });
    expect(content.expires_at > live.expires_at).toBe(true);
    await expectInvalidAfterAnyChange(run.json, publisher.publicKeyOfTwo);
    expect(await publish(run.json)).toMatchObject({ json: { version: '3.0', sequence: 4 } });
  });

  test.each([
    ['earlier than the live one', () => inDays(199)],
    ['at the same time as the live one', () => parseSigned(manifests.service.live!.signed).expires_at],
    ['earlier than the live one, because --expires is omitted', () => null],
  ])('is refused if it would expire %s', async (_when, expires) => {
    await manifests.service.refresh();
    const { expires_at } = manifests.service.live!.content;
    const at = expires();
    const run = await publisher.run(signingArgs('refresh', ...(at ? ['--expires', at] : [])));
    expect(run).toMatchObject({ code: 1, stdout: '' });
    expect(run.stderr).toContain(`\nThe live manifest expires at ${expires_at}: --expires must be later.\n`);
  });
});

describe('withdraw', () => {
  test('restores the previous version from a file, with neither server nor database', async () => {
    const [before, live] = [published[1]!, published[2]!].map((each, i) =>
      publisher.writeDocument(`${i}.json`, each),
    );
    const args = ['--previous', live!, '--back-to', before!];
    const run = await publisher.run(signingArgs('withdraw', ...args), { env: WITHOUT_SERVER });
    const content = await verifiedContent(run);
    expect(offerOf(content)).toEqual(offerOf(parseSigned(published[1]!.signed)));
    expect(content).toMatchObject({ sequence: 4, previous: manifestDigest(published[2]!.signed) });
    expect(run.stderr).toBe(
      `The live manifest is from ${live}: version 3.0, sequence 3.\nThis manifest withdraws version 3.0: publish it with --withdraw.\n`,
    );
    const onItself = signingArgs('withdraw', '--previous', live!, '--back-to', live!);
    expect(await publisher.run(onItself, { env: WITHOUT_SERVER })).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('This manifest withdraws nothing: the live version is 3.0'),
    });
    const withoutTarget = await publisher.run(signingArgs('withdraw', '--previous', live!), {
      env: WITHOUT_SERVER,
    });
    const sentence =
      'No version to go back to was found in a database. Give the manifest file of the previous version with --back-to.\n';
    expect(withoutTarget).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining(sentence) });
  });

  test('restores the previous version from the database, until there is none', async () => {
    for (const [bad, good] of [
      ['3.0', '2.0'],
      ['2.0', '1.0'],
    ] as const) {
      const run = await publisher.run(signingArgs('withdraw'));
      expect(await verifiedContent(run)).toMatchObject({ version: good });
      const withoutOption = await publish(run.json);
      expect(withoutOption).toMatchObject({
        code: 1,
        stdout: '',
        stderr: expect.stringContaining('--withdraw'),
      });
      const result = await publish(run.json, '--withdraw', '--as', 'grace');
      expect(result).toMatchObject({ json: { version: good } });
      expect(result.stderr).toMatch(
        new RegExp(
          `^Versions above ${good} are withdrawn: they are not offered any more\\. Installed copies stay until a higher version is published\\.\n`,
        ),
      );
      // A client that runs the withdrawn version is offered no update; another client is offered `good`.
      expect(checkByClient(run.json, bad, null)).toBe('up_to_date');
      expect(checkByClient(run.json, '0.9', null)).toBe(good);
    }
    const last = await publisher.run(signingArgs('withdraw'));
    expect(last).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('--back-to') });
    const audit = 'select actor, action, change from audit_event order by at desc limit 2';
    expect(await query(database.url, audit)).toEqual([
      {
        actor: 'grace',
        action: 'manifest.withdraw',
        change: { sequence: 6, version: '1.0', before: { sequence: 5, version: '2.0' } },
      },
      {
        actor: 'grace',
        action: 'manifest.withdraw',
        change: { sequence: 5, version: '2.0', before: { sequence: 4, version: expect.any(String) } },
      },
    ]);
  });

  test('a later version does not offer withdrawn versions to any client', async () => {
    const run = await publisher.run(
      signArgs('4.0', '--minimum-license-expiry', '2028-01-04', '--previous', '-', '--json'),
      { stdin: JSON.stringify(await publisher.json(['manifest', 'show'])) },
    );
    const content = await verifiedContent(run);
    expect(content.also_available.map(({ version }) => version)).toEqual(['1.0']);
    expect(await publish(run.json)).toMatchObject({ json: { version: '4.0', sequence: 7 } });
    // The first license covers 2.0 as well, and the second one 2.0 and 3.0, but both versions were withdrawn.
    for (const expiry of ['2026-01-04T00:00:00Z', '2027-06-01T00:00:00Z'])
      expect(checkByClient(run.json, '0.9', expiry)).toBe('1.0');
    expect(checkByClient(run.json, '3.0', null)).toBe('4.0');
    expect(checkByClient(run.json, '3.0', JANUARY_2027)).toBe('not_covered');
    const back = await publisher.run(signingArgs('withdraw'));
    expect(await verifiedContent(back)).toMatchObject({ version: '1.0', also_available: [] });
  });
});

test('refresh and withdraw refuse a live manifest that no known key signed, or that is for another product', async () => {
  const live = publisher.writeDocument('live.json', manifests.sign(manifests.service.live!.content));
  const env = { ...WITHOUT_SERVER, MANIFEST_PUBLIC_KEYS: publisher.publicKeyOfOne };
  const keygen = ['manifest', 'keygen', '--no-passphrase', '--out', 'untrusted.pem'];
  const { public_key } = await publisher.json(keygen, { env });
  for (const args of [
    signingArgs('refresh', '--previous', live),
    signingArgs('withdraw', '--previous', live),
  ]) {
    // A command also trusts the key with which it signs, so it signs with another key here.
    const untrusted = args.map((each) => (each === 'two.pem' ? 'untrusted.pem' : each));
    const refused = await publisher.run([...untrusted, '--public-key', public_key], { env });
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toContain(`The manifest of ${live} cannot be used: `);
    const other = await publisher.run(args, { env: { ...WITHOUT_SERVER, PRODUCT: 'com.example.other' } });
    expect(other.stderr).toContain('is for the product com.example.app; PRODUCT is com.example.other.');
  }
});
