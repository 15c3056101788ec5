import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { FaultedService, NEEDS_DATABASE, refused, served } from './harness.js';
import { expectPromises } from './promises.js';
import { FragilePostgres } from '../support/databases/outage-harness.js';

let postgres: FragilePostgres;
let faulted: FaultedService;

beforeAll(async () => {
  postgres = await FragilePostgres.start();
  faulted = await FaultedService.start(() => postgres.url);
});
afterAll(async () => {
  await faulted?.end();
  await postgres?.end();
});

/** Ends one connection of the service, which the database chooses at random. */
const TERMINATE = `
  select pg_terminate_backend(pid) as ended from pg_stat_activity
  where application_name = 'mooring' order by random() limit 1`;

test('if the database ends connections at random, only calls on these connections fail', async () => {
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

  // Only the batches of heartbeats and of telemetry fail that were on an ended connection.
  expect(answers.filter(refused).length).toBeLessThan(answers.filter(served).length);
  await expectPromises(faulted, answers, recovery);
});

test('if the postmaster is killed under load, while its children still run, the service uses it again after its restart', async () => {
  const load = faulted.load();
  await load.more(50, served);
  await postgres.kill();
  for (const name of NEEDS_DATABASE) await load.more(3, (answer) => answer.name === name && refused(answer));
  await postgres.restart();
  const recovery = await faulted.recovery(load);
  await expectPromises(faulted, await load.stop(), recovery);
});
