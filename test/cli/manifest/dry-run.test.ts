import { readdirSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { parseSigned } from '../../../src/keys/manifests/signed-manifest.js';
import {
  DISK_IMAGE,
  PUBLISH,
  WITHOUT_SERVER,
  imageUrl,
  UNREACHABLE_URL,
  Publisher,
  signArgsWithoutKey,
  type RunOptions,
} from '../../support/processes/cli-harness.js';
import { createDatabase, connect } from '../../support/harness.js';
import { readPrivateKey, openManifests } from '../../manifest/hand-signed-manifests.js';
import { startFakeServer } from '../../manifest/fake-manifest-server.js';
import {
  publishHistory,
  signWithMistake,
  MISTAKES,
  JANUARY_2025,
  JANUARY_2028,
  JANUARY_2029,
} from '../../manifest/publish-mistakes.js';

const database = await createDatabase();
const sql = await connect(database.url);
const publisher = await Publisher.at(database.url);
const { live } = await publishHistory(database.url, readPrivateKey(publisher.file('two.pem')));

/** Reads everything that a command could change: published manifests, the audit trail, files. */
async function readEverything(): Promise<unknown> {
  const { rows } = await sql.query(
    'select (select json_agg(m) from manifest m) as manifests, (select json_agg(a) from audit_event a) as audit',
  );
  return { rows, files: readdirSync(publisher.dir).toSorted() };
}

/** Runs a command, and checks that it changes nothing. */
async function expectNoChange<T>(work: () => Promise<T>): Promise<T> {
  const before = await readEverything();
  const done = await work();
  expect(await readEverything()).toEqual(before);
  return done;
}

const audience = (minimum: string) => `licenses that never expire, or not before ${minimum}`;
const TOMORROW = new Date(Date.now() + 86_400_000).toISOString().replace(/\.\d+/, '');
const SIGN_NEXT_VERSION = [...signArgsWithoutKey('5.0.0'), '--minimum-license-expiry', JANUARY_2029];

describe('--dry-run', () => {
  test('of sign shows what would change, and needs no key', async () => {
    const run = await expectNoChange(() =>
      publisher.run([
        ...SIGN_NEXT_VERSION,
        '--expires',
        '2099-01-01',
        '--long-expiry',
        '--dry-run',
        '--json',
      ]),
    );
    expect(run.stderr).toBe('The live manifest is from the database: version 4.0.0, sequence 5.\n');
    const { live: reported, next, changes } = run.json;
    expect(reported).toEqual(parseSigned(live.signed));
    expect(next).toMatchObject({ version: '5.0.0', sequence: 6, minimum_license_expiry: JANUARY_2029 });
    const byMember = Object.fromEntries(
      changes.map(({ member, from, to }: Record<string, unknown>) => [member, [from, to]]),
    );
    // The time of issue is the same if both manifests were issued in the same second.
    delete byMember['issued_at'];
    expect(byMember).toEqual({
      sequence: [5, 6],
      expires_at: [reported.expires_at, '2099-01-01T00:00:00Z'],
      version: ['4.0.0', '5.0.0'],
      minimum_license_expiry: [JANUARY_2028, JANUARY_2029],
      'dmg.url': [imageUrl('4.0.0'), imageUrl('5.0.0')],
      'dmg.size': [1_000_000, DISK_IMAGE.length],
      'dmg.sha256': [reported.dmg.sha256, next.dmg.sha256],
      'also_available 4.0.0': [null, `for ${audience(JANUARY_2028)}: ${imageUrl('4.0.0')}`],
      previous: [reported.previous, next.previous],
    });
  });

  test('without --json prints a table', async () => {
    const { code, stdout } = await expectNoChange(() => publisher.run([...SIGN_NEXT_VERSION, '--dry-run']));
    expect(code).toBe(0);
    const lines = stdout.split('\n');
    expect(lines[0]).toMatch(/^Member +Live +Next$/);
    expect(lines).toContainEqual(expect.stringMatching(/^version +4\.0\.0 +5\.0\.0$/));
    expect(lines).toContainEqual(expect.stringMatching(/^sequence +5 +6$/));
    expect(lines).toContainEqual(expect.stringMatching(/^also_available 4\.0\.0 +- +for licenses /));
    expect(stdout).not.toContain('product');
  });

  test('of the first manifest shows its members, except null, without a server, a database or a key', async () => {
    const env = { ...WITHOUT_SERVER, MANIFEST_PUBLIC_KEYS: undefined };
    const args = [...signArgsWithoutKey('1.0.0', '--first', '--sequence', '7'), '--dry-run', '--json'];
    const { json } = await expectNoChange(() => publisher.run(args, { env }));
    expect(json.live).toBeNull();
    expect(json.changes).toContainEqual({ member: 'sequence', from: null, to: 7 });
    expect(json.changes).toContainEqual({ member: 'version', from: null, to: '1.0.0' });
    expect(json.changes).not.toContainEqual(expect.objectContaining({ member: 'minimum_license_expiry' }));
  });

  test('of sign with --sequence skips numbers that clients have seen, and refuses a number that is not above the live one', async () => {
    const signWith = (sequence: string) =>
      expectNoChange(() =>
        publisher.run([...SIGN_NEXT_VERSION, '--sequence', sequence, '--dry-run', '--json']),
      );
    const { json } = await signWith('1005');
    expect(json.changes).toContainEqual({ member: 'sequence', from: 5, to: 1005 });
    expect(json.next.previous).toBe(
      json.changes.find(({ member }: { member: string }) => member === 'previous').to,
    );
    const refused = await signWith('5');
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toContain(
      'The live manifest has sequence 5; this one has 5 and must be above it.',
    );
  });

  test('of refresh and withdraw shows what would change', async () => {
    const refresh = [
      'manifest',
      'refresh',
      '--expires',
      '2099-01-01',
      '--long-expiry',
      '--dry-run',
      '--json',
    ];
    const renewed = await expectNoChange(() => publisher.json(refresh));
    expect(renewed.changes.map(({ member }: { member: string }) => member)).toEqual(
      expect.arrayContaining(['sequence', 'expires_at', 'previous']),
    );
    expect(renewed.next).toMatchObject({ version: '4.0.0', expires_at: '2099-01-01T00:00:00Z' });
    const withdraw = ['manifest', 'withdraw', '--dry-run', '--json'];
    const withdrawn = await expectNoChange(() => publisher.json(withdraw));
    expect(withdrawn.changes).toContainEqual({ member: 'version', from: '4.0.0', to: '2.0.0' });
    expect(withdrawn.changes).toContainEqual({
      member: 'minimum_license_expiry',
      from: JANUARY_2028,
      to: JANUARY_2025,
    });
    expect(withdrawn.changes).toContainEqual(
      expect.objectContaining({ member: 'also_available 2.0.0', to: null }),
    );
  });

  const refusals: [code: 1 | 2, sentence: string, args: string[], env?: RunOptions['env']][] = [
    [1, 'The live version is 4.0.0; this one is 3.9.0', signArgsWithoutKey('3.9.0')],
    [1, 'Version 4.0.0 is published with another image', signArgsWithoutKey('4.0.0')],
    [1, '--expires must be later.', ['manifest', 'refresh', '--expires', TOMORROW]],
    [
      1,
      '/v1/manifest does not answer.',
      SIGN_NEXT_VERSION,
      { ...WITHOUT_SERVER, PUBLIC_URL: UNREACHABLE_URL },
    ],
    [2, 'exclude each other', [...SIGN_NEXT_VERSION, '--out', 'x']],
  ];
  test.each(refusals)('refuses with exit code %d: %s', async (...[code, sentence, args, env]) => {
    const run = await expectNoChange(() => publisher.run([...args, '--dry-run', '--json'], { env }));
    expect(run).toMatchObject({ code, stdout: '', stderr: expect.stringContaining(sentence) });
  });

  test('of a later version is refused if no live manifest is found, and the message says what to do', async () => {
    const none = await startFakeServer((response) => {
      response.statusCode = 404;
      response.end('{"code":"no_version_published"}');
    });
    const env = { ...WITHOUT_SERVER, PUBLIC_URL: none.url };
    const run = await expectNoChange(() =>
      publisher.run([...SIGN_NEXT_VERSION, '--dry-run', '--json'], { env }),
    );
    const sentence = `No live manifest was found at ${none.url}/v1/manifest or in a database. Give its file or URL with --previous, or sign the first manifest with --first.\n`;
    expect(run).toMatchObject({ code: 1, stdout: '', stderr: sentence });
  });

  test('of publish shows what would change, as JSON and as a table, also for a withdrawal', async () => {
    const made = await publisher.json([...SIGN_NEXT_VERSION, '--key', 'two.pem']);
    const file = publisher.writeDocument('next.json', made);
    const {
      live: reported,
      next,
      changes,
    } = await expectNoChange(() => publisher.json([...PUBLISH, file, '--dry-run']));
    expect([reported, next]).toEqual([parseSigned(live.signed), parseSigned(made.signed)]);
    expect(changes).toContainEqual({ member: 'version', from: '4.0.0', to: '5.0.0' });
    const text = await expectNoChange(() => publisher.run([...PUBLISH, file, '--dry-run']));
    expect(text).toMatchObject({
      code: 0,
      stderr: '',
      stdout: expect.stringMatching(/^Member +Live +Next\n/),
    });
    const back = publisher.writeDocument(
      'back.json',
      await publisher.json(['manifest', 'withdraw', '--key', 'two.pem']),
    );
    const dryRun = await expectNoChange(() =>
      publisher.run([...PUBLISH, back, '--withdraw', '--dry-run', '--json']),
    );
    expect(dryRun.json.changes).toContainEqual({ member: 'version', from: '4.0.0', to: '2.0.0' });
  });

  // One mistake each in the key, an unsigned copy, the predecessor, an older version and a withdrawal. refusals.test.ts tests all
  // mistakes without --dry-run.
  test.each([
    'an untrusted key',
    'another unsigned copy of version',
    'no predecessor',
    'an older version that was withdrawn',
    '--withdraw with a new version',
  ])('of publish refuses %s', async (name) => {
    await using manifests = await openManifests(database.url, readPrivateKey(publisher.file('two.pem')));
    const mistake = MISTAKES[name]!;
    const next = manifests.next('5.0.0', JANUARY_2029);
    const key = readPrivateKey(publisher.file('two.pem'));
    const file = publisher.writeDocument('mistake.json', signWithMistake(mistake, { next, live, key }));
    const args = [...PUBLISH, file, '--dry-run', '--json', ...(mistake.args ?? [])];
    const run = await expectNoChange(() => publisher.run(args));
    expect(run).toMatchObject({ code: 1, stdout: '', stderr: `${mistake.sentence}\n` });
  });
});
