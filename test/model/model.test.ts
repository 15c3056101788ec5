import { afterAll, beforeAll, test } from '@jest/globals';
import { SchedulerRegistry } from '@nestjs/schedule';
import fc from 'fast-check';
import { rfc3339 } from '../../src/core/clock.js';
import { runs } from '../fuzz/fuzz.js';
import { FakeClock, Service } from '../support/harness.js';
import { DEFAULT_MACHINES, GUARDED, SELF_RELEASES } from './license-model.js';
import { ScenarioRunner } from './scenario-runner.js';
import { alsoAtOnce, inTurn, type CommandTemplate } from './scenarios.js';
import { publish } from '../manifest/publish.js';
import { TAKES_PURCHASES } from '../support/http/webhook.js';

/*
 * Random scenarios of licenses, each answer held against the contract's rules as license-model.ts has them. On failure
 * fast-check prints its seed, the scenario, and what was done.
 */

const live = (scenarios: number, bags: fc.Arbitrary<CommandTemplate[][]>) =>
  fc.assert(fc.asyncProperty(bags, run), runs(scenarios));

/** By these clocks years pass within seconds: the retention job, scheduled by the system's clock, must not run meanwhile. */
async function stopClockwork({ app }: Service): Promise<void> {
  for (const job of app.get(SchedulerRegistry).getCronJobs().values()) await job.stop();
}

let startAnew: () => Promise<void>;
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
  startAnew = async () => {
    await instances.splice(1)[0]?.close();
    instances.push(await Service.start({ environment, clock, databaseUrl, dataDir }));
    await stopClockwork(instances[1]!);
  };
  await startAnew();
  await stopClockwork(one);
  // Weeks of years take a while to be counted, and are no part of a scenario.
  await one.sql(`insert into fleet_week values ('2100-01-03')`);
});
afterAll(async () => {
  for (const service of instances.toReversed()) await service.close();
});

let scenarios = 0;
async function run(state: CommandTemplate[][]): Promise<void> {
  scenarios += 1;
  await new ScenarioRunner(instances, startAnew, `scenario-${scenarios}`).run(state);
}

test('one command after the other: each has the answer that the contract says, and is shown so', () =>
  live(6, inTurn));

test('commands sent at once: an order of them explains every answer, and what is left', () =>
  live(5, alsoAtOnce));
