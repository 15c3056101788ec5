import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Faulted, NEEDS_DATABASE, refused, served } from './harness.js';
import { expectPromises } from './promises.js';
import { FragilePostgres } from '../support/databases/outage-harness.js';

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

/** Ends one connection of the service, whichever the database picks; its own random numbers need no seed of ours. */
const TERMINATE = `
  select pg_terminate_backend(pid) as ended from pg_stat_activity
  where application_name = 'mooring' order by random() limit 1`;

test('connections that the database ends at random, in the middle of whatever they do, cost their own calls alone', async () => {
  const load = faulted.load();
  await load.more(50, served);
  let ended = 0;
  while (ended < 40) {
    const rows = await faulted.sql<{ ended: boolean }>(TERMINATE);
    ended += rows.filter((row) => row.ended).length;
    await load.more(5, served);
  }
  const recovery = await faulted.recovery(load);
  const answers = await load.stop();

  // The batches of heartbeats and of telemetry that were on an ended connection, and no others.
  expect(answers.filter(refused).length).toBeLessThan(answers.filter(served).length);
  await expectPromises(faulted, answers, recovery);
});

test('a postmaster that is killed under load, its children still at work, is found again when it is back', async () => {
  const load = faulted.load();
  await load.more(50, served);
  await postgres.kill();
  for (const name of NEEDS_DATABASE) await load.more(3, (answer) => answer.name === name && refused(answer));
  await postgres.restart();
  const recovery = await faulted.recovery(load);
  await expectPromises(faulted, await load.stop(), recovery);
});
