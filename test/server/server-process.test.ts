import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { temporaryFolder } from '../support/folders.js';
import { ServerProcess } from '../support/processes/server-process.js';

/** Writes a line to the standard output that it shares with its parent, once the parent has exited. */
const WRITE_LATE = 'while kill -0 $PPID 2> /dev/null; do sleep 0.05; done; echo late';
const PROGRAM = `require('node:child_process').spawn('sh', ['-c', '${WRITE_LATE}'], { stdio: 'inherit' }).unref();`;

test('waitForOutput also waits for output that arrives after the exit of the process', async () => {
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'dist'));
  writeFileSync(join(folder, 'dist/main.js'), PROGRAM);
  const server = new ServerProcess({}, { folder, hasProductionLimits: true });
  await once(server.child, 'exit');
  const [found] = await server.waitForOutput('stdout', /late/);
  expect(found).toBe('late');
  await expect(server.waitForOutput('stdout', /never/)).rejects.toThrow(
    'The process ended before its output matched /never/',
  );
});
