import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { FaultedService, served } from './harness.js';
import { expectPromises } from './promises.js';
import { FragilePostgres } from '../support/databases/outage-harness.js';

/** Enough file descriptors to start and to serve, but few enough to be used up soon. */
const DESCRIPTORS = 96;
const FLOOD = 200;

let postgres: FragilePostgres;
let faulted: FaultedService;

beforeAll(async () => {
  postgres = await FragilePostgres.start();
  faulted = await FaultedService.start(() => postgres.url, { descriptors: DESCRIPTORS });
});
afterAll(async () => {
  await faulted?.end();
  await postgres?.end();
});

/** The processor time of the service in hundredths of a second. */
function processorTime(pid: number): number {
  const [, fields] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ');
  const [user, system] = fields!.split(' ').slice(11, 13).map(Number);
  return user! + system!;
}

test('a service without free file descriptors keeps running, pauses, and serves again when some are free', async () => {
  const pid = faulted.process.child.pid!;
  const held = () => readdirSync(`/proc/${pid}/fd`).length;
  const load = faulted.load();
  await load.more(50, served);
  const sockets: Socket[] = [];
  for (let count = 0; count < FLOOD; count += 1) {
    const socket = connect(Number(new URL(faulted.url).port), '127.0.0.1').on('error', () => undefined);
    sockets.push(socket);
    await Promise.race([once(socket, 'connect'), once(socket, 'close')]);
  }
  while (held() < DESCRIPTORS - 2) await pause(20);
  // Callers that already have a connection are still served.
  await load.more(50, served);
  const flooded = await load.stop();
  // The second with the least load of ten: a process that never pauses is busy in each.
  let busy = 1;
  for (let second = 0; busy >= 0.5 && second < 10; second += 1) {
    const [used, began] = [processorTime(pid), performance.now()];
    await pause(1_000);
    busy = Math.min(busy, ((processorTime(pid) - used) * 10) / (performance.now() - began));
  }
  for (const socket of sockets) socket.destroy();
  const after = faulted.load();
  const recovery = await faulted.recovery(after);
  const answers = [...flooded, ...(await after.stop())];

  expect(busy).toBeLessThan(0.5);
  await expectPromises(faulted, answers, recovery, { broken: true });
});
