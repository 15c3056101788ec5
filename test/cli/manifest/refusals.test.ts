import { writeFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { Publisher, PUBLISH } from '../../support/processes/cli-harness.js';
import { createDatabase, connect } from '../../support/harness.js';
import { readPrivateKey } from '../../manifest/hand-signed-manifests.js';
import { publishHistory, signWithMistake, MISTAKES } from '../../manifest/publish-mistakes.js';

const database = await createDatabase();
const sql = await connect(database.url);
const publisher = await Publisher.at(database.url);
const key = readPrivateKey(publisher.file('two.pem'));
const { live, next } = await publishHistory(database.url, key);

/** Reads everything that a publication stores. */
async function readPublications(): Promise<unknown> {
  const { rows: manifests } = await sql.query('select * from manifest order by sequence');
  const { rows: audit } = await sql.query('select * from audit_event order by id');
  return { manifests, audit };
}

describe('publish refuses, and stores nothing of', () => {
  test.each(Object.keys(MISTAKES))('%s', async (name) => {
    const { sentence, args = [] } = MISTAKES[name]!;
    const file = publisher.writeDocument(
      'mistake.json',
      signWithMistake(MISTAKES[name]!, { next, live, key }),
    );
    const before = await readPublications();
    const run = await publisher.run([...PUBLISH, file, '--json', ...args]);
    expect(run).toMatchObject({ code: 1, stdout: '', stderr: `${sentence}\n` });
    expect(await readPublications()).toEqual(before);
  });

  test.each(['no JSON', '{"version":"5.0.0"}'])('a file with the text %j', async (text) => {
    const before = await readPublications();
    writeFileSync(publisher.file('nonsense.json'), text);
    const run = await publisher.run([...PUBLISH, 'nonsense.json', '--json']);
    expect(run).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('nonsense.json is not a manifest.'),
    });
    expect(await readPublications()).toEqual(before);
  });
});

test('the live manifest is unchanged, and the valid next manifest can be published', async () => {
  expect(await publisher.json(['manifest', 'show'])).toEqual(live);
  // Without a change, `signWithMistake` signs the valid next manifest.
  const good = signWithMistake({ sentence: '' }, { next, live, key });
  await publisher.publish(publisher.writeDocument('good.json', good));
  expect(await publisher.json(['manifest', 'show'])).toEqual(good);
});
