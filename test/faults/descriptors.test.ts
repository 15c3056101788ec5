import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { FaultedService, isServedByDatabase } from './harness.js';
import { expectGuarantees } from './guarantees.js';
import { FragilePostgres } from '../support/databases/outage-harness.js';

/** Enough file descriptors to start and to serve, but few enough to be used up soon. */
const MAX_DESCRIPTORS = 96;
/** More connections than the service has file descriptors. */
const CONNECTIONS = 200;

const postgres = await FragilePostgres.start();
const faulted = await FaultedService.start(postgres.url, { descriptors: MAX_DESCRIPTORS });

/** Reads the processor time that a process has used, in milliseconds. The kernel counts it in hundredths of a second. */
function readProcessorTimeMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1);
  const [user, system] = fields!.split(' ').slice(11, 13).map(Number);
  return (user! + system!) * 10;
}

test('a service without free file descriptors keeps running without keeping the processor busy, and serves again when some are free', async () => {
  const pid = faulted.process.child.pid!;
  const countOpen = () => readdirSync(`/proc/${pid}/fd`).length;
  const load = faulted.startLoad();
  await load.waitFor(50, isServedByDatabase);
  const sockets: Socket[] = [];
  for (let count = 0; count < CONNECTIONS; count += 1) {
    const socket = connect(Number(new URL(faulted.url).port), '127.0.0.1').on('error', () => undefined);
    sockets.push(socket);
    await Promise.race([once(socket, 'connect'), once(socket, 'close')]);
  }
  // At most two descriptors are free then.
  while (countOpen() < MAX_DESCRIPTORS - 2) await pause(20);
  // Callers whose connection is already open are still served.
  await load.waitFor(50, isServedByDatabase);
  const answersDuringFault = await load.stop();
  // The lowest processor load of up to ten seconds: a process that retries without a pause is busy in each of them.
  let lowestLoad = 1;
  for (let second = 0; lowestLoad >= 0.5 && second < 10; second += 1) {
    const [used, began] = [readProcessorTimeMs(pid), performance.now()];
    await pause(1_000);
    lowestLoad = Math.min(lowestLoad, (readProcessorTimeMs(pid) - used) / (performance.now() - began));
  }
  for (const socket of sockets) socket.destroy();
  const after = faulted.startLoad();
  const recovery = await faulted.measureRecovery(after);
  const answers = [...answersDuringFault, ...(await after.stop())];

  expect(lowestLoad).toBeLessThan(0.5);
  await expectGuarantees(faulted, answers, recovery, { mayBreakConnections: true });
});
