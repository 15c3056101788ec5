import { check, type Verdict } from '../checker.js';
import type { LocalDeployment } from '../deployment.js';
import { plan, type ScenarioShape } from '../plan.js';
import { record, type Recorded } from '../recorder.js';
import { Planting } from './planting.js';

/** A bug that the checker must find. */
export interface PlantedBug {
  readonly name: string;
  /** The seed of a scenario in which the bug has an effect. */
  readonly seed: number;
  readonly shape: ScenarioShape;
  readonly plant: (planting: Planting) => void | Promise<void>;
}

export interface PlantedRun {
  readonly recorded: Recorded;
  readonly verdict: Verdict;
}

/** One client with 14 operations, for bugs that need no concurrency. */
export const ONE_CLIENT: ScenarioShape = { clients: 1, templates: 14 };
/**
 * Two clients with two operations each. A bug can hold a statement of one client with the gate of its `Planting` until the other
 * client has reached a certain point.
 */
export const TWO_CLIENTS: ScenarioShape = { clients: 2, templates: 2 };

let runCount = 0;

/** Runs the scenario of a bug on instances with the bug. @throws Error if the bug was not planted */
export async function runWith(deployment: LocalDeployment, bug: PlantedBug): Promise<PlantedRun> {
  const planting = new Planting(deployment);
  try {
    await bug.plant(planting);
    const result = await runScenario(deployment, bug, planting);
    await planting.confirm();
    return result;
  } finally {
    await planting.remove();
  }
}

/** Runs the same scenario on instances without the bug. */
export const runWithout = (deployment: LocalDeployment, bug: PlantedBug): Promise<PlantedRun> =>
  runScenario(deployment, bug);

async function runScenario(
  deployment: LocalDeployment,
  { seed, shape }: PlantedBug,
  planting?: Planting,
): Promise<PlantedRun> {
  const name = `planted-${(runCount += 1)}`;
  const recorded = await record(deployment, plan(seed, shape), name, planting?.observer);
  return { recorded, verdict: check(recorded.initial, recorded.operations).verdict };
}
