import { test } from '@jest/globals';
import fc from 'fast-check';
import { rfc3339 } from '../../src/core/clock.js';
import { runs } from '../fuzz/fuzz.js';
import { FakeClock, Service } from '../support/harness.js';
import { DEFAULT_MACHINES, RESTRICTED_VERSION, SELF_RELEASES_PER_YEAR } from './license-model.js';
import { ScenarioRunner } from './scenario-runner.js';
import { concurrentScenarios, sequentialScenarios, type CommandTemplate } from './scenarios.js';
import { publish } from '../manifest/publish.js';
import { PURCHASE_SETTINGS } from '../support/http/webhook.js';

/*
 * Runs random scenarios and compares each response with that of the model in license-model.ts. On failure fast-check prints its
 * seed, the scenario and the executed commands.
 */

const checkScenarios = (count: number, scenarios: fc.Arbitrary<CommandTemplate[][]>) =>
  fc.assert(fc.asyncProperty(scenarios, runScenario), runs(count));

/** Two instances with one database, as behind a load balancer. */
const instances: Service[] = [];
const environment = {
  ...PURCHASE_SETTINGS,
  DEFAULT_MACHINES_PER_LICENSE: String(DEFAULT_MACHINES),
  SELF_RELEASES_PER_YEAR: String(SELF_RELEASES_PER_YEAR),
};
const clock = new FakeClock();
const one = await Service.start({ environment, clock });
instances.push(one);
await publish(one, RESTRICTED_VERSION.version, rfc3339(new Date(RESTRICTED_VERSION.minimumExpiry)));
const restartSecond = async () => {
  await instances.splice(1)[0]?.close();
  instances.push(await Service.beside(one, { environment, clock }));
};
await restartSecond();

let scenarioCount = 0;
async function runScenario(batches: CommandTemplate[][]): Promise<void> {
  scenarioCount += 1;
  await new ScenarioRunner(instances, restartSecond, `scenario-${scenarioCount}`).run(batches);
}

test('sequential commands get the responses of the model, and the views show its state', () =>
  checkScenarios(6, sequentialScenarios));

test('an order of concurrent commands explains all their responses and the resulting state', () =>
  checkScenarios(5, concurrentScenarios));
