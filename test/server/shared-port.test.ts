import { once } from 'node:events';
import { get } from 'node:http';
import { createServer } from 'node:net';
import { expect, test } from '@jest/globals';
import { listenFailure } from '../../src/server/listen-failure.js';
import { createDatabase } from '../support/harness.js';
import { freePort, ServerProcess } from '../support/processes/server-process.js';
import { temporaryFolder } from '../support/folders.js';

/** The number of senders. Each one opens a new connection for each request and sends without a pause. */
const SENDERS = 8;

const folder = temporaryFolder();

const database = await createDatabase();
const port = String(await freePort());

/** Starts an instance on the port of this file. */
function launch(REUSE_PORT: string): ServerProcess {
  return new ServerProcess({ DATA_DIR: folder, DATABASE_URL: database.url, PORT: port, REUSE_PORT });
}

/** Waits until an instance has answered one of the requests. */
const untilAnswering = (server: ServerProcess) => server.waitForOutput('stdout', /"route":"\/v1\/keys"/);

/** Sends a request on a new connection. @returns the status, or the error code of a broken connection */
function send(): Promise<number | string> {
  return new Promise((resolve) => {
    get(`http://127.0.0.1:${port}/v1/keys`, { agent: false }, (response) => {
      response.resume().once('end', () => resolve(response.statusCode!));
    }).once('error', (error: NodeJS.ErrnoException) => resolve(error.code!));
  });
}

/** Sends requests until `stop` is called. A request on a broken connection is repeated once, as by a proxy. */
function startSenders() {
  const answers: (number | string)[] = [];
  const errorCodes: string[] = [];
  const stopped = new AbortController();
  const sendRequests = async () => {
    while (!stopped.signal.aborted) {
      const answer = await send();
      if (typeof answer === 'string') errorCodes.push(answer);
      answers.push(typeof answer === 'string' ? await send() : answer);
    }
  };
  const senders = Array.from({ length: SENDERS }, sendRequests);
  const stop = async () => {
    stopped.abort();
    await Promise.all(senders);
  };
  return { answers, errorCodes, stop };
}

test('two instances share a port, an upgrade loses no request, and an instance that shares no port is refused', async () => {
  const first = launch('true');
  await first.ready();
  const senders = startSenders();
  const second = launch('true');
  await second.ready();
  await Promise.all([first, second].map(untilAnswering));

  first.child.kill('SIGTERM');
  expect(await first.exited).toEqual({ code: 0, signal: null });
  await senders.stop();
  expect(new Set(senders.answers)).toEqual(new Set([200]));
  // The kernel resets a connection that arrives after the last accept and before the close (docs/decisions/0056).
  expect(senders.errorCodes.filter((code) => code !== 'ECONNRESET')).toEqual([]);
  expect(senders.errorCodes.length).toBeLessThanOrEqual(SENDERS);

  const unshared = launch('false');
  expect(await unshared.exited).toEqual({ code: 2, signal: null });
  expect(unshared.stderr).toBe(
    `Mooring cannot listen on HOST 127.0.0.1, PORT ${port} (EADDRINUSE): another program uses the port; set another PORT.\n`,
  );
  // The log has no error, because the sentence is enough.
  expect(unshared.stdout).not.toContain('"level":50');
  await second.end('SIGTERM');
});

test('an instance with REUSE_PORT cannot listen on the port of a program that does not share it, and says why', async () => {
  const other = createServer().listen(Number(port), '127.0.0.1');
  await once(other, 'listening');
  const second = launch('true');
  expect(await second.exited).toEqual({ code: 2, signal: null });
  expect(second.stderr).toBe(
    `Mooring cannot listen on HOST 127.0.0.1, PORT ${port} (EADDRINUSE): the program that uses the port does not share it. If it is an instance of Mooring, restart it with REUSE_PORT=true.\n`,
  );
  other.close();
});

test('on a system that cannot share a port, the failure names the setting', () => {
  const config = { host: '127.0.0.1', port: 3000, isPortShared: true };
  expect(listenFailure(config, 'ENOTSUP')).toBe(
    'Mooring cannot listen on HOST 127.0.0.1, PORT 3000 (ENOTSUP): this system cannot share a port, so REUSE_PORT must be false.',
  );
  expect(listenFailure({ ...config, isPortShared: false }, 'ENOTSUP')).toMatch(/\(ENOTSUP\)\.$/);
});
