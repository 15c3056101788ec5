// Runs the random tests for longer: `-- --runs N` sets the number of runs of each (of histories: `--operations N`), and
// `--seed N` repeats the runs of that seed.
import { parseArgs } from 'node:util';
import { command, ensureBuilt, ensureInstalled, Fault, node24, step } from '../../scripts/prepare.mjs';
import { option, wholeNumbers } from '../command.mjs';

/**
 * Runs test files for longer.
 * @param patterns of Jest, which name the files
 * @param counted name of the option that sets how much is run
 * @param standard default of that option
 */
export async function longForm(patterns, { counted = 'runs', standard = 100 } = {}) {
  await command(async () => {
    const options = { [counted]: option(String(standard)), seed: { type: 'string' } };
    const { [counted]: runs, seed } = parseArgs({ options }).values;
    const env = { ...process.env, MOORING_RUNS: String(wholeNumbers({ [counted]: runs })[counted]) };
    // A seed of fast-check may be negative.
    if (seed !== undefined && !Number.isInteger(Number(seed)))
      throw new Fault('--seed must be a whole number.');
    if (seed) env.MOORING_SEED = seed;
    await ensureInstalled();
    await ensureBuilt();
    const flags = ['--disable-warning=ExperimentalWarning'];
    const { code } = await step(node24(), [...flags, 'node_modules/jest/bin/jest.js', ...patterns], { env });
    return code;
  });
}
