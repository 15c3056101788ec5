import { describe, expect, test } from '@jest/globals';
import { LocalDeployment } from './deployment.js';
import { formatHistory } from './history.js';
import { ACTIVATION_BUGS } from './planted/activation-bugs.js';
import { CHANGE_BUGS } from './planted/change-bugs.js';
import { HEARTBEAT_BUGS } from './planted/heartbeat-bugs.js';
import { runWith, runWithout, type PlantedBug } from './planted/planted-bug.js';
import { RELEASE_BUGS } from './planted/release-bugs.js';
import { shrinkHistory } from './shrink.js';
import { afterThisFile } from '../../support/of-this-file.js';

/*
 * Each test plants a bug in running instances and runs the scenario of one seed: the checker must find the bug in its history.
 * Without the bug, the history of the same scenario is linearizable.
 */

const BUGS = [...ACTIVATION_BUGS, ...RELEASE_BUGS, ...CHANGE_BUGS, ...HEARTBEAT_BUGS];
/** The largest number of operations in a printed contradiction. */
const MAX_PRINTED_OPERATIONS = 10;

const deployment = await LocalDeployment.start();
afterThisFile(() => deployment.close());

describe.each(BUGS.map((bug) => [bug.name, bug] as const))('the bug "%s"', (_name, bug) => {
  test(`is found, and the contradiction is printed in at most ${MAX_PRINTED_OPERATIONS} lines`, async () => {
    const { recorded, verdict } = await runWith(deployment, bug);
    expect(verdict).toBe('not linearizable');
    const { operations } = shrinkHistory(recorded.initial, recorded.operations);
    const lines = formatHistory(operations).split('\n');
    expect(lines.length).toBeGreaterThan(0);
    expect(lines.length).toBeLessThanOrEqual(MAX_PRINTED_OPERATIONS);
  });

  test('is not found if it is not planted', async () => {
    expect((await runWithout(deployment, bug)).verdict).toBe('linearizable');
  });
});

test('the test of a bug fails if the service no longer has the statement that the bug replaces', async () => {
  const withoutStatement: PlantedBug = {
    ...BUGS[0]!,
    plant: (planting) => planting.intercept(/^no such statement$/, ({ run }) => run()),
  };
  await expect(runWith(deployment, withoutStatement)).rejects.toThrow('this bug was not planted');
});
