// npm test: whatever is missing is installed, then all is checked, built and tested. The last line counts it.
// Arguments go to Jest, and the checks are left out: npm test -- test/heartbeat/heartbeat.test.ts
// With --profile it also says where the time went.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { check } from './check.mjs';
import { jest } from './jest.mjs';
import { command, ensureBuilt, ensureInstalled, ensureWebBuilt, Fault } from './prepare.mjs';
import { profileTables } from './test-profile.mjs';

await command(async () => {
  await ensureInstalled();
  const isProfiled = process.argv.includes('--profile');
  const args = process.argv.slice(2).filter((arg) => arg !== '--profile');
  const tests = isProfiled ? profiled : jest;
  // The checks run beside the tests, which often wait.
  const checks = args.length > 0 ? { passed: 0, failed: 0 } : check();
  const parts = [await build(), await tests(args), await checks];
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

/** Runs Jest, and prints where its time went. */
async function profiled(args) {
  const directory = mkdtempSync(join(tmpdir(), 'mooring-profile-'));
  process.once('exit', () => rmSync(directory, { recursive: true, force: true }));
  const file = join(directory, 'files.jsonl');
  const counts = await jest(args, { env: { ...process.env, MOORING_PROFILE: file } });
  console.log(`\n${profileTables(file)}\n`);
  return counts;
}
