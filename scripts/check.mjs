// npm run check: types, lint and format; with --fix, lint and format are repaired where they can be.
import { argv } from 'node:process';
import { fileURLToPath } from 'node:url';
import { command, ensureInstalled, node24, step } from './prepare.mjs';

/** Runs the checks, prints a line for each, and answers how many passed and failed. */
export async function check(fix = false) {
  const checks = {
    types: ['tsc', '--noEmit', '-p', '.'],
    'types of the pages': ['tsc', '-p', 'web'],
    lint: ['oxlint', ...(fix ? ['--fix'] : [])],
    format: ['prettier', fix ? '--write' : '--check', '--log-level=warn', '.'],
  };
  const count = { passed: 0, failed: 0 };
  for (const [name, [tool, ...args]] of Object.entries(checks)) {
    const { code, output } = await step(node24(), [`node_modules/.bin/${tool}`, ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    console.log(`${name}: ${code === 0 ? 'ok' : `failed\n${output.trim()}`}`);
    count[code === 0 ? 'passed' : 'failed'] += 1;
  }
  return count;
}

if (argv[1] === fileURLToPath(import.meta.url)) {
  await command(async () => {
    await ensureInstalled();
    return (await check(argv.includes('--fix'))).failed > 0 ? 1 : 0;
  });
}
