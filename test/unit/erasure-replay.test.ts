import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { DatabaseUrl } from '../../src/database/data-source.js';
import { DatabaseHosts } from '../../src/database/database-hosts.js';
import { ErasureReplay } from '../../src/erasure/erasure-replay.js';
import type { ErasureService } from '../../src/erasure/erasure.service.js';
import { Config } from '../../src/core/config.js';
import { AppLogger } from '../../src/core/logger.js';
import { temporaryFolder } from '../support/folders.js';

const URL = 'postgres://mooring@one.example:5432,two.example:5432/mooring';
const hosts = DatabaseHosts.of(URL)!;
const ANSWER = { cluster: '7', is_standby: false, is_read_only: false, started_at: '2026-11-20' };
let timeline = 0;
/** Opens a connection to a primary with a newer timeline. */
const move = () =>
  hosts.accept({ close: () => undefined }, 'one.example:5432', { ...ANSWER, timeline: (timeline += 1) });

// The first connection does not count as a move of the primary.
move();

const replay = jest.fn<() => Promise<void>>();
const logged: string[] = [];
const log = new AppLogger('info', { write: (line: string) => void logged.push(line) });
const config = new Config({ DATA_DIR: temporaryFolder() });
const newReplay = (url = URL) =>
  new ErasureReplay({ replay } as unknown as ErasureService, new DatabaseUrl(url), config, log);

/** Lets the promises of the attempts settle before and after the time passes. */
async function pass(milliseconds: number): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
  jest.advanceTimersByTime(milliseconds);
  for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
}

beforeEach(() => void jest.useFakeTimers());
afterEach(() => {
  replay.mockReset();
  logged.length = 0;
  jest.useRealTimers();
});

test('the erasures are repeated at the start and each time the primary has moved', async () => {
  const provider = newReplay();
  await provider.onModuleInit();
  // TOMBSTONE_FILE can be written, so there is no warning.
  expect([replay.mock.calls.length, logged]).toEqual([1, []]);
  move();
  expect(replay).toHaveBeenCalledTimes(2);
  provider.onApplicationShutdown();
  move();
  expect(replay).toHaveBeenCalledTimes(2);
});

test('a failure after a move is logged, and repeated after 30 seconds until it succeeds', async () => {
  const provider = newReplay();
  await provider.onModuleInit();
  replay.mockRejectedValueOnce(new Error('lost')).mockRejectedValueOnce(new Error('lost'));
  move();
  await pass(29_999);
  expect(replay).toHaveBeenCalledTimes(2);
  await pass(1);
  expect(replay).toHaveBeenCalledTimes(3);
  await pass(30_000);
  expect(replay).toHaveBeenCalledTimes(4);
  await pass(90_000);
  expect(replay).toHaveBeenCalledTimes(4);
  expect(logged.map((line) => JSON.parse(line).msg)).toEqual([
    'erasures not repeated',
    'erasures not repeated',
  ]);
  provider.onApplicationShutdown();
});

test('a move within the 30 seconds takes the place of the repetition', async () => {
  const provider = newReplay();
  await provider.onModuleInit();
  replay.mockRejectedValueOnce(new Error('lost'));
  move();
  await pass(10_000);
  move();
  await pass(60_000);
  expect(replay).toHaveBeenCalledTimes(3);
  provider.onApplicationShutdown();
});

test('the only host of a database never moves', async () => {
  const provider = newReplay('postgres://mooring@one.example/mooring');
  await provider.onModuleInit();
  provider.onApplicationShutdown();
  expect(replay).toHaveBeenCalledTimes(1);
});

test('the shutdown ends the repetition', async () => {
  const provider = newReplay();
  await provider.onModuleInit();
  replay.mockRejectedValueOnce(new Error('lost'));
  move();
  await pass(0);
  provider.onApplicationShutdown();
  await pass(60_000);
  expect(replay).toHaveBeenCalledTimes(2);
});

test('a replay that fails during the shutdown is neither logged nor repeated', async () => {
  const provider = newReplay();
  await provider.onModuleInit();
  replay.mockRejectedValueOnce(new Error('closed'));
  move();
  provider.onApplicationShutdown();
  await pass(0);
  await pass(60_000);
  expect(replay).toHaveBeenCalledTimes(2);
  expect(logged).toEqual([]);
});
