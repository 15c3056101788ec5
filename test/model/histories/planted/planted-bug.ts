import { check, type Verdict } from '../checker.js';
import type { LocalDeployment } from '../deployment.js';
import { plan, type ScenarioShape } from '../plan.js';
import { record, type Recorded } from '../recorder.js';
import { Planting } from './planting.js';

/** A bug that the checker must find. */
export interface PlantedBug {
  readonly name: string;
  /** Plans a scenario in which it shows. */
  readonly seed: number;
  readonly shape: ScenarioShape;
  readonly plant: (planting: Planting) => void | Promise<void>;
}

export interface Played {
  readonly recorded: Recorded;
  readonly verdict: Verdict;
}

/** One client: what it finds does not depend on how operations meet. */
export const ALONE: ScenarioShape = { clients: 1, wishes: 14 };
/** Two clients, whose statements a gate brings together. */
export const TOGETHER: ScenarioShape = { clients: 2, wishes: 2 };

let played = 0;

/** Plays the scenario of a bug on instances that have it. @throws where it was not planted */
export async function playWith(deployment: LocalDeployment, bug: PlantedBug): Promise<Played> {
  const planting = new Planting(deployment);
  try {
    await bug.plant(planting);
    const result = await play(deployment, bug, planting);
    await planting.confirm();
    return result;
  } finally {
    await planting.remove();
  }
}

/** Plays the same scenario on instances that do not have it. */
export const playWithout = (deployment: LocalDeployment, bug: PlantedBug): Promise<Played> =>
  play(deployment, bug);

async function play(
  deployment: LocalDeployment,
  { seed, shape }: PlantedBug,
  planting?: Planting,
): Promise<Played> {
  const name = `planted-${(played += 1)}`;
  const recorded = await record(deployment, plan(seed, shape), name, planting?.observer);
  return { recorded, verdict: check(recorded.initial, recorded.operations).verdict };
}
