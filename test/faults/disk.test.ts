import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Faulted, refused, served, type Heard } from './harness.js';
import { expectPromises } from './promises.js';
import { SmallDiskPostgres } from '../support/databases/small-disk-postgres.js';

let postgres: SmallDiskPostgres;
let faulted: Faulted;

beforeAll(async () => {
  postgres = await SmallDiskPostgres.start();
  faulted = await Faulted.start(() => postgres.url);
});
afterAll(async () => {
  await faulted?.end();
  await postgres?.end();
});

const named = (wanted: string, is: (answer: Heard) => boolean) => (answer: Heard) =>
  answer.name === wanted && is(answer);
/** Of the heartbeats the share that was served: a slow machine earns some 503, with and without a fault. */
function servedShare(answers: readonly Heard[]): number {
  const heartbeats = answers.filter(({ name }) => name === 'heartbeat');
  return heartbeats.filter(served).length / heartbeats.length;
}
const notStored = ({ status, json }: Heard) => status === 200 && json.telemetry.stored === false;

test('on a full disk heartbeats go on without their telemetry, and nothing is promised that cannot be kept', async () => {
  const load = faulted.load();
  await load.more(50, served);
  await load.more(20, named('heartbeat', served));
  const control = servedShare(load.answers);
  await postgres.fill();
  await load.more(10, named('activate', refused));
  // Where nothing at all can be written it goes down; a full disk alone leaves it what it has.
  if (postgres.hasOwnDisk) {
    const from = load.answers.length;
    await load.more(10, named('telemetry', notStored));
    await load.more(20, named('heartbeat', served));
    expect(servedShare(load.answers.slice(from))).toBeGreaterThan(control / 2);
  }
  await postgres.free();
  if (!postgres.hasOwnDisk) await postgres.restart();
  const recovery = await faulted.recovery(load);
  await expectPromises(faulted, await load.stop(), recovery);
});

test('a database that goes down because its log has no space loses nothing that was acknowledged', async () => {
  const load = faulted.load();
  await load.more(50, served);
  await postgres.fill();
  // What is left of the log is used up: it cannot go on.
  const useUp = "select pg_logical_emit_message(false, 'fault', repeat('x', 1000000))";
  for (let isUp = true; isUp;)
    isUp = await faulted.sql(useUp).then(
      () => true,
      () => false,
    );
  await load.more(5, named('activate', refused));
  await postgres.free();
  await postgres.restart();
  const recovery = await faulted.recovery(load);
  await expectPromises(faulted, await load.stop(), recovery);
});
