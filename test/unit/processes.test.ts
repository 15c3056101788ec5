import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from '@jest/globals';
import { everyProcess } from '../support/processes/processes.js';

test('a process whose name contains a bracket and a space is listed with its parent', async () => {
  const program = "process.title = 'a) S 1 (b'; console.log('named'); setInterval(() => {}, 60_000)";
  const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'close');
  await once(child.stdout, 'data');
  const listed = everyProcess();
  child.kill();
  await ended;
  expect(listed).toContainEqual({ pid: child.pid, parent: process.pid });
});
