import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { expect, test } from '@jest/globals';
import { CLI, Terminal } from '../support/processes/cli-harness.js';
import { createDatabase } from '../support/harness.js';
import { freePort, ServerProcess } from '../support/processes/server-process.js';
import { temporaryFolder } from '../support/folders.js';

/** The message of each failure: personal data and a license key, which no output may contain. */
const CANARY = 'Key (email)=(ada.canary@example.com) MOOR_E6S7-Z8KJ-TB3R-QKX6';
const preload = ['--import', new URL('../support/processes/throws-on-signal.mjs', import.meta.url).href];
const dir = temporaryFolder();

const at: unknown = expect.stringContaining('throws-on-signal.mjs');
/** Each signal makes `throws-on-signal.mjs` fail in a different way; `line` is the expected log line. */
type Failure = [signal: NodeJS.Signals, what: string, line: object];
const NO_ERROR: Failure = [
  'SIGCONT',
  'an unhandled rejection whose value is not an error',
  { error: 'string' },
];
const FAILURES: Failure[] = [
  ['SIGUSR2', 'an uncaught exception', { error: 'TypeError', at }],
  ['SIGWINCH', 'an unhandled rejection', { error: 'RangeError', code: 'ETEST', at }],
  NO_ERROR,
];

const database = await createDatabase();

// A service and a command handle the kinds of failures by the same function (`exitOnUncaught`), and a start takes long.
test('after an unhandled rejection whose value is not an error, the service logs one line without the message of the error, and ends', async () => {
  const [signal, , line] = NO_ERROR;
  const settings = { DATABASE_URL: database.url, DATA_DIR: dir, PORT: String(await freePort()) };
  const server = new ServerProcess(
    { ...settings, LOG_LEVEL: 'fatal', TEST_CANARY: CANARY },
    { nodeArguments: preload },
  );
  try {
    await server.ready();
    server.child.kill(signal);
    expect(await server.exited).toEqual({ code: 1, signal: null });
  } finally {
    await server.end('SIGKILL');
  }
  expect(JSON.parse(server.stdout)).toEqual({
    level: 60,
    time: expect.any(String),
    msg: 'uncaught error',
    ...line,
  });
  expectNoCanary(server.stdout + server.stderr);
});

test.each(FAILURES)(
  '%s: after %s, a command prints one line without the message of the error, and ends',
  async (signal, _what, line) => {
    const terminal = new Terminal({});
    // The command waits for standard input, which gets no data.
    const child = terminal.start(CLI, ['license', 'show', '-'], {
      NODE_OPTIONS: preload.join('='),
      TEST_CANARY: CANARY,
      TEST_SIGNAL: signal,
    });
    const [stdout, stderr] = [text(child.stdout!), text(child.stderr!)];
    try {
      const [code] = (await once(child, 'exit')) as [number | null];
      expect(code).toBe(1);
    } finally {
      child.kill('SIGKILL');
    }
    const output = await stderr;
    expect([await stdout, JSON.parse(output)]).toEqual(['', { msg: 'uncaught error', ...line }]);
    expectNoCanary(output);
  },
);

function expectNoCanary(output: string): void {
  for (const word of ['canary', 'Key (email)', 'E6S7']) expect(output).not.toContain(word);
}
