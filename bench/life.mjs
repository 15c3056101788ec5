// npm run bench:life: random lives of licenses against two instances, held against a plain model of the contract.
// -- --runs 1000 plays so many of each kind, --seed N the same ones as before.
import { parseArgs } from 'node:util';
import { command, ensureBuilt, ensureInstalled, node24, step } from '../scripts/prepare.mjs';

await command(async () => {
  const { values } = parseArgs({ options: { runs: { type: 'string' }, seed: { type: 'string' } } });
  await ensureInstalled();
  await ensureBuilt();
  const env = { ...process.env };
  if (values.runs) env.MOORING_RUNS = values.runs;
  if (values.seed) env.MOORING_SEED = values.seed;
  const flags = ['--disable-warning=ExperimentalWarning', '--experimental-vm-modules'];
  const files = ['--testMatch', '<rootDir>/bench/life/*.test.ts'];
  const { code } = await step(node24(), [...flags, 'node_modules/jest/bin/jest.js', ...files], { env });
  return code;
});
