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
 * Runs random scenarios and compares each response with that of the model in license-model.ts. On failure fast-check prints its
 * seed, the scenario, and the executed commands.
 */

const live = (scenarios: number, bags: fc.Arbitrary<CommandTemplate[][]>) =>
  fc.assert(fc.asyncProperty(bags, run), runs(scenarios));

/** Years of these clocks pass within seconds. The retention job, which the system's clock schedules, must not run meanwhile. */
async function stopClockwork({ app }: Service): Promise<void> {
  for (const job of app.get(SchedulerRegistry).getCronJobs().values()) await job.stop();
}

let startAnew: () => Promise<void>;
/** Two instances with one database, as behind a load balancer. */
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
  // The roll-up of the weeks of several years is slow, and no scenario needs it.
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

test('sequential commands get the responses of the model, and the views show its state', () =>
  live(6, inTurn));

test('an order of concurrent commands explains all their responses and the resulting state', () =>
  live(5, alsoAtOnce));
