// Runs Jest and counts the passed and failed tests.
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { node24, step } from './prepare.mjs';

/** The in-memory file system (tmpfs) of Linux. */
const MEMORY_FILE_SYSTEM = '/dev/shm';
/** `/dev/shm` is used only if it and the memory each have this much free. A run needs 300 MB there, and 2 GB for its processes. */
const MIN_FREE_BYTES = 4 * 2 ** 30;
/** The name of the folder of a run: it contains the id of the process, and random characters. */
const FOLDER_NAME = /^mooring-test-(\d+)-/;
/** How long the workers of an interrupted run may still write files. */
const MAX_REMOVAL_MS = 30_000;

/** Runs Jest. @param options of the process, such as its environment @returns the counts of tests, and the output if piped */
export async function jest(args, options = {}) {
  const parent = temporaryFolder();
  for (const name of readdirSync(parent)) {
    const [, pid] = FOLDER_NAME.exec(name) ?? [];
    // The folder of an interrupted run would keep some hundred megabytes of memory.
    if (pid && hasEnded(Number(pid))) removeFolder(join(parent, name));
  }
  const directory = mkdtempSync(join(parent, `mooring-test-${process.pid}-`));
  process.once('exit', () => removeFolder(directory));
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

function hasEnded(pid) {
  try {
    process.kill(pid, 0);
    return false;
  } catch ({ code }) {
    return code === 'ESRCH';
  }
}

/** Deletes the folder of a run. If it was interrupted, its servers still run, and its workers still write for some seconds. */
function removeFolder(directory) {
  for (const giveUpAt = Date.now() + MAX_REMOVAL_MS; ;) {
    try {
      endServers(directory);
      return rmSync(directory, { recursive: true, force: true });
    } catch (error) {
      if (Date.now() > giveUpAt) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100); // This runs at the exit, where no timer fires any more.
    }
  }
}

/** Ends the PostgreSQL servers of a folder. @throws Error as long as one runs */
function endServers(directory) {
  for (const path of readdirSync(directory, { recursive: true })) {
    if (basename(path) !== 'postmaster.pid') continue;
    const [pid] = readFileSync(join(directory, path), 'utf8').split('\n');
    // The server may have ended, and its id may belong to another process.
    if (!commandLine(pid).includes(directory)) continue;
    process.kill(Number(pid), 'SIGQUIT');
    throw new Error(`PostgreSQL (process ${pid}) still runs`);
  }
}

function commandLine(pid) {
  const file = `/proc/${pid}/cmdline`;
  if (process.platform === 'linux') return existsSync(file) ? readFileSync(file, 'utf8') : '';
  return spawnSync('ps', ['-ww', '-o', 'command=', '-p', pid], { encoding: 'utf8' }).stdout ?? '';
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
