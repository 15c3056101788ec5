import { writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { MooringClient, type UpdateCheck } from '../../client/src/client.js';
import { thumbprint, publicKeyFromX } from '../../src/keys/ed25519/ed25519.js';
import type { SignedManifest } from '../../src/keys/manifests/signed-manifest.js';
import {
  DISK_IMAGE,
  PUBLISH,
  WITHOUT_SERVER,
  Terminal,
  signArgsWithoutKey,
  type Run,
} from '../support/processes/cli-harness.js';
import { Service } from '../support/harness.js';

/** The keys of one product in the order in which they are used, all made by `keygen`. */
const NAMES = ['k1', 'k2', 'k3', 'k4'] as const;
type Name = (typeof NAMES)[number];
const publicKeys: Record<string, string> = {};
let service: Service;
let terminal: Terminal;
/** Three generations of the application. Each trusts two keys: the current one and the next. */
let oldest: App;
let middle: App;
let newest: App;
/** The published documents, in order. */
const documents: SignedManifest[] = [];

beforeAll(async () => {
  terminal = new Terminal({});
  for (const name of NAMES) {
    const keygen = ['manifest', 'keygen', '--out', `${name}.pem`, '--no-passphrase'];
    publicKeys[name] = (await terminal.json(keygen, SIGNER)).public_key;
  }
  writeFileSync(terminal.file('App.dmg'), DISK_IMAGE);
  service = await Service.start({ environment: { MANIFEST_PUBLIC_KEYS: trusting('k1', 'k2') } });
  terminal.env['DATABASE_URL'] = service.databaseUrl;
  terminal.env['PUBLIC_URL'] = service.url;
  [oldest, middle, newest] = [new App('k1', 'k2'), new App('k2', 'k3'), new App('k3', 'k4')];
});
afterAll(async () => {
  for (const app of [oldest, middle, newest]) await app.quit();
});

test('a manifest signed with the current and the next key: clients that trust either key get the update', async () => {
  const live = await publish(await sign(['k1', 'k2'], '1.1.0', '--first'), ['k1', 'k2']);
  expect(live.json).toMatchObject({ version: '1.1.0', sequence: 1, served: true });
  expect(await offers()).toEqual(['1.1.0', '1.1.0', 'untrusted']);
});

test('a manifest with a new key is published and served without a restart of the server', async () => {
  const document = await sign(['k2', 'k3'], '1.2.0');
  // The server still has its old keys. The command trusts the keys in its own environment.
  const live = await publish(document, ['k2', 'k3']);
  expect(live.json).toMatchObject({ version: '1.2.0', sequence: 2, served: true });
  expect(live.stderr).toBe(`${service.url}/v1/manifest serves the published manifest.\n`);
  expect(await offers()).toEqual(['1.2.0', '1.2.0', '1.2.0']);
  expect(await readListedKeys()).toEqual(['k1', 'k2']);
});

test('a manifest signed with a dropped key cannot be published, not even with another key_id', async () => {
  const before = await service.call('GET', '/v1/manifest');
  const alone = await sign(['k1'], '1.3.0', '--public-key', publicKeys['k2']!);
  const untrusted = 'The manifest is signed by no trusted key.\n';
  for (const moreArgs of [[], ['--dry-run'], ['--withdraw']])
    expect(await publish(alone, ['k2', 'k3'], ...moreArgs)).toMatchObject({
      code: 1,
      stdout: '',
      stderr: untrusted,
    });
  const disguised = { ...alone, key_id: idOf('k2') };
  disguised.signatures = [{ ...alone.signatures[0]!, key_id: idOf('k2') }];
  expect(await publish(disguised, ['k2', 'k3'])).toMatchObject({
    code: 1,
    stderr: 'The signature of the manifest is wrong: its bytes were changed.\n',
  });
  expect((await service.call('GET', '/v1/manifest')).text).toBe(before.text);
  // A publisher without this key does not accept the manifest as --previous.
  const previous = terminal.file('by-k1.json');
  writeFileSync(previous, JSON.stringify(alone));
  const built = await terminal.run(signArgs(['k3'], '1.4.0', '--previous', previous), SIGNER);
  expect(built).toMatchObject({ code: 1, stderr: expect.stringContaining('cannot be used') });
});

test('with the old key dropped, updated clients get the update, and others report untrusted', async () => {
  const live = await publish(await sign(['k3'], '1.3.0'), ['k3', 'k4']);
  expect(live.json).toMatchObject({ version: '1.3.0', sequence: 3, served: true });
  expect(await offers()).toEqual(['untrusted', '1.3.0', '1.3.0']);
  expect(oldest.log).toContain('no update available: untrusted');
  // A mirror serves an older manifest. A client that has seen a later manifest with one of its keys refuses it.
  for (const app of [oldest, middle, newest]) app.mirror = JSON.stringify(documents[0]);
  expect(await offers()).toEqual(['sequence_too_low', 'sequence_too_low', 'untrusted']);
  for (const app of [oldest, middle, newest]) app.mirror = undefined;
});

test('a client that missed the rotation gets the update if an old key signs as well', async () => {
  const live = await publish(await sign(['k2', 'k3'], '1.4.0'), ['k2', 'k3', 'k4']);
  expect(live.json).toMatchObject({ sequence: 4, served: true });
  expect(await offers()).toEqual(['1.4.0', '1.4.0', '1.4.0']);
});

test('a stolen key affects only clients that trust it, and a manifest signed with their other key updates them again', async () => {
  // An attacker with the key and control of the network serves this manifest.
  const forged = JSON.stringify(await sign(['k1'], '9.0.0', '--first', '--sequence', '900'));
  for (const app of [oldest, middle, newest]) app.mirror = forged;
  expect(await offers()).toEqual(['9.0.0', 'untrusted', 'untrusted']);
  for (const app of [oldest, middle, newest]) app.mirror = undefined;
  // The oldest client has seen a higher sequence signed with the stolen key, so it refuses lower ones that this key also signs.
  const trusted: Name[] = ['k1', 'k2', 'k3'];
  await publish(await sign(['k1', 'k2', 'k3'], '1.5.0'), trusted);
  expect(await offers()).toEqual(['sequence_too_low', '1.5.0', '1.5.0']);
  // Without the stolen key, it is updated.
  await publish(await sign(['k2', 'k3'], '1.5.1'), ['k2', 'k3']);
  expect(await offers()).toEqual(['1.5.1', '1.5.1', '1.5.1']);
});

test('after a restart the server lists the new keys in /v1/keys, and serves the live manifest', async () => {
  const environment = { MANIFEST_PUBLIC_KEYS: trusting('k3', 'k4') };
  const before = await service.call('GET', '/v1/manifest');
  const restarted = await Service.beside(service, { environment });
  expect(await readListedKeys(restarted)).toEqual(['k3', 'k4']);
  const { text, headers } = await restarted.call('GET', '/v1/manifest');
  expect([text, headers['etag']]).toEqual([before.text, before.headers['etag']]);
  await restarted.close();
});

/** An application with the reference client, built with these two keys. */
class App {
  readonly log: string[] = [];
  /** If it is set, a mirror in place of the server answers with this document. */
  mirror: string | undefined;
  readonly #client: MooringClient;

  constructor(...keys: Name[]) {
    this.#client = new MooringClient({
      baseUrl: service.url,
      app: 'EXAMPLE',
      product: 'com.example.app',
      appVersion: '1.0.0',
      trustedKeys: keys.map((name) => publicKeys[name]!),
      stateFile: terminal.file(`${keys.join('-')}.json`),
      environment: {},
      log: (line) => this.log.push(line),
      fetch: (url, init) =>
        this.mirror === undefined
          ? fetch(url, init)
          : Promise.resolve(new Response(this.mirror, { headers: { 'content-type': 'application/json' } })),
    });
  }

  /** Checks for an update. @returns the offered version, or the reason why there is none */
  async checkForUpdate(): Promise<string> {
    const check: UpdateCheck = await this.#client.checkForUpdate();
    return check.available ? check.offer.version : check.reason;
  }

  quit(): Promise<void> {
    return this.#client.close();
  }
}

const offers = async () => [
  await oldest.checkForUpdate(),
  await middle.checkForUpdate(),
  await newest.checkForUpdate(),
];
const trusting = (...names: Name[]) => names.map((name) => publicKeys[name]).join(',');
const idOf = (name: Name) => thumbprint(publicKeyFromX(publicKeys[name]!));

/** The environment of the publisher's machine: without settings of a server. */
const SIGNER = { env: WITHOUT_SERVER };

function signArgs(names: readonly Name[], version: string, ...moreArgs: string[]): string[] {
  // `/v1/keys` of the running service lists only k1 and k2, so each key is named.
  const keys = names.flatMap((name) => ['--key', `${name}.pem`, '--public-key', publicKeys[name]!]);
  return signArgsWithoutKey(version, ...keys, ...moreArgs);
}

function sign(names: readonly Name[], version: string, ...moreArgs: string[]): Promise<SignedManifest> {
  return terminal.json(signArgs(names, version, ...moreArgs), SIGNER);
}

/** Runs `manifest publish` on the server with these trusted keys. */
async function publish(
  document: SignedManifest,
  names: readonly Name[],
  ...moreArgs: string[]
): Promise<Run> {
  writeFileSync(terminal.file('manifest.json'), JSON.stringify(document));
  const run = await terminal.run([...PUBLISH, 'manifest.json', '--json', ...moreArgs], {
    env: { MANIFEST_PUBLIC_KEYS: trusting(...names) },
  });
  if (run.code === 0) documents.push(document);
  return run;
}

async function readListedKeys(of = service): Promise<(string | undefined)[]> {
  const { keys } = (await of.call('GET', '/v1/keys')).json as { keys: { x: string; for: string }[] };
  return keys
    .filter((key) => key.for === 'update-manifest')
    .map(({ x }) => NAMES.find((name) => publicKeys[name] === x));
}
