import { spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { expect, jest, test } from '@jest/globals';
import { JOBS_TIMEOUTS_MS } from '../../src/database/jobs-client.js';
import { REQUEST_TIMEOUTS_MS } from '../../src/database/request-timeouts.js';
import { EVENT_TIMES } from '../../src/events/outgoing-event.js';
import { afterThisFile } from '../support/of-this-file.js';
import { leftovers, sharedState } from '../support/runner/leftovers.mjs';

/** The environment of test files (environment.mjs). */
interface TestEnvironment {
  readonly jest: Pick<typeof jest, 'setTimeout' | 'spyOn'>;
  setup(): Promise<void>;
  handleTestEvent(event: { name: string }): void;
  teardown(): Promise<void>;
}

const NO_WAIT_MS = 0;

/** Leaves something behind, as a test file could. @returns a function that undoes it */
type Leftover = () => Promise<() => unknown> | (() => unknown);

const CASES: [name: string, leave: Leftover, found: string][] = [
  [
    'a setting in the environment',
    () => {
      process.env['LEFT_BEHIND'] = '1';
      return () => delete process.env['LEFT_BEHIND'];
    },
    'environment: LEFT_BEHIND',
  ],
  [
    'another working directory',
    () => {
      const before = process.cwd();
      process.chdir(tmpdir());
      return () => process.chdir(before);
    },
    `directory: ${process.cwd()} became ${tmpdir()}`,
  ],
  [
    'a replaced global function',
    () => {
      const { fetch } = globalThis;
      globalThis.fetch = () => Promise.reject(new Error('replaced'));
      return () => (globalThis.fetch = fetch);
    },
    'globals: fetch',
  ],
  [
    'a replaced method of a built-in class',
    () => {
      const { at } = Array.prototype;
      // oxlint-disable-next-line no-extend-native -- the test checks that this change is reported
      Array.prototype.at = () => undefined;
      // oxlint-disable-next-line no-extend-native -- undoes the change
      return () => (Array.prototype.at = at);
    },
    'globals: Array.prototype.at',
  ],
  [
    'a listener of the process',
    () => {
      const listener = () => undefined;
      process.on('SIGUSR2', listener);
      return () => process.off('SIGUSR2', listener);
    },
    'listeners of the process: SIGUSR2',
  ],
  [
    'a time limit of requests',
    () => {
      const { answer } = REQUEST_TIMEOUTS_MS;
      REQUEST_TIMEOUTS_MS.answer = 1;
      return () => (REQUEST_TIMEOUTS_MS.answer = answer);
    },
    'limits: REQUEST_TIMEOUTS_MS.answer',
  ],
  [
    'a time limit of jobs',
    () => {
      const { silence } = JOBS_TIMEOUTS_MS;
      JOBS_TIMEOUTS_MS.silence = 1;
      return () => (JOBS_TIMEOUTS_MS.silence = silence);
    },
    'limits: JOBS_TIMEOUTS_MS.silence',
  ],
  [
    'a time of the delivery of events',
    () => {
      const { pollMs } = EVENT_TIMES;
      EVENT_TIMES.pollMs = 1;
      return () => (EVENT_TIMES.pollMs = pollMs);
    },
    'limits: EVENT_TIMES.pollMs',
  ],
  [
    'an open server',
    async () => {
      const server = createServer().listen(0, '127.0.0.1');
      await once(server, 'listening');
      return () => server.close();
    },
    'handles: TCPServerWrap',
  ],
  [
    'a timer',
    () => {
      const timer = setInterval(() => undefined, 1_000);
      return () => clearInterval(timer);
    },
    'handles: Timeout',
  ],
];

test.each(CASES)(
  '%s is reported, and nothing is reported after it is undone',
  async (_name, leave, found) => {
    const before = await sharedState();
    const undo = await leave();
    try {
      expect(await leftovers(before, NO_WAIT_MS)).toContain(found);
    } finally {
      undo();
    }
    expect(await leftovers(before)).toEqual([]);
  },
);

test('a child process is reported until it has ended', async () => {
  const before = await sharedState();
  const child = spawn('sleep', ['600']);
  await once(child, 'spawn');
  try {
    expect(await leftovers(before, NO_WAIT_MS)).toContain(`child processes: ${child.pid}`);
  } finally {
    child.kill();
  }
  expect(await leftovers(before)).toEqual([]);
});

/** The environment of a file whose tests have ended. */
async function endedEnvironment(): Promise<TestEnvironment> {
  const { default: Environment } = (await import(
    new URL('../support/runner/environment.mjs', import.meta.url).href
  )) as { default: new (config: object, context: object) => TestEnvironment };
  const environment = new Environment({ projectConfig: {} }, { testPath: 'a.test.ts' });
  await environment.setup();
  environment.handleTestEvent({ name: 'teardown' });
  return environment;
}

test('at the end of a file the step that was added last runs first, and a step that hangs fails at the time limit of a hook', async () => {
  const environment = await endedEnvironment();
  environment.jest.setTimeout(1);
  const steps: string[] = [];
  afterThisFile(() => steps.push('begun first'));
  afterThisFile(() => new Promise(() => undefined));
  afterThisFile(() => steps.push('begun last'));
  await expect(environment.teardown()).rejects.toThrow('Exceeded timeout of 1 ms for a hook');
  expect(steps).toEqual(['begun last', 'begun first']);
});

test('a text that is written at the end of a file does not reach the console of Jest, which would fail the file', async () => {
  const environment = await endedEnvironment();
  const own = console;
  const [before, ofJest] = [jest.spyOn(own, 'log').mockImplementation(() => undefined), jest.fn()];
  globalThis.console = Object.create(own, { log: { value: ofJest } }) as Console;
  afterThisFile(() => console.log('late'));
  try {
    await environment.teardown();
  } finally {
    globalThis.console = own;
  }
  expect(ofJest).not.toHaveBeenCalled();
  expect(before).toHaveBeenCalledWith('late');
});

test('a failure at the end of a file is reported, and the process is cleaned up nevertheless', async () => {
  const environment = await endedEnvironment();
  const { exit } = process;
  const { log } = console;
  environment.jest.spyOn(console, 'log');
  process.exit = () => undefined as never;
  const second = jest.fn(() => Promise.resolve());
  afterThisFile(second);
  afterThisFile(() => Promise.reject(new Error('a first failure')));
  try {
    await expect(environment.teardown()).rejects.toThrow(
      'a.test.ts failed at its end: Error: a first failure',
    );
    expect(second).toHaveBeenCalled();
    expect(process.exit).toBe(exit);
    expect(console.log).toBe(log);
  } finally {
    process.exit = exit;
    console.log = log;
  }
});
