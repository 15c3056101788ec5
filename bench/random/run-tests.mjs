// Runs random tests for longer than `npm test` does. The option `--runs N`, or the `countOption` of a command, sets how long.
// `--seed N` repeats the runs of that seed.
import { command, ensureBuilt, ensureInstalled, ScriptError, node24, step } from '../../scripts/prepare.mjs';
import { readOptions } from '../command.mjs';

/**
 * Runs the tests of some files with more random runs than `npm test`.
 * @param patterns path patterns of the files, for Jest
 * @param countOption the name of the option with the number of runs
 * @param defaultCount the default of that option
 */
export async function runLonger(patterns, { countOption = 'runs', defaultCount = 100 } = {}) {
  await command(async () => {
    // The seed is not read as a number above 0, because fast-check may print a negative one.
    const options = readOptions({ [countOption]: defaultCount }, { seed: { type: 'string' } });
    const { [countOption]: runs, seed } = options;
    const env = { ...process.env, MOORING_RUNS: String(runs) };
    if (seed !== undefined && !Number.isInteger(Number(seed)))
      throw new ScriptError('--seed must be a whole number.');
    if (seed) env.MOORING_SEED = seed;
    await ensureInstalled();
    await ensureBuilt();
    const flags = ['--disable-warning=ExperimentalWarning'];
    const { code } = await step(node24(), [...flags, 'node_modules/jest/bin/jest.js', ...patterns], { env });
    return code;
  });
}
