import { readdirSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { parseSigned, type SignedManifest } from '../../../src/keys/manifests/signed-manifest.js';
import {
  ALONE,
  imageUrl,
  NOWHERE,
  Publisher,
  unkeyed,
  type RunOptions,
} from '../../support/processes/cli-harness.js';
import { createDatabase } from '../../support/harness.js';
import { keyOf, manifestsAt } from '../../manifest/hand-signed-manifests.js';
import { fakeServer } from '../../manifest/fake-manifest-server.js';
import { mistaken, mistakes, y25, y27, y28, y29 } from '../../manifest/publish-mistakes.js';

let database: Awaited<ReturnType<typeof createDatabase>>;
let sql: pg.Client;
let terminal: Publisher;
let live: SignedManifest;
/** The published manifests before the mistakes. */
beforeAll(async () => {
  database = await createDatabase();
  sql = new pg.Client(database.url);
  await sql.connect();
  terminal = await Publisher.at(database.url);
  await using manifests = await manifestsAt(database.url, keyOf(terminal.file('two.pem')));
  await manifests.publish(manifests.next('1.0.0'));
  await manifests.publish(manifests.next('2.0.0', y25));
  await manifests.publish(manifests.next('3.0.0', y27));
  await manifests.publish(await manifests.withdrawal(), true);
  live = await manifests.publish(manifests.next('4.0.0', y28));
});
afterAll(async () => {
  await sql.end();
  terminal.close();
  await database.drop();
});

/** Everything that could be changed: published manifests, the audit trail, files. */
async function everything(): Promise<unknown> {
  const { rows } = await sql.query(
    'select (select json_agg(m) from manifest m) as manifests, (select json_agg(a) from audit_event a) as audit',
  );
  return { rows, files: readdirSync(terminal.dir).toSorted() };
}

async function changesNothing<T>(work: () => Promise<T>): Promise<T> {
  const before = await everything();
  const done = await work();
  expect(await everything()).toEqual(before);
  return done;
}

const all = (minimum: string) => `licenses that never expire, or not before ${minimum}`;
const TOMORROW = new Date(Date.now() + 86_400_000).toISOString().replace(/\.\d+/, '');
const VERSION = [...unkeyed('5.0.0'), '--minimum-license-expiry', y29];

describe('--dry-run', () => {
  test('of sign shows what would change, and needs no key', async () => {
    const run = await changesNothing(() =>
      terminal.run([...VERSION, '--expires', '2099-01-01', '--dry-run', '--json']),
    );
    expect(run.stderr).toBe('The live manifest is from the database: version 4.0.0, sequence 5.\n');
    const { live: reported, next, changes } = run.json;
    expect(reported).toEqual(parseSigned(live.signed));
    expect(next).toMatchObject({ version: '5.0.0', sequence: 6, minimum_license_expiry: y29 });
    const byMember = Object.fromEntries(
      changes.map(({ member, from, to }: Record<string, unknown>) => [member, [from, to]]),
    );
    // Both may have been issued in the same second.
    delete byMember['issued_at'];
    expect(byMember).toEqual({
      sequence: [5, 6],
      expires_at: [reported.expires_at, '2099-01-01T00:00:00Z'],
      version: ['4.0.0', '5.0.0'],
      minimum_license_expiry: [y28, y29],
      'dmg.url': [imageUrl('4.0.0'), imageUrl('5.0.0')],
      'dmg.size': [1_000_000, 8],
      'dmg.sha256': [reported.dmg.sha256, next.dmg.sha256],
      'also_available 4.0.0': [null, `for ${all(y28)}: ${imageUrl('4.0.0')}`],
      previous: [reported.previous, next.previous],
    });
  });

  test('without --json it is a table', async () => {
    const { code, stdout } = await changesNothing(() => terminal.run([...VERSION, '--dry-run']));
    expect(code).toBe(0);
    const lines = stdout.split('\n');
    expect(lines[0]).toMatch(/^Member +Live +Next$/);
    expect(lines).toContainEqual(expect.stringMatching(/^version +4\.0\.0 +5\.0\.0$/));
    expect(lines).toContainEqual(expect.stringMatching(/^sequence +5 +6$/));
    expect(lines).toContainEqual(expect.stringMatching(/^also_available 4\.0\.0 +- +for licenses /));
    expect(stdout).not.toContain('product');
  });

  test('of the first manifest shows all members, without a server, a database or a key', async () => {
    const env = { ...ALONE, MANIFEST_PUBLIC_KEYS: undefined };
    const args = [...unkeyed('1.0.0', '--first', '--sequence', '7'), '--dry-run', '--json'];
    const { json } = await changesNothing(() => terminal.run(args, { env }));
    expect(json.live).toBeNull();
    expect(json.changes).toContainEqual({ member: 'sequence', from: null, to: 7 });
    expect(json.changes).toContainEqual({ member: 'version', from: null, to: '1.0.0' });
    expect(json.changes).not.toContainEqual(expect.objectContaining({ member: 'minimum_license_expiry' }));
    const later = await terminal.run(unkeyed('1.0.0', '--sequence', '7', '--dry-run'), { env });
    expect(later).toMatchObject({ code: 2, stderr: '--sequence needs --first.\n' });
  });

  test('of refresh and withdraw', async () => {
    const refresh = ['manifest', 'refresh', '--expires', '2099-01-01', '--dry-run', '--json'];
    const renewed = await changesNothing(() => terminal.json(refresh));
    expect(renewed.changes.map(({ member }: { member: string }) => member)).toEqual(
      expect.arrayContaining(['sequence', 'expires_at', 'previous']),
    );
    expect(renewed.next).toMatchObject({ version: '4.0.0', expires_at: '2099-01-01T00:00:00Z' });
    const withdraw = ['manifest', 'withdraw', '--dry-run', '--json'];
    const taken = await changesNothing(() => terminal.json(withdraw));
    expect(taken.changes).toContainEqual({ member: 'version', from: '4.0.0', to: '2.0.0' });
    expect(taken.changes).toContainEqual({ member: 'minimum_license_expiry', from: y28, to: y25 });
    expect(taken.changes).toContainEqual(
      expect.objectContaining({ member: 'also_available 2.0.0', to: null }),
    );
  });

  const refusals: [code: 1 | 2, sentence: string, args: string[], env?: RunOptions['env']][] = [
    [1, 'The live version is 4.0.0; this one is 3.9.0', unkeyed('3.9.0')],
    [1, 'Version 4.0.0 is published with another image', unkeyed('4.0.0')],
    [1, '--expires must be later.', ['manifest', 'refresh', '--expires', TOMORROW]],
    [1, '/v1/manifest does not answer.', VERSION, { ...ALONE, PUBLIC_URL: NOWHERE }],
    [2, 'exclude each other', [...VERSION, '--out', 'x']],
  ];
  test.each(refusals)('%d: %s', async (...[code, sentence, args, env]) => {
    const run = await changesNothing(() => terminal.run([...args, '--dry-run', '--json'], { env }));
    expect(run).toMatchObject({ code, stdout: '', stderr: expect.stringContaining(sentence) });
  });

  test('of a further version without a live manifest is refused, with the first step', async () => {
    await using none = await fakeServer((response) => {
      response.statusCode = 404;
      response.end('{"code":"no_version_published"}');
    });
    const env = { ...ALONE, PUBLIC_URL: none.url };
    const run = await changesNothing(() => terminal.run([...VERSION, '--dry-run', '--json'], { env }));
    const sentence = `No live manifest was found at ${none.url}/v1/manifest or in a database: name it with --previous, or sign with --first.\n`;
    expect(run).toMatchObject({ code: 1, stdout: '', stderr: sentence });
  });

  test('of publish shows the same changes, and the manifest can be published afterwards', async () => {
    const made = await terminal.json([...VERSION, '--key', 'two.pem']);
    const file = terminal.written('next.json', made);
    const {
      live: reported,
      next,
      changes,
    } = await changesNothing(() => terminal.json(['manifest', 'publish', file, '--dry-run']));
    expect([reported, next]).toEqual([parseSigned(live.signed), parseSigned(made.signed)]);
    expect(changes).toContainEqual({ member: 'version', from: '4.0.0', to: '5.0.0' });
    const text = await changesNothing(() => terminal.run(['manifest', 'publish', file, '--dry-run']));
    expect(text).toMatchObject({
      code: 0,
      stderr: '',
      stdout: expect.stringMatching(/^Member +Live +Next\n/),
    });
    const back = terminal.written(
      'back.json',
      await terminal.json(['manifest', 'withdraw', '--key', 'two.pem']),
    );
    const rehearsed = await changesNothing(() =>
      terminal.run(['manifest', 'publish', back, '--withdraw', '--dry-run', '--json']),
    );
    expect(rehearsed.json.changes).toContainEqual({ member: 'version', from: '4.0.0', to: '2.0.0' });
  });

  // One of each kind: what is untrue of the document, of its place, of its versions.
  test.each([
    'an untrusted key',
    'another outer version',
    'no predecessor',
    'an older version that was withdrawn',
    '--withdraw with a new version',
  ])('of publish refuses %s', async (name) => {
    await using manifests = await manifestsAt(database.url, keyOf(terminal.file('two.pem')));
    const mistake = mistakes[name]!;
    const harness = { next: manifests.next('5.0.0', y29), live, key: keyOf(terminal.file('two.pem')) };
    const file = terminal.written('slip.json', mistaken(mistake, harness));
    const args = ['manifest', 'publish', file, '--dry-run', '--json', ...(mistake.args ?? [])];
    const run = await changesNothing(() => terminal.run(args));
    expect(run).toMatchObject({ code: 1, stdout: '', stderr: `${mistake.sentence}\n` });
  });
});
