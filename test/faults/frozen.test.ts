import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { FaultedService, isServedByDatabase } from './harness.js';
import { expectGuarantees } from './guarantees.js';
import { FragilePostgres } from '../support/databases/outage-harness.js';

/** Longer than every time limit, of a response (2 s) and of the database for an open transaction (5 s). */
const FROZEN_MS = 6_000;
const JSON_TYPE = { 'content-type': 'application/json' };

const postgres = await FragilePostgres.start();
const events = {
  EVENTS_URL: 'http://127.0.0.1:9/',
  EVENTS_SECRET: `whsec_${Buffer.alloc(32).toString('base64')}`,
};
const faulted = await FaultedService.start(postgres.url, { environment: events });

test('a service whose process was stopped for seconds under load continues, and keeps all guarantees', async () => {
  const load = faulted.startLoad();
  await load.waitFor(100, isServedByDatabase);
  faulted.process.child.kill('SIGSTOP');
  await pause(FROZEN_MS);
  faulted.process.child.kill('SIGCONT');
  const recovery = await faulted.measureRecovery(load);
  const answers = await load.stop();

  expect(answers.filter(({ milliseconds }) => milliseconds >= FROZEN_MS).length).toBeGreaterThan(0);
  // The requests that waited while the process was stopped may together exceed the load limits.
  await expectGuarantees(faulted, answers, recovery, { mayShedLoad: true });
});

test('if the database is frozen, the service still responds to its last requests after SIGTERM, and ends with exit code 0', async () => {
  const { process } = faulted;
  postgres.freeze();
  // Meanwhile the jobs and the events ask the database too.
  for (let answers = 0; answers < 3; answers += 1) expect((await faulted.activate()).status).toBe(503);
  const last = request(`${faulted.url}/v1/heartbeat`, { method: 'POST', headers: JSON_TYPE });
  const answered = once(last, 'response');
  last.end(JSON.stringify({ token: faulted.token, app_version: '1.0.0' }));
  // Now the kernel has the whole request. If it were sent later than the signal, a slow machine could send it after the end.
  await once(last, 'finish');
  process.child.kill('SIGTERM');
  const [{ statusCode }] = (await answered) as [IncomingMessage];
  expect(statusCode).toBe(503);
  expect(await process.exited).toEqual({ code: 0, signal: null });
  for (const step of ['jobs ended', 'events ended', 'requests ended', 'closed'])
    expect(process.stdout).toContain(`"msg":"${step}"`);
});
