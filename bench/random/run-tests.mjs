// Runs the random tests for longer: `-- --runs N` sets the number of runs of each test (`--operations N` for the
// histories), and `--seed N` repeats the runs of that seed.
import { parseArgs } from 'node:util';
import { command, ensureBuilt, ensureInstalled, Fault, node24, step } from '../../scripts/prepare.mjs';
import { option, wholeNumbers } from '../command.mjs';

/**
 * Runs test files for longer than `npm test` does.
 * @param patterns path patterns of the files, for Jest
 * @param unit name of the option that sets how much is run
 * @param defaultCount default of that option
 */
export async function runLonger(patterns, { unit = 'runs', defaultCount = 100 } = {}) {
  await command(async () => {
    const options = { [unit]: option(String(defaultCount)), seed: { type: 'string' } };
    const { [unit]: runs, seed } = parseArgs({ options }).values;
    const env = { ...process.env, MOORING_RUNS: String(wholeNumbers({ [unit]: runs })[unit]) };
    // `wholeNumbers` would reject a negative seed, which fast-check may print.
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
