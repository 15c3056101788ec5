import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Faulted, served } from './harness.js';
import { expectPromises } from './promises.js';
import { FragilePostgres } from '../support/databases/outage-harness.js';

/** Longer than any deadline it has: that of an answer (2 s), and the database's for a transaction left open (5 s). */
const FROZEN_MS = 6_000;

let postgres: FragilePostgres;
let faulted: Faulted;

beforeAll(async () => {
  postgres = await FragilePostgres.start();
  faulted = await Faulted.start(() => postgres.url);
});
afterAll(async () => {
  await faulted?.end();
  await postgres?.end();
});

test('a service that stood still for seconds in the middle of everything goes on as if nothing had been', async () => {
  const load = faulted.load();
  await load.more(100, served);
  faulted.process.child.kill('SIGSTOP');
  await pause(FROZEN_MS);
  faulted.process.child.kill('SIGCONT');
  const recovery = await faulted.recovery(load);
  const answers = await load.stop();

  expect(answers.filter(({ milliseconds }) => milliseconds >= FROZEN_MS).length).toBeGreaterThan(0);
  // What waited at the door meanwhile may be too much at once.
  await expectPromises(faulted, answers, recovery, { shed: true });
});
