import { freePort } from '../../support/processes/server-process.js';
import { generateKeyPairSync } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { describe, expect, test } from '@jest/globals';
import type { SignedManifest } from '../../../src/keys/manifests/signed-manifest.js';
import { Publisher, PUBLISH, type Run } from '../../support/processes/cli-harness.js';
import { createDatabase, Service } from '../../support/harness.js';
import { signUnchecked, readPrivateKey, openManifests } from '../../manifest/hand-signed-manifests.js';
import { serveDocument, startFakeServer } from '../../manifest/fake-manifest-server.js';
import { afterThisFile } from '../../support/of-this-file.js';

const untrusted = generateKeyPairSync('ed25519').privateKey;

const database = await createDatabase();
const publisher = await Publisher.at(database.url);
const manifests = await openManifests(database.url, readPrivateKey(publisher.file('two.pem')));
afterThisFile(() => manifests[Symbol.asyncDispose]());

let count = 0;
/** Signs the next version, and does not publish it. */
async function nextDocument(): Promise<SignedManifest> {
  await manifests.service.refresh();
  return manifests.sign(manifests.next(`1.${++count}`));
}

function publish(document: SignedManifest, publicUrl: string, ...moreArgs: string[]): Promise<Run> {
  const file = publisher.writeDocument('next.json', document);
  return publisher.run([...PUBLISH, file, '--json', ...moreArgs], {
    env: { PUBLIC_URL: publicUrl },
  });
}

/** Checks that the document is live in the database, whatever the public URL serves. */
async function expectLive(document: SignedManifest): Promise<void> {
  await manifests.service.refresh();
  expect(manifests.service.live!.signed).toBe(document.signed);
}

test('a first manifest with --withdraw is refused, because there is none to withdraw', async () => {
  const own = await createDatabase();
  const file = publisher.writeDocument('first.json', await publisher.sign('1.0', '--first'));
  const env = { DATABASE_URL: own.url };
  const run = await publisher.run([...PUBLISH, file, '--withdraw', '--json'], { env });
  expect(run).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('withdraws nothing') });
  expect((await publisher.run(['manifest', 'show'], { env })).stderr).toBe('No manifest is live.\n');
});

describe('after publishing, the public URL is read:', () => {
  test('a running service serves the manifest', async () => {
    const environment = { MANIFEST_PUBLIC_KEYS: `${publisher.publicKeyOfOne},${publisher.publicKeyOfTwo}` };
    const service = await Service.start({ databaseUrl: database.url, environment });
    const document = await nextDocument();
    const run = await publish(document, service.url);
    expect(run).toMatchObject({
      code: 0,
      stderr: `${service.url}/v1/manifest serves the published manifest.\n`,
    });
    expect(run.json).toEqual({
      version: document.version,
      sequence: 1,
      minimum_license_expiry: null,
      expires_at: (JSON.parse(document.signed) as { expires_at: string }).expires_at,
      served: true,
    });
    expect((await service.call('GET', '/v1/manifest')).json).toEqual(document);
    await service.close();
  });

  test('a cache serves the previous manifest at first, then the new one', async () => {
    const before = await publisher.json(['manifest', 'show']);
    const document = await nextDocument();
    const cache = await startFakeServer(
      (response, earlierRequests) =>
        void response.end(JSON.stringify(earlierRequests < 2 ? before : document)),
    );
    const run = await publish(document, cache.url);
    expect(run).toMatchObject({
      code: 0,
      stderr: `${cache.url}/v1/manifest serves the published manifest.\n`,
    });
    expect([run.json.served, cache.requestCount]).toEqual([true, 3]);
  });

  test('a cache that still serves the previous manifest, or none, is reported', async () => {
    const other = await createDatabase();
    const env = { DATABASE_URL: other.url };
    const before = await publisher.json(['manifest', 'show']);
    const old = await serveDocument(before);
    const none = await startFakeServer((response) => {
      response.statusCode = 404;
      response.end('{"code":"no_version_published"}');
    });
    const first = publisher.writeDocument('first.json', await publisher.sign('1.0', '--first'));
    const [kept, empty] = await Promise.all([
      publish(await nextDocument(), old.url, '--wait', '0'),
      publisher.run([...PUBLISH, first, '--json', '--wait', '0'], { env: { ...env, PUBLIC_URL: none.url } }),
    ]);
    const notServedYet = (url: string, what: string) =>
      `The manifest is published, but ${url}/v1/manifest still serves ${what} after 0 seconds. A cache may keep that for 5 minutes: purge it, or wait; then check with mooring manifest verify ${url}/v1/manifest.\n`;
    expect(kept).toMatchObject({ code: 1, json: { sequence: 3, served: false } });
    expect(kept.stderr).toBe(notServedYet(old.url, 'the manifest of sequence 2'));
    expect(empty).toMatchObject({ code: 1, json: { sequence: 1, served: false } });
    expect(empty.stderr).toBe(notServedYet(none.url, 'no manifest'));
    expect((await publisher.run(['manifest', 'publish', '--help'])).stdout).toMatch(
      /--wait <[^-]*\(default:\s+6\)/,
    );
  });

  test('an address at which no server listens is reported', async () => {
    const document = await nextDocument();
    const url = `http://127.0.0.1:${await freePort()}`;
    const run = await publish(document, url);
    expect(run).toMatchObject({ code: 1, json: { served: false } });
    expect(run.stderr).toBe(`The manifest is published, but ${url}/v1/manifest does not answer.\n`);
    await expectLive(document);
  });

  const wrongAnswers: [string, string, (response: ServerResponse, document: SignedManifest) => void][] = [
    ['an answer that is not JSON', '$URL is not a manifest.', (response) => void response.end('<html>')],
    [
      'an error status',
      '$URL answered with status 502.',
      (response) => {
        response.statusCode = 502;
        response.end('{}');
      },
    ],
    [
      'the manifest of other keys',
      '$URL serves a manifest that clients refuse: The manifest is signed by no trusted key.',
      (response, { signed }) =>
        void response.end(JSON.stringify(signUnchecked(signed, JSON.parse(signed), untrusted))),
    ],
    [
      'changed bytes',
      '$URL serves a manifest that clients refuse: The signature of the manifest is wrong: its bytes were changed.',
      (response, document) =>
        void response.end(JSON.stringify({ ...document, signed: document.signed.replace('1.', '2.') })),
    ],
    [
      'changed unsigned copies',
      '$URL serves a manifest whose unsigned copy of version differs from the signed value.',
      (response, document) => void response.end(JSON.stringify({ ...document, version: '9.9.9' })),
    ],
    [
      'another manifest of the same sequence',
      '$URL serves another manifest of the same sequence, which was not published here.',
      (response, { signed }) =>
        void response.end(JSON.stringify(manifests.sign({ ...JSON.parse(signed), version: '9.9.9' }))),
    ],
    [
      'an answer that breaks off',
      '$URL sent an incomplete answer.',
      (response) => {
        response.writeHead(200, { 'content-length': '1000' });
        response.write('{"version"', () => response.destroy());
      },
    ],
  ];
  test.each(wrongAnswers)('%s is reported', async (_what, sentence, answer) => {
    const document = await nextDocument();
    const address = await startFakeServer((response) => answer(response, document));
    const run = await publish(document, address.url);
    expect(run).toMatchObject({ code: 1, json: { version: document.version, served: false } });
    expect(run.stderr).toBe(
      `The manifest is published, but ${sentence.replace('$URL', `${address.url}/v1/manifest`)}\n`,
    );
    await expectLive(document);
  });

  test('while the address serves the previous manifest, whose key is no longer trusted, the command waits', async () => {
    const before = await publisher.json(['manifest', 'show']);
    const signedByOldKey = signUnchecked(before.signed, JSON.parse(before.signed), untrusted);
    const document = await nextDocument();
    const cache = await startFakeServer(
      (response, earlierRequests) =>
        void response.end(JSON.stringify(earlierRequests < 2 ? signedByOldKey : document)),
    );
    expect(await publish(document, cache.url)).toMatchObject({ code: 0, json: { served: true } });
    expect(cache.requestCount).toBe(3);
  });

  test('after the wait, the previous manifest, whose key is no longer trusted, is reported as the previous one', async () => {
    const before = await publisher.json(['manifest', 'show']);
    const signedByOldKey = signUnchecked(before.signed, JSON.parse(before.signed), untrusted);
    const [document, cache] = [await nextDocument(), await serveDocument(signedByOldKey)];
    const run = await publish(document, cache.url, '--wait', '1');
    expect(run).toMatchObject({ code: 1, json: { served: false } });
    expect(run.stderr).toContain(
      `${cache.url}/v1/manifest still serves the manifest of sequence ${JSON.parse(before.signed).sequence} after 1 second.`,
    );
  });

  test('a manifest of a higher sequence is reported, unless a cache replaces it by the published one', async () => {
    const document = await nextDocument();
    const { sequence } = JSON.parse(document.signed) as { sequence: number };
    const higher = manifests.sign({ ...JSON.parse(document.signed), sequence: 99 });
    const other = await serveDocument(higher);
    const run = await publish(document, other.url, '--wait', '0');
    expect(run).toMatchObject({ code: 1, json: { served: false } });
    expect(run.stderr).toBe(
      `The manifest is published, but ${other.url}/v1/manifest serves the manifest of sequence 99, above ${sequence}. Another publisher has published since, this address serves another installation, or a cache still has a manifest of a database that was lost. Clients that have seen sequence 99 refuse a lower one.\n`,
    );
    const next = await nextDocument();
    const cache = await startFakeServer(
      (response, earlierRequests) => void response.end(JSON.stringify(earlierRequests < 1 ? higher : next)),
    );
    expect(await publish(next, cache.url)).toMatchObject({ code: 0, json: { served: true } });
  });
});
