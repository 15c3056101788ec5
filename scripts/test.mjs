// npm test: installs what is missing, then checks, builds and tests everything. The last line has the counts.
// Arguments are passed to Jest, and the checks are left out: npm test -- test/heartbeat/heartbeat.test.ts
// With --profile it also prints how long each part took.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { check } from './check.mjs';
import { jest } from './jest.mjs';
import {
  BUNDLE,
  command,
  ensureBuilt,
  ensureBundled,
  ensureInstalled,
  ensureWebBuilt,
  ScriptError,
} from './prepare.mjs';
import { profileTables } from './test-profile.mjs';

await command(async () => {
  await ensureInstalled();
  const isProfiled = process.argv.includes('--profile');
  const args = process.argv.slice(2).filter((arg) => arg !== '--profile');
  const tests = isProfiled ? jestWithProfile : jest;
  // The checks run at the same time as the tests, which often wait.
  const isComplete = args.length === 0;
  const checks = isComplete ? check() : { passed: 0, failed: 0 };
  const parts = [await build(isComplete), await tests(args), await checks];
  const sum = (name) => parts.reduce((total, part) => total + part[name], 0);
  console.log(`${sum('passed')} passed, ${sum('failed')} failed`);
  return sum('failed') > 0 ? 1 : 0;
});

/** Builds what the tests need. @param isComplete whether all tests run: they start many services, and the bundle starts faster */
async function build(isComplete) {
  try {
    await (isComplete ? ensureBundled() : ensureBuilt());
    process.env.MOORING_TEST_BUILD = isComplete ? BUNDLE : 'dist';
    await ensureWebBuilt();
    return { passed: 1, failed: 0 };
  } catch (error) {
    if (!(error instanceof ScriptError)) throw error;
    console.log(error.message);
    return { passed: 0, failed: 1 };
  }
}

/** Runs Jest and prints how long each part took. */
async function jestWithProfile(args) {
  const directory = mkdtempSync(join(tmpdir(), 'mooring-profile-'));
  process.once('exit', () => rmSync(directory, { recursive: true, force: true }));
  const file = join(directory, 'files.jsonl');
  const counts = await jest(args, { env: { MOORING_PROFILE: file } });
  console.log(`\n${profileTables(file)}\n`);
  return counts;
}
