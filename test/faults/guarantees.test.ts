import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import {
  FaultedService,
  NEEDS_DATABASE,
  isUnavailable,
  isServedByDatabase,
  shareOfServed,
  type RecordedAnswer,
} from './harness.js';
import { expectGuarantees } from './guarantees.js';
import { FragilePostgres } from '../support/databases/outage-harness.js';
import { withClient } from '../support/databases/replica-harness.js';

/** Longer than every time limit, of a response (2 s) and of the database for an open transaction (5 s). */
const FROZEN_MS = 6_000;
const JSON_TYPE = { 'content-type': 'application/json' };
const EVENTS = {
  EVENTS_URL: 'http://127.0.0.1:9/',
  EVENTS_SECRET: `whsec_${Buffer.alloc(32).toString('base64')}`,
};

const postgres = await FragilePostgres.start();
const faulted = await FaultedService.start(postgres.url, { environment: EVENTS });
beforeEach(() => faulted.releaseContestedMachines());
afterEach(async () => {
  postgres.thaw();
  postgres.delay(0);
  await faulted.stopLoads();
});

/** Whether a response is the health check of a service whose database is unavailable. */
const reportsOutage = ({ name, json }: RecordedAnswer): boolean =>
  name === 'ready' &&
  isDeepStrictEqual(json, { status: 'ready', warnings: ['The database does not answer in time.'] });

test.each([
  ['stopped under load', () => postgres.stop(), () => postgres.restart()],
  ['frozen', async () => postgres.freeze(), async () => postgres.thaw()],
])(
  'with a database that is %s, exactly the calls that need it get 503, each within its time limit',
  async (_what, fail, recover) => {
    const load = faulted.startLoad();
    await load.waitFor(50, isServedByDatabase);
    await fail();
    // About one refusal for each caller that needs the database: the calls from before the fault have ended.
    await load.waitFor(12, isUnavailable);
    const from = load.answers.length;
    for (const name of NEEDS_DATABASE)
      await load.waitFor(3, (answer) => answer.name === name && isUnavailable(answer));
    for (const name of ['manifest', 'live', 'ready']) await load.waitFor(3, (answer) => answer.name === name);
    // This may take a second, because health checks share one check of the database per second.
    await load.waitFor(1, reportsOutage);
    const during = load.answers.slice(from);
    await recover();
    // The service recovers by itself: it is not notified that the database is available again.
    const recovery = await faulted.measureRecovery(load);
    const answers = await load.stop();

    expect(during.filter(isServedByDatabase)).toEqual([]);
    await expectGuarantees(faulted, answers, recovery);
  },
);

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
  await withClient(postgres.url, async (lockHolder) => {
    await lockHolder.query('begin');
    await lockHolder.query('select from license for update');
    await load.waitFor(20, ({ name, status }) => name === 'activate' && status === 503);
    for (const name of ['heartbeat', 'telemetry']) await faulted.waitUntilMostlyServed(load, name);
  });
  const recovery = await faulted.measureRecovery(load);
  const answers = await load.stop();

  await expectGuarantees(faulted, answers, recovery);
});

/** Ends a random connection of the service to the database. */
const TERMINATE_CONNECTION = `
  select pg_terminate_backend(pid) as ended from pg_stat_activity
  where application_name = 'mooring' order by random() limit 1`;

/** The share of the served calls among those and the calls that got 503. */
const shareOfServedOr503 = (answers: readonly RecordedAnswer[]) =>
  shareOfServed(answers.filter((answer) => isServedByDatabase(answer) || isUnavailable(answer)));

test('if the database ends connections at random, the service continues, and serves over half of what it serves without the fault', async () => {
  const load = faulted.startLoad();
  await load.waitFor(50, isServedByDatabase);
  const from = load.answers.length;
  await withClient(postgres.url, async (client) => {
    for (let ended = 0; ended < 40;) {
      const { rows } = await client.query<{ ended: boolean }>(TERMINATE_CONNECTION);
      ended += rows.filter((row) => row.ended).length;
      await load.waitFor(5, isServedByDatabase);
    }
  });
  const to = load.answers.length;
  const recovery = await faulted.measureRecovery(load);
  const afterRecovery = load.answers.length;
  await load.waitFor(50, isServedByDatabase);
  const answers = await load.stop();

  // Only the calls that use an ended connection fail.
  const sharesWithoutFault = [answers.slice(0, from), answers.slice(afterRecovery)].map(shareOfServedOr503);
  expect(shareOfServedOr503(answers.slice(from, to))).toBeGreaterThan(Math.min(...sharesWithoutFault) / 2);
  await expectGuarantees(faulted, answers, recovery);
});

test('if the postmaster is killed under load while its children still run, the service uses the database after its restart', async () => {
  const load = faulted.startLoad();
  await load.waitFor(50, isServedByDatabase);
  await postgres.kill();
  for (const name of NEEDS_DATABASE)
    await load.waitFor(3, (answer) => answer.name === name && isUnavailable(answer));
  await postgres.restart();
  const recovery = await faulted.measureRecovery(load);
  await expectGuarantees(faulted, await load.stop(), recovery);
});

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

// This test must be the last one, because it ends the service.
test('if the database is frozen, the service still responds to its last requests after SIGTERM, and ends with exit code 0', async () => {
  const { process } = faulted;
  postgres.freeze();
  // While these calls wait, the jobs and the events also begin to wait for the frozen database.
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
