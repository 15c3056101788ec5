import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { SchedulerRegistry } from '@nestjs/schedule';
import fc from 'fast-check';
import { rfc3339 } from '../../src/clock.js';
import { FakeClock, Service } from '../../test/harness.js';
import { DEFAULT_MACHINES, GUARDED, SELF_RELEASES } from './license-model.js';
import { Player } from './license-player.js';
import { alsoAtOnce, inTurn, type Wish } from './license-wishes.js';
import { publish } from '../../test/publish.js';
import { TAKES_PURCHASES } from '../../test/webhook.js';

/*
 * Random lives of licenses, each answer held against the contract's rules as license-model.ts has them. On failure
 * fast-check tells its seed and path, the smallest life, and what was done. bench/life.mjs sets how many, and
 * which.
 */

const { MOORING_RUNS, MOORING_SEED } = process.env;
const RUNS = { numRuns: Number(MOORING_RUNS ?? 50), ...(MOORING_SEED && { seed: Number(MOORING_SEED) }) };
// However long it takes to find the smallest life.
jest.setTimeout(86_400_000);

/** Two instances on one database, as behind a balancer. */
const instances: Service[] = [];
beforeAll(async () => {
  const environment = {
    ...TAKES_PURCHASES,
    DEFAULT_MACHINES_PER_LICENSE: String(DEFAULT_MACHINES),
    SELF_RELEASES_PER_YEAR: String(SELF_RELEASES),
  };
  const clock = new FakeClock();
  const one = await Service.start({ environment, clock });
  instances.push(one);
  await publish(one, GUARDED.version, rfc3339(new Date(GUARDED.minimum)));
  const { databaseUrl, dataDir } = one;
  instances.push(await Service.start({ environment, clock, databaseUrl, dataDir }));
  // By these clocks years pass within seconds: the hour of retention, told by the system's, must not strike meanwhile.
  for (const { app } of instances)
    for (const job of app.get(SchedulerRegistry).getCronJobs().values()) await job.stop();
});
afterAll(async () => {
  for (const service of instances.toReversed()) await service.close();
});

let lives = 0;
const live = (bags: fc.Arbitrary<Wish[][]>) =>
  fc.assert(
    fc.asyncProperty(bags, async (life) => {
      lives += 1;
      await new Player(instances, `life-${lives}`).play(life);
    }),
    RUNS,
  );

test('one command after the other: each has the answer that the contract says, and is shown so', () =>
  live(inTurn));

test('commands sent at once: an order of them explains every answer, and what is left', () =>
  live(alsoAtOnce));

test('a token with one character changed is no token of ours, whichever it is', async () => {
  const [one] = instances as [Service];
  const { token } = (await one.activate(await one.issue({ machines_allowed: 1 }))).json;
  const altered = [...token].map((character: string, i) => {
    // The neighbour in base64url: a last character may differ from it in bits that no byte has.
    const other = character === 'A' ? 'B' : 'A';
    return token.slice(0, i) + other + token.slice(i + 1);
  });
  const last = token.slice(0, -1);
  for (const other of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_')
    if (last + other !== token) altered.push(last + other);
  const beat = async (given: string): Promise<unknown> => {
    const { status, json } = await one.heartbeat(given);
    return status === 503 ? beat(given) : [status, json.code, json.client_action];
  };
  while (altered.length > 0) {
    for (const answer of await Promise.all(altered.splice(0, 40).map(beat)))
      expect(answer).toEqual([403, 'token_invalid', 'reactivate']);
  }
});
