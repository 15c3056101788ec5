import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { TcpProxy } from '../support/databases/outage-harness.js';
import { temporaryFolder } from '../support/folders.js';
import { createDatabase } from '../support/harness.js';
import { freePort, ServerProcess, startUntilReady } from '../support/processes/server-process.js';

/** Writes a line to the standard output that it shares with its parent, once the parent has exited. */
const WRITE_LATE = 'while kill -0 $PPID 2> /dev/null; do sleep 0.05; done; echo late';
const WRITES_LATE = `require('node:child_process').spawn('sh', ['-c', '${WRITE_LATE}'], { stdio: 'inherit' }).unref();`;
/** Prints what a service prints when it listens. */
const IS_READY = `console.error('The command line: mooring'); setInterval(() => undefined, 60_000);`;

/** Starts a program in place of the service. */
function startProgram(program: string): ServerProcess {
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'dist'));
  writeFileSync(join(folder, 'dist/main.js'), program);
  return new ServerProcess({}, { folder, hasProductionLimits: true });
}

test('waitForOutput also waits for output that arrives after the exit of the process', async () => {
  const server = startProgram(WRITES_LATE);
  await once(server.child, 'exit');
  const [found] = await server.waitForOutput('stdout', /late/);
  expect(found).toBe('late');
  await expect(server.waitForOutput('stdout', /never/)).rejects.toThrow(
    'The process ended before its output matched /never/',
  );
});

test('startUntilReady repeats a start that exceeds a time limit of production, and no other one', async () => {
  const url = new URL((await createDatabase()).url);
  const proxy = new TcpProxy();
  proxy.target = Number(url.port);
  // With this delay it takes longer than a second to connect to the database, which is the limit of requests, and less than five
  // seconds, which is that of the migrations.
  proxy.delayMs = 600;
  await proxy.open();
  url.port = String(proxy.port);
  const settings = { PORT: String(await freePort()), DATA_DIR: temporaryFolder(), DATABASE_URL: url.href };
  const starts = [
    () => new ServerProcess(settings, { hasProductionLimits: true }),
    () => startProgram(IS_READY),
  ];
  expect((await startUntilReady(() => starts.shift()!())).isRunning).toBe(true);
  expect(starts).toEqual([]);
  const refused = () => new ServerProcess({ PORT: 'none' }, { hasProductionLimits: true });
  await expect(startUntilReady(refused)).rejects.toThrow('The process ended before its output matched');
});
