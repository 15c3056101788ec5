import { afterEach, expect, test } from '@jest/globals';
import pg from 'pg';
import { FaultedService, NEEDS_DATABASE, isUnavailable, isServedByDatabase } from './harness.js';
import { expectGuarantees } from './guarantees.js';
import { FragilePostgres } from '../support/databases/outage-harness.js';

const postgres = await FragilePostgres.start();
const faulted = await FaultedService.start(postgres.url);
afterEach(() => postgres?.delay(0));

test('with a database whose responses take 300 ms, heartbeats and searches are served, and each call ends within its time limit', async () => {
  const load = faulted.startLoad();
  await load.waitFor(50, isServedByDatabase);
  postgres.delay(300);
  await faulted.waitUntilMostlyServed(load, 'heartbeat');
  for (const name of ['telemetry', 'search'])
    await load.waitFor(10, (answer) => answer.name === name && isServedByDatabase(answer));
  for (const name of NEEDS_DATABASE) await load.waitFor(3, (answer) => answer.name === name);
  postgres.delay(0);
  const recovery = await faulted.measureRecovery(load);
  const answers = await load.stop();

  await expectGuarantees(faulted, answers, recovery);
});

test('a database whose responses take 3 seconds counts as unavailable until it is fast again', async () => {
  const load = faulted.startLoad();
  await load.waitFor(50, isServedByDatabase);
  postgres.delay(3_000);
  await load.waitFor(12, isUnavailable);
  const from = load.answers.length;
  for (const name of NEEDS_DATABASE)
    await load.waitFor(3, (answer) => answer.name === name && isUnavailable(answer));
  expect(load.answers.slice(from).filter(isServedByDatabase)).toEqual([]);
  postgres.delay(0);
  const recovery = await faulted.measureRecovery(load);
  await expectGuarantees(faulted, await load.stop(), recovery);
});

test('requests that wait for a lock do not block the others, which are served meanwhile', async () => {
  const load = faulted.startLoad();
  await load.waitFor(50, isServedByDatabase);
  const lockHolder = new pg.Client(postgres.url);
  lockHolder.on('error', () => undefined);
  await lockHolder.connect();
  try {
    await lockHolder.query('begin');
    await lockHolder.query('select from license for update');
    await load.waitFor(20, ({ name, status }) => name === 'activate' && status === 503);
    for (const name of ['heartbeat', 'telemetry']) await faulted.waitUntilMostlyServed(load, name);
  } finally {
    await lockHolder.end();
  }
  const recovery = await faulted.measureRecovery(load);
  const answers = await load.stop();

  await expectGuarantees(faulted, answers, recovery);
});
