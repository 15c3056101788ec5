import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { runs } from '../../fuzz/fuzz.js';
import { campaign, type CampaignResult } from './campaign.js';
import { FAULT_KINDS } from './faults.js';
import { FaultedDeployment } from './faulted-deployment.js';

/*
 * The history of each license is linearizable with two instances, a primary, a replica and every fault. `npm run bench:histories`
 * runs far more operations.
 */

let deployment: FaultedDeployment;
beforeAll(async () => {
  deployment = await FaultedDeployment.start();
});
afterAll(async () => {
  await deployment?.close();
});

/** The interval of progress messages of the long form. */
const PROGRESS_MS = 10_000;

const { numRuns, seed = Math.floor(Math.random() * 1e6) } = runs(500);
test('each history of a license is linearizable during every fault', async () => {
  let observedAt = performance.now();
  const result = await campaign(
    deployment,
    seed,
    numRuns!,
    ({ operations, unanswered, faults, findings }, finding) => {
      // Printed at once, because the long form takes a while.
      if (finding) process.stderr.write(`${finding}\n${deployment.errors.join('\n')}\n`);
      if (performance.now() - observedAt < PROGRESS_MS) return;
      observedAt = performance.now();
      const struck = Object.values(faults).reduce((sum, count) => sum + count, 0);
      const line = `${operations} operations, ${unanswered} without an answer, ${struck} faults, ${findings.length} findings`;
      process.stderr.write(`${new Date().toISOString()} ${line}\n`);
    },
  );
  if (numRuns! > 500) process.stderr.write(`${summary(result)}\n`);
  const { findings, undecided, errors, faults } = result;
  if (findings.length > 0) throw new Error(`MOORING_SEED=${seed}\n\n${findings.join('\n\n\n')}`);
  expect({ undecided, errors }).toEqual({ undecided: 0, errors: [] });
  expect(Object.keys(faults).toSorted()).toEqual(FAULT_KINDS.toSorted());
});

const summary = ({ findings, ...rest }: CampaignResult) =>
  JSON.stringify({ seed, ...rest, findings: findings.length }, null, 2);
