// Runs Jest and counts the passed and failed tests.
import { chmodSync, mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { node24, step } from './prepare.mjs';

/** The in-memory file system (tmpfs) of Linux. */
const MEMORY_FILE_SYSTEM = '/dev/shm';
/** `/dev/shm` is used only if it and the memory each have this much free. A run needs 300 MB there, and 2 GB for its processes. */
const MIN_FREE_BYTES = 4 * 2 ** 30;

/** Runs Jest. @param options of the process, such as its environment @returns the counts of tests, and the output if piped */
export async function jest(args, options = {}) {
  const directory = mkdtempSync(join(temporaryFolder(), 'mooring-test-'));
  process.once('exit', () => rmSync(directory, { recursive: true, force: true }));
  // The same mode as /tmp, because PostgreSQL runs as another user if the tests run as root.
  chmodSync(directory, 0o1777);
  const report = join(directory, 'report.json');
  // These flags also apply to Jest's workers. With the limits V8 collects garbage earlier, instead of requesting more memory.
  const flags = [
    '--disable-warning=ExperimentalWarning',
    '--max-semi-space-size=8',
    '--max-old-space-size=768',
  ];
  const toFile = ['--json', `--outputFile=${report}`];
  const program = [...flags, 'node_modules/jest/bin/jest.js', ...toFile, ...args];
  const env = { ...process.env, ...options.env, TMPDIR: directory, MALLOC_ARENA_MAX: '2' };
  const { code, output } = await step(node24(), program, { ...options, env });
  const { passed, failed } = countResults(report);
  // An error of Jest without a failed test (no test found, a crash) counts as a failure.
  return { passed, failed: code !== 0 && failed === 0 ? 1 : failed, output };
}

/**
 * The folder for temporary files. The tests create and delete about two hundred databases of three hundred files each,
 * which takes some file systems a minute of processor time, so a file system in memory is used if it has enough space.
 */
export function temporaryFolder() {
  if (process.platform !== 'linux' || process.env.TMPDIR) return tmpdir();
  try {
    const { bavail, bsize } = statfsSync(MEMORY_FILE_SYSTEM);
    return Math.min(bavail * bsize, process.availableMemory()) > MIN_FREE_BYTES
      ? MEMORY_FILE_SYSTEM
      : tmpdir();
  } catch {
    return tmpdir();
  }
}

function countResults(report) {
  try {
    const result = JSON.parse(readFileSync(report, 'utf8'));
    return {
      passed: result.numPassedTests,
      failed: result.numFailedTests + result.numRuntimeErrorTestSuites,
    };
  } catch {
    return { passed: 0, failed: 0 }; // Jest ended early; its exit code reports that.
  }
}
