import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { activation, call, createDatabase } from '../support/harness.js';
import { freePort, ServerProcess, type ProcessOptions } from '../support/processes/server-process.js';
import { temporaryFolder } from '../support/folders.js';
import { listen } from '../support/listen.js';

const folder = temporaryFolder();

const database = await createDatabase();
const heldDelay = fileURLToPath(new URL('../support/processes/held-delay.mjs', import.meta.url));

async function launch(settings: Record<string, string>, options?: ProcessOptions) {
  const port = settings['PORT'] ?? String(await freePort());
  const own = { DATA_DIR: folder, DATABASE_URL: database.url };
  const server = new ServerProcess({ ...own, ...settings, PORT: port }, options);
  return { server, url: `http://127.0.0.1:${port}` };
}

/** Reads the steps of a shutdown from the log, without the lines of requests and hourly jobs between them. */
function readShutdownSteps({ stdout }: ServerProcess) {
  const lines = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  const from = lines.findIndex(({ msg }) => msg === 'shutting down');
  return lines
    .slice(from)
    .filter(({ msg }) => msg !== 'request' && msg !== 'retention run')
    .map(({ level: _level, time: _time, ...line }) => line);
}

test('on SIGTERM the service is no longer ready, still answers requests during the delay, and then ends step by step', async () => {
  const { server, url } = await launch(
    { SHUTDOWN_DELAY_SECONDS: '47', TEST_HELD_DELAY: '47000' },
    { nodeArguments: ['--import', heldDelay], hasIpc: true },
  );
  await server.ready();
  const [, license_key, email] = await server.waitForOutput('stderr', /Sample license +(\S+) +\((\S+)\)/);
  const license = { license_key: license_key!, email: email! };
  const { json } = await call(url, 'POST', '/v1/activate', activation(license));

  server.child.kill('SIGTERM');
  await server.waitForOutput('stdout', /"msg":"shutting down"/);
  const ready = await call(url, 'GET', '/health/ready');
  const beat = await call(url, 'POST', '/v1/heartbeat', { token: json.token, app_version: '1.0.0' });
  const live = await call(url, 'GET', '/health/live');
  expect([ready.status, ready.json.code]).toEqual([503, 'unavailable']);
  expect([beat.status, live.status]).toEqual([200, 200]);

  server.child.send('the delay is over');
  expect(await server.exited).toEqual({ code: 0, signal: null });
  const milliseconds: unknown = expect.any(Number);
  expect(readShutdownSteps(server)).toEqual([
    { msg: 'shutting down', delay_seconds: 47 },
    { msg: 'jobs ended', done: expect.any(Number), milliseconds },
    { msg: 'requests ended', answered: 0, cut: 0, milliseconds },
    { msg: 'closed', milliseconds },
  ]);
});

test.each(['PORT', 'METRICS_PORT'])('a service whose %s is in use ends without a delay', async (setting) => {
  const port = await listen(createServer());
  const { server } = await launch({ [setting]: String(port), SHUTDOWN_DELAY_SECONDS: '60' });
  expect(await server.exited).toEqual({ code: 2, signal: null });
  expect(server.stdout).not.toContain('"shutting down"');
});

test('a delay of over a minute is refused with one sentence', async () => {
  const { server } = await launch({ SHUTDOWN_DELAY_SECONDS: '61' });
  expect(await server.exited).toEqual({ code: 2, signal: null });
  expect(server.stderr).toBe('SHUTDOWN_DELAY_SECONDS must be a whole number from 0 to 60.\n');
});
