import { expect, test } from '@jest/globals';
import { call, createDatabase } from '../support/harness.js';
import { exchange, request } from '../support/http/raw-http.js';
import { freePort, ServerProcess } from '../support/processes/server-process.js';
import { temporaryFolder } from '../support/folders.js';

/*
 * The service runs in its own process. In Jest the errors of Node have other classes, so code that distinguishes them from
 * errors of the database could behave differently than in production.
 */

const directory = temporaryFolder();

const database = await createDatabase();
const port = await freePort();
const url = `http://127.0.0.1:${port}`;
const server = new ServerProcess({ PORT: String(port), DATABASE_URL: database.url, DATA_DIR: directory });
await server.ready();

// Errors alert an operator, so a caller must not be able to cause one with a few bytes.
test('a malformed or incomplete body is an error of its sender, and is logged neither as an internal error nor as an outage of the database', async () => {
  const head = 'POST /v1/activate HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n';
  const reset = async (socket: { resetAndDestroy(): unknown }) => socket.resetAndDestroy();
  const end = async (socket: { end(): unknown }) => socket.end();
  const cut = request('POST', '/v1/activate', '{"license_key":"MOOR_').subarray(0, -5);
  await exchange(url, [`${head}transfer-encoding: chunked\r\n\r\nzz\r\n{}`]);
  await exchange(url, [`${head}transfer-encoding: chunked\r\n\r\n5\r\n{"a"`, reset]);
  await exchange(url, [cut, reset]);
  await exchange(url, [cut, end]);
  expect((await call(url, 'GET', '/nowhere')).status).toBe(404);
  // The log line of the last request: all lines before it have been written.
  await server.waitForOutput('stdout', /"route":"none"/);
  expect(server.stdout.split('\n').filter((line) => /"level":[56]0/.test(line))).toEqual([]);
});
