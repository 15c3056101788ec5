// npm test: whatever is missing is installed, then all is checked, built and tested. The last line counts it.
// Arguments go to Jest, and the checks are left out: npm test -- test/heartbeat.test.ts
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { check } from './check.mjs';
import { command, ensureBuilt, ensureInstalled, ensureWebBuilt, Fault, node24, step } from './prepare.mjs';

await command(async () => {
  await ensureInstalled();
  const args = process.argv.slice(2);
  const parts = [...(args.length > 0 ? [] : [await check()]), await build(), await jest(args)];
  const sum = (name) => parts.reduce((total, part) => total + part[name], 0);
  console.log(`${sum('passed')} passed, ${sum('failed')} failed`);
  return sum('failed') > 0 ? 1 : 0;
});

async function build() {
  try {
    await ensureBuilt();
    await ensureWebBuilt();
    return { passed: 1, failed: 0 };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    console.log(error.message);
    return { passed: 0, failed: 1 };
  }
}

async function jest(args) {
  const directory = mkdtempSync(join(tmpdir(), 'mooring-test-'));
  process.once('exit', () => rmSync(directory, { recursive: true, force: true }));
  const report = join(directory, 'report.json');
  const flags = ['--disable-warning=ExperimentalWarning', '--experimental-vm-modules'];
  const output = ['--json', `--outputFile=${report}`];
  const { code } = await step(node24(), [...flags, 'node_modules/jest/bin/jest.js', ...output, ...args]);
  const { passed, failed } = counted(report);
  // Whatever Jest objects to beside a test (nothing found, a crash of its own) is a failure as well.
  return { passed, failed: code !== 0 && failed === 0 ? 1 : failed };
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
