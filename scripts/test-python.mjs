// npm run test:python: tests the Python client, and then its README and its example against a real service. The last line has
// the counts. PYTHON names another Python than python3. Without a Python of 3.9 or newer no test runs, and a line says so.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from './jest.mjs';
import { command, ensureBuilt, ensureInstalled, root, ScriptError, step } from './prepare.mjs';
import { withSampleService } from './sample-service.mjs';

const PACKAGE = join(root, 'clients/python');
const IS_NEW_ENOUGH = 'import sys; sys.exit(sys.version_info < (3, 9))';

await command(async () => {
  const python = findPython();
  if (python === undefined) {
    console.log(
      'Python tests did not run: no Python 3.9 or newer was found. Install python3, or name one in PYTHON.',
    );
    return 0;
  }
  // The tests flush thousands of small files to the disk, so their folder is in memory if possible.
  const folder = mkdtempSync(join(temporaryFolder(), 'mooring-python-'));
  const environment = {
    ...process.env,
    PYTHONPATH: join(PACKAGE, 'src'),
    PYTHONDONTWRITEBYTECODE: '1',
    TMPDIR: folder,
  };
  try {
    const parts = [
      await unittest(python, [], environment),
      await testWithService(python, environment, folder),
    ];
    const sum = (name) => parts.reduce((total, part) => total + part[name], 0);
    console.log(`${sum('passed')} passed, ${sum('failed')} failed`);
    return sum('failed') > 0 ? 1 : 0;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

/** @returns the command of a new enough Python; undefined if there is none. @throws ScriptError if PYTHON names no such Python */
function findPython() {
  const isUsable = (name) => spawnSync(name, ['-c', IS_NEW_ENOUGH], { stdio: 'ignore' }).status === 0;
  const { PYTHON } = process.env;
  if (!PYTHON) return ['python3', 'python'].find(isUsable);
  if (isUsable(PYTHON)) return PYTHON;
  throw new ScriptError(`PYTHON names ${PYTHON}, which is no Python of 3.9 or newer.`);
}

/** Starts a service with a sample license, and runs the programs of the README and the example. */
async function testWithService(python, environment, folder) {
  await ensureInstalled();
  await ensureBuilt();
  return withSampleService(join(folder, 'data'), ({ origin, welcome }) => {
    const [, key, email] = /Sample license\s+(\S+)\s+\((\S+)\)/.exec(welcome);
    const service = { MOORING_URL: origin, MOORING_KEY: key, MOORING_EMAIL: email };
    return unittest(python, ['tests.real_service'], { ...environment, ...service });
  });
}

/** Runs tests by unittest, whose output is printed. @returns how many passed and failed */
async function unittest(python, args, env) {
  const options = { cwd: PACKAGE, env, stdio: ['ignore', 'pipe', 'pipe'] };
  const { code, output } = await step(python, ['-W', 'error', '-m', 'unittest', ...args], options);
  console.log(output.trim());
  const run = Number(/^Ran (\d+) tests? in/m.exec(output)?.[1] ?? 0);
  // A skipped test has neither passed nor failed: the output of unittest names it.
  const skipped = Number(/^(?:OK|FAILED) \(.*skipped=(\d+)/m.exec(output)?.[1] ?? 0);
  const counts = [...(/^FAILED \((.*)\)$/m.exec(output)?.[1] ?? '').matchAll(/\b(?:failures|errors)=(\d+)/g)];
  const failed = counts.reduce((total, [, count]) => total + Number(count), 0);
  // A run without a test, and an end without a failed test (a crash), count as a failure.
  return code === 0 && run > 0
    ? { passed: run - skipped, failed: 0 }
    : { passed: Math.max(0, run - skipped - failed), failed: failed || 1 };
}
