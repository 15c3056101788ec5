import { execFileSync } from 'node:child_process';
import { closeSync, existsSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { call, createDatabase } from '../support/harness.js';
import { freePort, ServerProcess, type ProcessOptions } from '../support/processes/server-process.js';
import { temporaryFolder } from '../support/folders.js';
import { afterThisFile } from '../support/of-this-file.js';

const directory = temporaryFolder();
const database = await createDatabase();

async function launch(options: ProcessOptions = {}) {
  const port = await freePort();
  const settings = { PORT: String(port), DATA_DIR: directory, DATABASE_URL: database.url };
  const server = new ServerProcess(settings, options);
  return { server, port };
}

/** Opens a pipe whose reader is open but reads nothing. */
function openUnreadPipe(): number {
  const path = join(directory, 'pipe');
  execFileSync('mkfifo', [path]);
  return openSync(path, 'r+');
}

const FULL_DEVICE = '/dev/full';

test.each([
  ['that is not read', openUnreadPipe] as const,
  // Only Linux has this device.
  ...(existsSync(FULL_DEVICE) ? [['on a full disk', () => openSync(FULL_DEVICE, 'w')] as const] : []),
])('a log %s does not prevent responses', async (_what, open) => {
  const stdout = open();
  afterThisFile(() => closeSync(stdout));
  const { server, port } = await launch({ stdout });
  await server.ready();
  // The log lines of 1,500 requests exceed the capacity of a pipe several times.
  for (let sent = 0; sent < 1_500; sent += 100) {
    const answers = await Promise.all(
      Array.from({ length: 100 }, () => call(`http://127.0.0.1:${port}`, 'GET', '/v1/manifest')),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  }
  expect((await server.end()).code).toBe(0);
});

test('the last log lines before the end are written', async () => {
  const { server, port } = await launch();
  await server.ready();
  await call(`http://127.0.0.1:${port}`, 'GET', '/v1/manifest');
  await server.end();
  expect(server.stdout).toMatch(/"route":"\/v1\/manifest"[^\n]*\n/);
});
