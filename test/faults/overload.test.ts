import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { FaultedService, readServiceMs, type RecordedAnswer } from './harness.js';
import { expectGuarantees, ANSWER_LIMIT_MS } from './guarantees.js';
import { FragilePostgres } from '../support/databases/outage-harness.js';

/** Four times the limit of concurrent requests (`low-limits.mjs`). */
const CONCURRENT_CALLS = 400;
const MIN_REFUSALS = 800;
/**
 * The shortest `retry-after` in seconds of a refusal because of load; test/unit/return-times.test.ts checks how the times are
 * spread. On a slow computer some calls exceed the time limit of the database; their `retry-after` is shorter.
 */
const MIN_RETRY_AFTER = { load: 60, database: 5 };
const lowLimits = fileURLToPath(new URL('../support/processes/low-limits.mjs', import.meta.url));

const postgres = await FragilePostgres.start();
const faulted = await FaultedService.start(postgres.url, { nodeArguments: ['--import', lowLimits] });

interface BriefAnswer {
  readonly status: number;
  readonly retryAfter: number;
  readonly serviceMs: number;
}

/** Sends a heartbeat without the checks of `call`, to use as little processor time of this process as possible. */
async function sendHeartbeat(agent: Agent, body: string): Promise<BriefAnswer> {
  const headers = { 'content-type': 'application/json', 'content-length': body.length };
  const heartbeat = request(`${faulted.url}/v1/heartbeat`, { agent, method: 'POST', headers });
  heartbeat.end(body);
  const [answer] = await once(heartbeat, 'response');
  answer.resume();
  await once(answer, 'end');
  return {
    status: answer.statusCode,
    retryAfter: Number(answer.headers['retry-after']),
    serviceMs: readServiceMs(answer),
  };
}

test('an overloaded service answers the requests that it accepts, asks the others to retry later, and recovers', async () => {
  const body = JSON.stringify({ token: faulted.token, app_version: '1.0.0' });
  const agent = new Agent({ keepAlive: true });
  // The accepted calls wait for the database, so that all calls are in progress at the same time.
  postgres.delay(300);
  const answers: BriefAnswer[] = [];
  const manifests: RecordedAnswer[] = [];
  while (answers.filter(({ status }) => status === 503).length < MIN_REFUSALS) {
    const burst = Array.from({ length: CONCURRENT_CALLS }, () => sendHeartbeat(agent, body));
    manifests.push(await faulted.manifest());
    answers.push(...(await Promise.all(burst)));
    // No request is in progress any more, so the service accepts one again. On a slow computer some may exceed their time limit
    // first.
    while (answers.at(-1)!.status !== 200) answers.push(await sendHeartbeat(agent, body));
  }
  postgres.delay(0);
  agent.destroy();
  const load = faulted.startLoad();
  const recovery = await faulted.measureRecovery(load);
  const after = await load.stop();

  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 503]));
  expect(manifests.filter(({ status }) => status !== 200)).toEqual([]);
  expect(answers.filter((answer) => !(answer.serviceMs < ANSWER_LIMIT_MS))).toEqual([]);
  const times = answers.filter(({ status }) => status === 503).map(({ retryAfter }) => retryAfter);
  expect(times.filter((each) => !(each >= MIN_RETRY_AFTER.database))).toEqual([]);
  expect(times.filter((each) => each >= MIN_RETRY_AFTER.load).length).toBeGreaterThan(0);
  await expectGuarantees(faulted, after, recovery);
});
