import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { FaultedService, ownMs, type RecordedAnswer } from './harness.js';
import { expectPromises, ANSWER_LIMIT_MS } from './promises.js';
import { FragilePostgres } from '../support/databases/outage-harness.js';

/** Four times the capacity; so many calls are refused that the distribution of their retry times can be tested. */
const AT_ONCE = 400;
const SHED = 2_000;
/** The range of `retry-after` in seconds. */
const [FIRST, LAST] = [5, 30];
const lowLimits = fileURLToPath(new URL('../support/processes/low-limits.mjs', import.meta.url));

let postgres: FragilePostgres;
let faulted: FaultedService;

beforeAll(async () => {
  postgres = await FragilePostgres.start();
  faulted = await FaultedService.start(() => postgres.url, { nodeArguments: ['--import', lowLimits] });
});
afterAll(async () => {
  await faulted?.end();
  await postgres?.end();
});

interface Brief {
  readonly status: number;
  readonly retryAfter: number;
  readonly ownMs: number;
}

/** Sends a heartbeat on a new connection, with as little processor time of this process as possible. */
async function beat(agent: Agent, body: string): Promise<Brief> {
  const headers = { 'content-type': 'application/json', 'content-length': body.length };
  const sent = request(`${faulted.url}/v1/heartbeat`, { agent, method: 'POST', headers });
  sent.end(body);
  const [answer] = await once(sent, 'response');
  answer.resume();
  await once(answer, 'end');
  return {
    status: answer.statusCode,
    retryAfter: Number(answer.headers['retry-after']),
    ownMs: ownMs(answer),
  };
}

test('a service under far too much load answers what it accepted, refuses the rest with spread retry times, and recovers', async () => {
  const body = JSON.stringify({ token: faulted.token, app_version: '1.0.0' });
  const agent = new Agent({ keepAlive: true });
  // The accepted calls wait for the database, so that all calls are in progress at the same time.
  postgres.delay(300);
  const answers: Brief[] = [];
  const manifests: RecordedAnswer[] = [];
  while (answers.filter(({ status }) => status === 503).length < SHED) {
    const burst = Array.from({ length: AT_ONCE }, () => beat(agent, body));
    manifests.push(await faulted.manifest());
    answers.push(...(await Promise.all(burst)));
    // On a slow machine the event loop may be late for a whole burst; the service accepts requests again after it.
    while (answers.at(-1)!.status !== 200) answers.push(await beat(agent, body));
  }
  postgres.delay(0);
  agent.destroy();
  const load = faulted.load();
  const recovery = await faulted.recovery(load);
  const after = await load.stop();

  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 503]));
  expect(manifests.filter(({ status }) => status !== 200)).toEqual([]);
  expect(answers.filter((answer) => !(answer.ownMs < ANSWER_LIMIT_MS))).toEqual([]);
  // Each of 26 seconds is expected about 80 times, or a few more if the last burst was larger. Fewer than 20 or more than 330
  // cannot happen by chance.
  const turns = Map.groupBy(
    answers.filter(({ status }) => status === 503),
    ({ retryAfter }) => retryAfter,
  );
  const seconds = Array.from({ length: LAST - FIRST + 1 }, (_, index) => FIRST + index);
  expect([...turns.keys()].toSorted((a, b) => a - b)).toEqual(seconds);
  const counts = [...turns.values()].map(({ length }) => length);
  expect(Math.min(...counts)).toBeGreaterThan(20);
  expect(Math.max(...counts)).toBeLessThan((3 * SHED) / seconds.length + AT_ONCE / 4);
  await expectPromises(faulted, after, recovery);
});
