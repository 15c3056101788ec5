import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { FaultedService, refused, served, type RecordedAnswer } from './harness.js';
import { expectPromises } from './promises.js';
import { SmallDiskPostgres } from '../support/databases/small-disk-postgres.js';

let postgres: SmallDiskPostgres;
let faulted: FaultedService;

beforeAll(async () => {
  postgres = await SmallDiskPostgres.start();
  faulted = await FaultedService.start(() => postgres.url);
});
afterAll(async () => {
  await faulted?.end();
  await postgres?.end();
});

const named = (wanted: string, is: (answer: RecordedAnswer) => boolean) => (answer: RecordedAnswer) =>
  answer.name === wanted && is(answer);
/** The share of the heartbeats that was served. On a slow machine some get 503 even without a fault. */
function servedShare(answers: readonly RecordedAnswer[]): number {
  const heartbeats = answers.filter(({ name }) => name === 'heartbeat');
  return heartbeats.filter(served).length / heartbeats.length;
}
const notStored = ({ status, json }: RecordedAnswer) => status === 200 && json.telemetry.stored === false;

test('with a full disk heartbeats are served without their telemetry, and nothing is acknowledged that is not stored', async () => {
  const load = faulted.load();
  await load.more(50, served);
  await load.more(20, named('heartbeat', served));
  const control = servedShare(load.answers);
  await postgres.fill();
  await load.more(10, named('activate', refused));
  // On a full disk PostgreSQL continues in the space that it already has. With a limited file size it cannot write and stops.
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

test('a database that goes down because its write-ahead log has no space loses nothing that was acknowledged', async () => {
  const load = faulted.load();
  await load.more(50, served);
  await postgres.fill();
  // Uses up the space that is left for the write-ahead log, so that PostgreSQL stops.
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
