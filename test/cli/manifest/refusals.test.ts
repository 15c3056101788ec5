import type { KeyObject } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import type { ManifestContent, SignedManifest } from '../../../src/keys/manifests/signed-manifest.js';
import { Publisher } from '../../support/processes/cli-harness.js';
import { createDatabase } from '../../support/harness.js';
import { keyOf, manifestsAt } from '../../manifest/hand-signed-manifests.js';
import { mistaken, mistakes, y25, y27, y28, y29 } from '../../manifest/publish-mistakes.js';

let database: Awaited<ReturnType<typeof createDatabase>>;
let sql: pg.Client;
let terminal: Publisher;
let key: KeyObject;
/** A valid next manifest. */
let next: ManifestContent;
let live: SignedManifest;

/** 1.0.0 for everyone, 2.0.0, 3.0.0 (withdrawn again), 4.0.0 with sequence 5. */
beforeAll(async () => {
  database = await createDatabase();
  terminal = await Publisher.at(database.url);
  key = keyOf(terminal.file('two.pem'));
  await using manifests = await manifestsAt(database.url, key);
  await manifests.publish(manifests.next('1.0.0'));
  await manifests.publish(manifests.next('2.0.0', y25));
  await manifests.publish(manifests.next('3.0.0', y27));
  await manifests.publish(await manifests.withdrawal(), true);
  live = await manifests.publish(manifests.next('4.0.0', y28));
  next = manifests.next('5.0.0', y29);
  sql = new pg.Client(database.url);
  await sql.connect();
});
afterAll(async () => {
  await sql.end();
  terminal.close();
  await database.drop();
});

/** Everything that a publication stores. */
async function published(): Promise<unknown> {
  const { rows: manifests } = await sql.query('select * from manifest order by sequence');
  const { rows: audit } = await sql.query('select * from audit_event order by id');
  return { manifests, audit };
}

describe('publish refuses, and stores nothing of', () => {
  test.each(Object.keys(mistakes))('%s', async (name) => {
    const { sentence, args = [] } = mistakes[name]!;
    const file = terminal.written('slip.json', mistaken(mistakes[name]!, { next, live, key }));
    const before = await published();
    const run = await terminal.run(['manifest', 'publish', file, '--json', ...args]);
    expect(run).toMatchObject({ code: 1, stdout: '', stderr: `${sentence}\n` });
    expect(await published()).toEqual(before);
  });

  test.each([
    ['nonsense.json is not a manifest.', 'no JSON'],
    ['nonsense.json is not a manifest.', '{"version":"5.0.0"}'],
  ])('%s (%#)', async (sentence, text) => {
    writeFileSync(terminal.file('nonsense.json'), text);
    const run = await terminal.run(['manifest', 'publish', 'nonsense.json', '--json']);
    expect(run).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining(sentence) });
  });
});

test('the live manifest is unchanged, and the valid next manifest can be published', async () => {
  expect(await terminal.json(['manifest', 'show'])).toEqual(live);
  const good = mistaken({ sentence: '' }, { next, live, key });
  await terminal.json(['manifest', 'publish', terminal.written('good.json', good)]);
  expect(await terminal.json(['manifest', 'show'])).toEqual(good);
});
