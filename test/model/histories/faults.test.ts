import { expect, test } from '@jest/globals';
import { runs } from '../../fuzz/fuzz.js';
import { checkHistories, type HistoriesReport } from './check-histories.js';
import { FAULT_KINDS } from './faults.js';
import { FaultedDeployment } from './faulted-deployment.js';
import { afterThisFile } from '../../support/of-this-file.js';

/*
 * Records histories of licenses with two instances, a primary and a replica while every kind of fault is injected, and checks
 * that each history is linearizable. `npm run bench:histories` runs this test with far more operations.
 */

const deployment = await FaultedDeployment.start();
afterThisFile(() => deployment.close());

/** The interval of the progress messages of `npm run bench:histories`. */
const PROGRESS_INTERVAL_MS = 10_000;
/** The number of operations in `npm test`. */
const TEST_OPERATIONS = 500;

const { numRuns, seed = Math.floor(Math.random() * 1e6) } = runs(TEST_OPERATIONS);
const wantedOperations = numRuns!;

test('each history of a license is linearizable while every kind of fault is injected', async () => {
  try {
    await expectLinearizableHistories();
  } catch (error) {
    throw new Error(`MOORING_SEED=${seed}\n\n${(error as Error).message}`, { cause: error });
  }
});

async function expectLinearizableHistories(): Promise<void> {
  let lastProgressAt = performance.now();
  const report = await checkHistories(
    deployment,
    seed,
    wantedOperations,
    ({ operations, unanswered, faults, contradictions }, contradiction) => {
      // A contradiction is printed at once, because a run with many operations takes long.
      if (contradiction) process.stderr.write(`${contradiction}\n${deployment.errors.join('\n')}\n`);
      if (performance.now() - lastProgressAt < PROGRESS_INTERVAL_MS) return;
      lastProgressAt = performance.now();
      const faultCount = Object.values(faults).reduce((sum, count) => sum + count, 0);
      const line = `${operations} operations, ${unanswered} without a response, ${faultCount} faults, ${contradictions.length} contradictions`;
      process.stderr.write(`${new Date().toISOString()} ${line}\n`);
    },
  );
  if (wantedOperations > TEST_OPERATIONS) process.stderr.write(`${formatSummary(report)}\n`);
  const { contradictions, undecided, errors, faults } = report;
  if (contradictions.length > 0) throw new Error(contradictions.join('\n\n\n'));
  expect({ undecided, errors }).toEqual({ undecided: 0, errors: [] });
  expect(Object.keys(faults).toSorted()).toEqual(FAULT_KINDS.toSorted());
}

const formatSummary = ({ contradictions, ...rest }: HistoriesReport) =>
  JSON.stringify({ seed, ...rest, contradictions: contradictions.length }, null, 2);
