// npm run conformance -- --url URL --license-key KEY --email E: checks whether a deployment keeps to the contract.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { command, waitForExit, ensureInstalled, node24, root } from './prepare.mjs';

await command(async () => {
  await ensureInstalled();
  const program = join(root, 'conformance/run.ts');
  const args = ['--disable-warning=ExperimentalWarning', program, ...process.argv.slice(2)];
  return waitForExit(spawn(node24(), args, { stdio: 'inherit' }));
});
