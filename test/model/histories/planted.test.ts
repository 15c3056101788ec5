import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { LocalDeployment } from './deployment.js';
import { printed } from './history.js';
import { ACTIVATION_BUGS } from './planted/activation-bugs.js';
import { CHANGE_BUGS } from './planted/change-bugs.js';
import { HEARTBEAT_BUGS } from './planted/heartbeat-bugs.js';
import { runWith, runWithout, type PlantedBug } from './planted/planted-bug.js';
import { RELEASE_BUGS } from './planted/release-bugs.js';
import { smallest } from './shrink.js';

/*
 * Each test plants a bug in running instances, which the checker finds in the history of one seed. Without the bug the same
 * scenario is linearizable.
 */

const BUGS = [...ACTIVATION_BUGS, ...RELEASE_BUGS, ...CHANGE_BUGS, ...HEARTBEAT_BUGS];
/** The largest number of operations in a printed contradiction. */
const MAX_PRINTED = 10;

let deployment: LocalDeployment;
beforeAll(async () => {
  deployment = await LocalDeployment.start();
});
afterAll(async () => {
  await deployment?.close();
});

describe.each(BUGS.map((bug) => [bug.name, bug] as const))('%s', (_name, bug) => {
  test('is found, and its history printed in few lines', async () => {
    const { recorded, verdict } = await runWith(deployment, bug);
    expect(verdict).toBe('not linearizable');
    const { operations } = smallest(recorded.initial, recorded.operations);
    const lines = printed(operations).split('\n');
    expect(lines.length).toBeGreaterThan(0);
    expect(lines.length).toBeLessThanOrEqual(MAX_PRINTED);
  });

  test('is not found if it is not planted', async () => {
    expect((await runWithout(deployment, bug)).verdict).toBe('linearizable');
  });
});

test('a bug whose statement no longer exists fails its test', async () => {
  const gone: PlantedBug = {
    ...BUGS[0]!,
    plant: (planting) => planting.on(/^a statement that is no more$/, ({ run }) => run()),
  };
  await expect(runWith(deployment, gone)).rejects.toThrow('this bug was not planted');
});
