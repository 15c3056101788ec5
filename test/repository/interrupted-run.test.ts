import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { readPidFile } from '../../src/database/embedded/pid-file.js';
import { until } from '../support/until.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'mooring-interrupted-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Starts a run of tests that keeps its files in `folder`. */
function runTests(...args: string[]) {
  const script = `import { jest } from ${JSON.stringify(pathToFileURL('scripts/jest.mjs').href)}; await jest(${JSON.stringify(args)});`;
  const env = { ...process.env, TMPDIR: folder };
  return spawn(process.execPath, ['--input-type=module', '--eval', script], { env, stdio: 'ignore' });
}

/** Waits until the run has started PostgreSQL. @returns the id of its process */
async function postgresOf(run: ReturnType<typeof spawn>): Promise<number> {
  const findCluster = () => globSync(join(folder, `mooring-test-${run.pid}-*/*/postgres`))[0];
  await until(async () => readPidFile(findCluster() ?? '')?.status === 'ready');
  return readPidFile(findCluster()!)!.pid;
}

/** Whether a process runs. If its parent does not wait for it, an ended one still has an id, but no command line. */
function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return process.platform !== 'linux' || readFileSync(`/proc/${pid}/cmdline`, 'utf8') !== '';
  } catch {
    return false;
  }
}

test('a run removes what a killed one left, and leaves no server and no file when it is ended', async () => {
  const killed = runTests('test/unit');
  const killedEnded = once(killed, 'exit');
  const postgresOfKilled = await postgresOf(killed);
  killed.kill('SIGKILL');
  await killedEnded;
  const [left, ...others] = readdirSync(folder);
  expect([isRunning(postgresOfKilled), others]).toEqual([true, []]);

  const run = runTests('test/unit');
  const ended = once(run, 'exit');
  const postgres = await postgresOf(run);
  expect(isRunning(postgresOfKilled)).toBe(false);
  expect(readdirSync(folder)).not.toContain(left);
  run.kill('SIGTERM');
  expect(await ended).toEqual([128 + 15, null]);
  expect([isRunning(postgres), readdirSync(folder)]).toEqual([false, []]);
});
