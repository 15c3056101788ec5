// Runs random tests for longer than `npm test` does. The option `--runs N`, or the `countOption` of a command, sets how long.
// `--seed N` repeats the runs of that seed.
import { command, ensureBuilt, ensureInstalled, ScriptError, node24, step } from '../../scripts/prepare.mjs';
import { option, parseWholeNumbers, readOptions } from '../command.mjs';

/**
 * Runs the tests of some files with more random runs than `npm test`.
 * @param patterns path patterns of the files, for Jest
 * @param countOption the name of the option with the number of runs
 * @param defaultCount the default of that option
 */
export async function runLonger(patterns, { countOption = 'runs', defaultCount = 100 } = {}) {
  await command(async () => {
    const options = { [countOption]: option(String(defaultCount)), seed: { type: 'string' } };
    const { [countOption]: runs, seed } = readOptions(options);
    const env = {
      ...process.env,
      MOORING_RUNS: String(parseWholeNumbers({ [countOption]: runs })[countOption]),
    };
    // `parseWholeNumbers` would reject a negative seed, which fast-check may print.
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
