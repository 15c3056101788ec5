// Runs Jest, and counts what passed and what failed.
import { chmodSync, mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { node24, step } from './prepare.mjs';

/** A file system in memory, and how much of it and of the memory must be free. A run takes some 300 MB. */
const IN_MEMORY = '/dev/shm';
const PLENTY_BYTES = 4 * 2 ** 30;

/** @param options of the process, such as its environment */
export async function jest(args, options = {}) {
  const directory = mkdtempSync(join(placeOfFiles(), 'mooring-test-'));
  process.once('exit', () => rmSync(directory, { recursive: true, force: true }));
  // As open as the system's own, for PostgreSQL runs as an ordinary user.
  chmodSync(directory, 0o1777);
  const report = join(directory, 'report.json');
  // Of the worker processes too: V8 clears garbage before it asks for more memory.
  const flags = [
    '--disable-warning=ExperimentalWarning',
    '--max-semi-space-size=8',
    '--max-old-space-size=768',
  ];
  const toFile = ['--json', `--outputFile=${report}`];
  const program = [...flags, 'node_modules/jest/bin/jest.js', ...toFile, ...args];
  const env = { ...process.env, ...options.env, TMPDIR: directory, MALLOC_ARENA_MAX: '2' };
  const { code, output } = await step(node24(), program, { ...options, env });
  const { passed, failed } = counted(report);
  // Whatever Jest objects to beside a test (nothing found, a crash of its own) is a failure as well.
  return { passed, failed: code !== 0 && failed === 0 ? 1 : failed, output };
}

/**
 * The tests make and remove some two hundred databases of three hundred files each, which takes some file systems a minute
 * of processor time. Nothing of it needs a disk.
 */
function placeOfFiles() {
  if (process.platform !== 'linux' || process.env.TMPDIR) return tmpdir();
  try {
    const { bavail, bsize } = statfsSync(IN_MEMORY);
    return Math.min(bavail * bsize, process.availableMemory()) > PLENTY_BYTES ? IN_MEMORY : tmpdir();
  } catch {
    return tmpdir();
  }
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
