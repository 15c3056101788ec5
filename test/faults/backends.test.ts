import { expect, test } from '@jest/globals';
import {
  FaultedService,
  NEEDS_DATABASE,
  isUnavailable,
  isServedByDatabase,
  shareOfServed,
  type RecordedAnswer,
} from './harness.js';
import { expectGuarantees } from './guarantees.js';
import { FragilePostgres } from '../support/databases/outage-harness.js';

const postgres = await FragilePostgres.start();
const faulted = await FaultedService.start(postgres.url);

/** Ends a random connection of the service to the database. */
const TERMINATE_CONNECTION = `
  select pg_terminate_backend(pid) as ended from pg_stat_activity
  where application_name = 'mooring' order by random() limit 1`;

/** The share of the served calls among those and the calls that got 503. */
const shareOfServedOr503 = (answers: readonly RecordedAnswer[]) =>
  shareOfServed(answers.filter((answer) => isServedByDatabase(answer) || isUnavailable(answer)));

test('if the database ends connections at random, the service continues, and serves over half of what it serves without', async () => {
  const load = faulted.startLoad();
  await load.waitFor(50, isServedByDatabase);
  const from = load.answers.length;
  let ended = 0;
  while (ended < 40) {
    const rows = await faulted.sql<{ ended: boolean }>(TERMINATE_CONNECTION);
    ended += rows.filter((row) => row.ended).length;
    await load.waitFor(5, isServedByDatabase);
  }
  const to = load.answers.length;
  const recovery = await faulted.measureRecovery(load);
  const afterRecovery = load.answers.length;
  await load.waitFor(50, isServedByDatabase);
  const answers = await load.stop();

  // Only the calls that use an ended connection fail.
  const sharesWithoutFault = [answers.slice(0, from), answers.slice(afterRecovery)].map(shareOfServedOr503);
  expect(shareOfServedOr503(answers.slice(from, to))).toBeGreaterThan(Math.min(...sharesWithoutFault) / 2);
  await expectGuarantees(faulted, answers, recovery);
});

test('if the postmaster is killed under load while its children still run, the service uses the database after its restart', async () => {
  const load = faulted.startLoad();
  await load.waitFor(50, isServedByDatabase);
  await postgres.kill();
  for (const name of NEEDS_DATABASE)
    await load.waitFor(3, (answer) => answer.name === name && isUnavailable(answer));
  await postgres.restart();
  const recovery = await faulted.measureRecovery(load);
  await expectGuarantees(faulted, await load.stop(), recovery);
});
