import { randomUUID } from 'node:crypto';
import { appendFileSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from '@jest/globals';
import { ConfigError } from '../../src/core/config.js';
import { JobFailure } from '../../src/mail/jobs.js';
import {
  appendErased,
  readTombstones,
  appendCancelled,
  type ErasedIds,
} from '../../src/erasure/erased-ids.js';
import { temporaryFolder } from '../support/folders.js';

const directory = temporaryFolder();

let file: string;
beforeEach(() => void (file = join(directory, randomUUID(), 'erased.txt')));

const someIds = (): ErasedIds => ({
  license: [randomUUID(), randomUUID()],
  purchase: [randomUUID()],
  erasure_request: [randomUUID()],
});

test('without an erasure there is no file, and no block is read', async () => {
  expect((await readTombstones(file)).erased).toEqual([]);
});

test('erased ids are read back, one block for each erasure, in the order written', async () => {
  const [first, second] = [someIds(), someIds()];
  await appendErased(file, first);
  await appendErased(file, second);
  expect((await readTombstones(file)).erased).toEqual([first, second]);
});

test('a cancelled request is reported, and the last block of a request decides', async () => {
  const [one, two] = [someIds(), someIds()];
  const [neverErased, first, second] = [randomUUID(), one.erasure_request[0]!, two.erasure_request[0]!];
  await appendErased(file, one);
  await appendCancelled(file, neverErased);
  await appendCancelled(file, first);
  await appendCancelled(file, second);
  await appendErased(file, two);
  const { erased, cancelled } = await readTombstones(file);
  expect(erased).toEqual([two]);
  expect(new Set(cancelled)).toEqual(new Set([neverErased, first]));
});

test('if a request was written twice, the last complete block counts, because the first attempt was not committed', async () => {
  const [first, erasure_request] = [someIds(), [randomUUID()]];
  await appendErased(file, { ...first, erasure_request });
  const second = { ...someIds(), erasure_request };
  await appendErased(file, second);
  expect((await readTombstones(file)).erased).toEqual([second]);
  appendFileSync(file, `\n\nlicense ${randomUUID()}\n`);
  expect((await readTombstones(file)).erased).toEqual([second]);
});

test('a block has its time, its database and the keyed hash of the address', async () => {
  const block = { ...someIds(), at: new Date(), database: randomUUID(), address: 'a1'.repeat(32) };
  await appendErased(file, block);
  expect((await readTombstones(file)).erased).toEqual([block]);
});

test('a block of an origin that the caller excludes is ignored, and cancels no other block', async () => {
  const [ownDatabase, otherDatabase] = [randomUUID(), randomUUID()];
  const [one, two] = [someIds(), someIds()];
  await appendErased(file, { ...one, database: ownDatabase });
  await appendErased(file, { ...two, database: otherDatabase });
  await appendCancelled(file, one.erasure_request[0]!, { database: otherDatabase });
  const { erased, cancelled } = await readTombstones(file, ({ database }) => database === ownDatabase);
  expect(erased).toEqual([{ ...one, database: ownDatabase }]);
  expect(cancelled).toEqual([]);
});

test('only the owner may read the file and the folder that is made for it', async () => {
  await appendErased(file, someIds());
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(statSync(join(file, '..')).mode & 0o777).toBe(0o700);
});

test('a line that a crash cut short is ignored, wherever it was cut, and the next block begins on a new line', async () => {
  const [before, lost, after] = [someIds(), randomUUID(), someIds()];
  await appendErased(file, before);
  const line = `license ${lost}`;
  const complete = readFileSync(file);
  for (const length of [1, 7, 8, 20, line.length - 1]) {
    writeFileSync(file, complete);
    appendFileSync(file, line.slice(0, length));
    expect((await readTombstones(file)).erased).toEqual([before]);
  }
  await appendErased(file, after);
  expect((await readTombstones(file)).erased).toEqual([before, after]);
});

test('a line that lacks only its line break counts', async () => {
  const erased = someIds();
  await appendErased(file, erased);
  writeFileSync(file, readFileSync(file, 'utf8').trimEnd());
  expect((await readTombstones(file)).erased).toEqual([erased]);
});

test.each([
  ['another table', `staff ${randomUUID()}`],
  ['no id', 'license'],
  ['a longer id', `license ${randomUUID()}0`],
  ['a word before the table', `x license ${randomUUID()}`],
  ['an SQL statement', "license ' or true --"],
])('a line with %s is ignored', async (_what, line) => {
  const request = randomUUID();
  mkdirSync(join(file, '..'));
  writeFileSync(file, `${line}\nerasure_request ${request}\n`);
  const ids = { license: [], purchase: [], erasure_request: [request] };
  expect(await readTombstones(file)).toEqual({ erased: [ids], cancelled: [] });
});

test('a file that cannot be read or written is reported with the code of the system error', async () => {
  mkdirSync(file, { recursive: true });
  await expect(readTombstones(file)).rejects.toThrow(
    new ConfigError(`TOMBSTONE_FILE cannot be read: ${file} (EISDIR).`),
  );
  await expect(appendErased(file, someIds())).rejects.toThrow(
    new JobFailure('TOMBSTONE_FILE cannot be written (EISDIR)'),
  );
});

test('ten concurrent writes lose no block', async () => {
  const erased = Array.from({ length: 10 }, someIds);
  await Promise.all(erased.map((each) => appendErased(file, each)));
  const { erased: found } = await readTombstones(file);
  expect(found).toHaveLength(10);
  expect(found).toEqual(expect.arrayContaining(erased));
});
