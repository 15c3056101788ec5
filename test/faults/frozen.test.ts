import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { FaultedService, isServedByDatabase } from './harness.js';
import { expectGuarantees } from './guarantees.js';
import { FragilePostgres } from '../support/databases/outage-harness.js';

/** Longer than every time limit, of a response (2 s) and of the database for an open transaction (5 s). */
const FROZEN_MS = 6_000;

const postgres = await FragilePostgres.start();
const faulted = await FaultedService.start(postgres.url);

test('a service whose process was stopped for seconds under load continues, and keeps all guarantees', async () => {
  const load = faulted.startLoad();
  await load.waitFor(100, isServedByDatabase);
  faulted.process.child.kill('SIGSTOP');
  await pause(FROZEN_MS);
  faulted.process.child.kill('SIGCONT');
  const recovery = await faulted.measureRecovery(load);
  const answers = await load.stop();

  expect(answers.filter(({ milliseconds }) => milliseconds >= FROZEN_MS).length).toBeGreaterThan(0);
  // The requests that waited while the process was stopped may together exceed the load limits.
  await expectGuarantees(faulted, answers, recovery, { mayShedLoad: true });
});
