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
  // The log lines of 600 requests exceed the 64 KB that a pipe holds.
  ['that is not read', openUnreadPipe, 600] as const,
  // Only Linux has this device.
  ...(existsSync(FULL_DEVICE) ? [['on a full disk', () => openSync(FULL_DEVICE, 'w'), 100] as const] : []),
])('a log %s does not prevent responses', async (_what, open, requests) => {
  const stdout = open();
  afterThisFile(() => closeSync(stdout));
  const { server, port } = await launch({ stdout });
  await server.ready();
  for (let sent = 0; sent < requests; sent += 100) {
    const answers = await Promise.all(
      Array.from({ length: 100 }, () => call(`http://127.0.0.1:${port}`, 'GET', '/v1/manifest')),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  }
  expect((await server.end()).code).toBe(0);
});
