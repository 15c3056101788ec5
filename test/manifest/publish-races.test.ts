import { generateKeyPairSync } from 'node:crypto';
import { beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { LOCKS } from '../../src/database/locks.js';
import { parseSigned, type ManifestContent } from '../../src/keys/manifests/signed-manifest.js';
import { manifestDigest, PublishError } from '../../src/manifest/manifest.rules.js';
import { Publisher, PUBLISH } from '../support/processes/cli-harness.js';
import { createDatabase, connect, type TestDatabase } from '../support/harness.js';
import { readPrivateKey, openManifests } from './hand-signed-manifests.js';
import { query } from '../support/databases/replica-harness.js';
import { WAITING_ADVISORY_LOCKS } from '../support/tables.js';

const ROUNDS = 20;
const PUBLISHERS = 5;

let database: TestDatabase;
let sql: pg.Client;
beforeAll(async () => {
  database = await createDatabase();
  sql = await connect(database.url);
});

const rows = async () =>
  (await sql.query('select sequence::int, signed from manifest order by sequence')).rows;
const refusalFor = (live: ManifestContent) =>
  `Another manifest is live now (sequence ${live.sequence}, version ${live.version}): sign again on top of it.`;

test('of two concurrent commands one publishes, and the other reports the live version', async () => {
  const publisher = await Publisher.at(database.url);
  await using manifests = await openManifests(database.url, readPrivateKey(publisher.file('two.pem')));
  await manifests.publish(manifests.next('1.0'));
  const documents = ['1.1', '1.2'].map((version) => manifests.sign(manifests.next(version)));
  // Both commands wait for this lock, so that it does not matter which of them starts first.
  await sql.query('select pg_advisory_lock($1)', [LOCKS.publish]);
  const runs = documents.map((document) =>
    publisher.run([...PUBLISH, publisher.writeDocument(`${document.version}.json`, document), '--json']),
  );
  for (let count = 0; count < 2;)
    count = (await sql.query(WAITING_ADVISORY_LOCKS, [LOCKS.publish])).rowCount!;
  await sql.query('select pg_advisory_unlock($1)', [LOCKS.publish]);
  // No service is at the public address, so the command that publishes ends with 1 as well, but prints what is live.
  const [winner, loser] = (await Promise.all(runs)).toSorted((a) => (a.json ? -1 : 1));
  await manifests.service.refresh();
  const live = manifests.service.live!.content;
  expect(winner).toMatchObject({ code: 1, json: { sequence: 2, version: live.version } });
  expect(loser).toMatchObject({ code: 1, stdout: '', stderr: `${refusalFor(live)}\n` });
  expect(await rows()).toHaveLength(2);
  const audit = await sql.query('select change from audit_event order by at desc, id desc limit 1');
  const before = { sequence: 1, version: '1.0' };
  expect(audit.rows).toEqual([{ change: { sequence: 2, version: live.version, before } }]);
});

test(`${ROUNDS} rounds of ${PUBLISHERS} concurrent publishers at each of two instances: in each round one succeeds, and the chain has no gap`, async () => {
  const own = await createDatabase();
  const { privateKey } = generateKeyPairSync('ed25519');
  await using first = await openManifests(own.url, privateKey);
  await using second = await openManifests(own.url, privateKey);
  const winners: string[] = [];
  for (let round = 1; round <= ROUNDS; round++) {
    const attempts = Array.from({ length: 2 * PUBLISHERS }, (_, i) => {
      const content = first.next(`${round}.${i}`);
      return { instance: i % 2 === 0 ? first : second, content };
    });
    const results = await Promise.allSettled(
      attempts.map(({ instance, content }) => instance.publish(content)),
    );
    const won = attempts.filter((_, i) => results[i]!.status === 'fulfilled');
    expect(won).toHaveLength(1);
    const live = won[0]!.content;
    const lost = results.flatMap((result) =>
      result.status === 'rejected' ? [result.reason as unknown] : [],
    );
    expect(lost).toHaveLength(2 * PUBLISHERS - 1);
    for (const refusal of lost) expect(refusal).toEqual(new PublishError(refusalFor(live)));
    for (const manifests of [first, second]) {
      await manifests.service.refresh();
      expect(manifests.service.live!.content).toEqual(live);
    }
    winners.push(live.version);
  }
  const published = await query<{ signed: string }>(own.url, 'select signed from manifest order by sequence');
  const chain = published.map(({ signed }) => ({
    ...parseSigned(signed),
    digest: manifestDigest(signed),
  }));
  expect(chain.map(({ version, sequence }) => [version, sequence])).toEqual(
    winners.map((version, i) => [version, i + 1]),
  );
  expect(chain.map(({ previous }) => previous)).toEqual([
    null,
    ...chain.slice(0, -1).map(({ digest }) => digest),
  ]);
  const audit = "select count(*)::int from audit_event where action = 'manifest.publish'";
  expect(await query(own.url, audit)).toEqual([{ count: ROUNDS }]);
});
