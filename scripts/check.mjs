// npm run check: types, lint and format; with --fix, lint and format errors are corrected if possible.
import { argv } from 'node:process';
import { fileURLToPath } from 'node:url';
import { command, ensureInstalled, node24, step } from './prepare.mjs';

/** TypeScript 7, by its path: `.bin/tsc` is that of `typescript` 6, which `nest build` needs. */
const TYPESCRIPT_7 = 'typescript-native/bin/tsc';

/** Runs the checks and prints a line for each. @returns how many passed and failed */
export async function check(fix = false) {
  const checks = {
    types: [TYPESCRIPT_7, '--noEmit', '-p', '.'],
    'types of the pages': [TYPESCRIPT_7, '-p', 'web'],
    lint: ['.bin/oxlint', ...(fix ? ['--fix'] : [])],
    format: ['.bin/prettier', fix ? '--write' : '--check', '--log-level=warn', '.'],
  };
  const count = { passed: 0, failed: 0 };
  for (const [name, [tool, ...args]] of Object.entries(checks)) {
    const { code, output } = await step(node24(), [`node_modules/${tool}`, ...args], {
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
