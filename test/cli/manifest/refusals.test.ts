import type { KeyObject } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import type { ManifestContent, SignedManifest } from '../../../src/keys/manifests/signed-manifest.js';
import { Publisher, PUBLISH } from '../../support/processes/cli-harness.js';
import { createDatabase, connect, type TestDatabase } from '../../support/harness.js';
import { readPrivateKey, openManifests } from '../../manifest/hand-signed-manifests.js';
import {
  signWithMistake,
  MISTAKES,
  JANUARY_2025,
  JANUARY_2027,
  JANUARY_2028,
  JANUARY_2029,
} from '../../manifest/publish-mistakes.js';

let database: TestDatabase;
let sql: pg.Client;
let terminal: Publisher;
let key: KeyObject;
/** The content of a valid next manifest. */
let next: ManifestContent;
let live: SignedManifest;

/** Publishes 1.0.0 for all licenses, 2.0.0, 3.0.0 (then withdrawn) and 4.0.0, which is live with sequence 5. */
beforeAll(async () => {
  database = await createDatabase();
  terminal = await Publisher.at(database.url);
  key = readPrivateKey(terminal.file('two.pem'));
  await using manifests = await openManifests(database.url, key);
  await manifests.publish(manifests.next('1.0.0'));
  await manifests.publish(manifests.next('2.0.0', JANUARY_2025));
  await manifests.publish(manifests.next('3.0.0', JANUARY_2027));
  await manifests.publish(await manifests.withdrawal(), true);
  live = await manifests.publish(manifests.next('4.0.0', JANUARY_2028));
  next = manifests.next('5.0.0', JANUARY_2029);
  sql = await connect(database.url);
});

/** Reads everything that a publication stores. */
async function readPublications(): Promise<unknown> {
  const { rows: manifests } = await sql.query('select * from manifest order by sequence');
  const { rows: audit } = await sql.query('select * from audit_event order by id');
  return { manifests, audit };
}

describe('publish refuses, and stores nothing of', () => {
  test.each(Object.keys(MISTAKES))('%s', async (name) => {
    const { sentence, args = [] } = MISTAKES[name]!;
    const file = terminal.writeDocument(
      'mistake.json',
      signWithMistake(MISTAKES[name]!, { next, live, key }),
    );
    const before = await readPublications();
    const run = await terminal.run([...PUBLISH, file, '--json', ...args]);
    expect(run).toMatchObject({ code: 1, stdout: '', stderr: `${sentence}\n` });
    expect(await readPublications()).toEqual(before);
  });

  test.each(['no JSON', '{"version":"5.0.0"}'])('a file with the text %j', async (text) => {
    const before = await readPublications();
    writeFileSync(terminal.file('nonsense.json'), text);
    const run = await terminal.run([...PUBLISH, 'nonsense.json', '--json']);
    expect(run).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('nonsense.json is not a manifest.'),
    });
    expect(await readPublications()).toEqual(before);
  });
});

test('the live manifest is unchanged, and the valid next manifest can be published', async () => {
  expect(await terminal.json(['manifest', 'show'])).toEqual(live);
  // A mistake without a change leaves the manifest valid.
  const good = signWithMistake({ sentence: '' }, { next, live, key });
  await terminal.publish(terminal.writeDocument('good.json', good));
  expect(await terminal.json(['manifest', 'show'])).toEqual(good);
});
