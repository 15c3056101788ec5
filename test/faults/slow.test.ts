import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { FaultedService, NEEDS_DATABASE, refused, served } from './harness.js';
import { expectPromises } from './promises.js';
import { FragilePostgres } from '../support/databases/outage-harness.js';

let postgres: FragilePostgres;
let faulted: FaultedService;

beforeAll(async () => {
  postgres = await FragilePostgres.start();
  faulted = await FaultedService.start(() => postgres.url);
});
afterEach(() => postgres?.delay(0));
afterAll(async () => {
  await faulted?.end();
  await postgres?.end();
});

test('with a database whose responses take 300 ms heartbeats are served, and no call takes more than 2 seconds', async () => {
  const load = faulted.load();
  await load.more(50, served);
  postgres.delay(300);
  await faulted.mostlyServed(load, 'heartbeat');
  for (const name of ['telemetry', 'search'])
    await load.more(10, (answer) => answer.name === name && served(answer));
  for (const name of NEEDS_DATABASE) await load.more(3, (answer) => answer.name === name);
  postgres.delay(0);
  const recovery = await faulted.recovery(load);
  const answers = await load.stop();

  await expectPromises(faulted, answers, recovery);
});

test('a database whose responses take 3 seconds counts as unavailable until it is fast again', async () => {
  const load = faulted.load();
  await load.more(50, served);
  postgres.delay(3_000);
  await load.more(12, refused);
  const from = load.answers.length;
  for (const name of NEEDS_DATABASE) await load.more(3, (answer) => answer.name === name && refused(answer));
  expect(load.answers.slice(from).filter(served)).toEqual([]);
  postgres.delay(0);
  const recovery = await faulted.recovery(load);
  await expectPromises(faulted, await load.stop(), recovery);
});

test('requests that wait for a lock do not block the others, which are served meanwhile', async () => {
  const load = faulted.load();
  await load.more(50, served);
  const holder = new pg.Client(postgres.url);
  holder.on('error', () => undefined);
  await holder.connect();
  try {
    await holder.query('begin');
    await holder.query('select from license for update');
    await load.more(20, ({ name, status }) => name === 'activate' && status === 503);
    for (const name of ['heartbeat', 'telemetry']) await faulted.mostlyServed(load, name);
  } finally {
    await holder.end();
  }
  const recovery = await faulted.recovery(load);
  const answers = await load.stop();

  await expectPromises(faulted, answers, recovery);
});
