import { expect, test } from '@jest/globals';
import {
  FaultedService,
  isUnavailable,
  isServedByDatabase,
  shareOfServed,
  type RecordedAnswer,
} from './harness.js';
import { expectGuarantees } from './guarantees.js';
import { SmallDiskPostgres } from './small-disk-postgres.js';

const postgres = await SmallDiskPostgres.start();
const faulted = await FaultedService.start(postgres.url);

const isCall = (name: string, matches: (answer: RecordedAnswer) => boolean) => (answer: RecordedAnswer) =>
  answer.name === name && matches(answer);
const shareOfServedHeartbeats = (answers: readonly RecordedAnswer[]) =>
  shareOfServed(answers.filter(({ name }) => name === 'heartbeat'));
const isTelemetryDropped = ({ status, json }: RecordedAnswer) =>
  status === 200 && json.telemetry.stored === false;

test('with a full disk, heartbeats are served without their telemetry, and nothing is acknowledged that is not stored', async () => {
  const load = faulted.startLoad();
  await load.waitFor(50, isServedByDatabase);
  await load.waitFor(20, isCall('heartbeat', isServedByDatabase));
  const shareWithoutFault = shareOfServedHeartbeats(load.answers);
  await postgres.fill();
  await load.waitFor(10, isCall('activate', isUnavailable));
  // On a full disk PostgreSQL continues with the files that it already has. Where the system allows no mount,
  // `SmallDiskPostgres` limits the size of all files instead: then PostgreSQL can write nothing and stops.
  if (postgres.hasMountedDisk) {
    const from = load.answers.length;
    await load.waitFor(10, isCall('telemetry', isTelemetryDropped));
    await load.waitFor(20, isCall('heartbeat', isServedByDatabase));
    expect(shareOfServedHeartbeats(load.answers.slice(from))).toBeGreaterThan(shareWithoutFault / 2);
  }
  await postgres.free();
  if (!postgres.hasMountedDisk) await postgres.restart();
  const recovery = await faulted.measureRecovery(load);
  await expectGuarantees(faulted, await load.stop(), recovery);
});

test('a database that goes down because its write-ahead log has no space loses nothing that was acknowledged', async () => {
  const load = faulted.startLoad();
  await load.waitFor(50, isServedByDatabase);
  await postgres.fill();
  // Uses up the space that is left for the write-ahead log, so that PostgreSQL stops.
  const writeMegabyte = "select pg_logical_emit_message(false, 'fault', repeat('x', 1000000))";
  for (let isUp = true; isUp;)
    isUp = await faulted.sql(writeMegabyte).then(
      () => true,
      () => false,
    );
  await load.waitFor(5, isCall('activate', isUnavailable));
  await postgres.free();
  await postgres.restart();
  const recovery = await faulted.measureRecovery(load);
  await expectGuarantees(faulted, await load.stop(), recovery);
});
