// npm test: whatever is missing is installed, then all is checked, built and tested. The last line counts it.
// Arguments go to Jest, and the checks are left out: npm test -- test/heartbeat.test.ts
import { check } from './check.mjs';
import { jest } from './jest.mjs';
import { command, ensureBuilt, ensureInstalled, ensureWebBuilt, Fault } from './prepare.mjs';

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
