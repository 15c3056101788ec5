// The long form of tests that are random: -- --runs N plays so many of each, --seed N the same ones as before.
import { parseArgs } from 'node:util';
import { command, ensureBuilt, ensureInstalled, node24, step } from '../scripts/prepare.mjs';

/** Runs these tests (patterns of Jest's) in their long form. */
export async function longForm(patterns) {
  await command(async () => {
    const { values } = parseArgs({ options: { runs: { type: 'string' }, seed: { type: 'string' } } });
    await ensureInstalled();
    await ensureBuilt();
    const env = { ...process.env, MOORING_RUNS: values.runs ?? '100' };
    if (values.seed) env.MOORING_SEED = values.seed;
    const flags = ['--disable-warning=ExperimentalWarning', '--experimental-vm-modules'];
    const { code } = await step(node24(), [...flags, 'node_modules/jest/bin/jest.js', ...patterns], { env });
    return code;
  });
}
