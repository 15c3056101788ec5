// The long form of tests that are random: -- --runs N plays so many of each (of histories: --operations N), --seed N the
// same ones as before.
import { parseArgs } from 'node:util';
import { command, ensureBuilt, ensureInstalled, Fault, node24, step } from '../../scripts/prepare.mjs';
import { wholeNumbers } from '../command.mjs';

/**
 * Runs these tests (patterns of Jest's) in their long form.
 * @param counted the option that says how much is played @param standard its value where it is not given
 */
export async function longForm(patterns, { counted = 'runs', standard = 100 } = {}) {
  await command(async () => {
    const options = { [counted]: { type: 'string', default: String(standard) }, seed: { type: 'string' } };
    const { [counted]: runs, seed } = parseArgs({ options }).values;
    const env = { ...process.env, MOORING_RUNS: String(wholeNumbers({ [counted]: runs })[counted]) };
    // Those of fast-check may be below 0.
    if (seed !== undefined && !Number.isInteger(Number(seed)))
      throw new Fault('--seed wants a whole number.');
    if (seed) env.MOORING_SEED = seed;
    await ensureInstalled();
    await ensureBuilt();
    const flags = ['--disable-warning=ExperimentalWarning'];
    const { code } = await step(node24(), [...flags, 'node_modules/jest/bin/jest.js', ...patterns], { env });
    return code;
  });
}
