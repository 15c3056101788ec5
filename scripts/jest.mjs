// Runs Jest, and counts what passed and what failed.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { node24, step } from './prepare.mjs';

/** @param options of the process, such as where its output goes */
export async function jest(args, options = {}) {
  const directory = mkdtempSync(join(tmpdir(), 'mooring-test-'));
  process.once('exit', () => rmSync(directory, { recursive: true, force: true }));
  const report = join(directory, 'report.json');
  // Of the worker processes too: V8 clears garbage before it asks for more memory.
  const flags = [
    '--disable-warning=ExperimentalWarning',
    '--max-semi-space-size=8',
    '--max-old-space-size=1536',
  ];
  const toFile = ['--json', `--outputFile=${report}`];
  const program = [...flags, 'node_modules/jest/bin/jest.js', ...toFile, ...args];
  const { code, output } = await step(node24(), program, options);
  const { passed, failed } = counted(report);
  // Whatever Jest objects to beside a test (nothing found, a crash of its own) is a failure as well.
  return { passed, failed: code !== 0 && failed === 0 ? 1 : failed, output };
}

function counted(report) {
  try {
    const result = JSON.parse(readFileSync(report, 'utf8'));
    return {
      passed: result.numPassedTests,
      failed: result.numFailedTests + result.numRuntimeErrorTestSuites,
    };
  } catch {
    return { passed: 0, failed: 0 }; // Jest did not come to its end, which its exit code says
  }
}
