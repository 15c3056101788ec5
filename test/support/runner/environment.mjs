import { createRequire } from 'node:module';
import { FileProfile } from './profile.mjs';
import { leftovers, sharedState } from './leftovers.mjs';
import { withinTimeLimit } from './time-limit.mjs';

// Both packages are dependencies of Jest, so they are loaded in the version that Jest uses.
const requireFromJest = createRequire(createRequire(import.meta.url).resolve('jest-environment-node'));
const { ModernFakeTimers } = requireFromJest('@jest/fake-timers');
const { ModuleMocker } = requireFromJest('jest-mock');

// Node opens these streams when they are first used. They are opened here, so that no test file appears to leave them behind.
void [process.stdin, process.stdout, process.stderr];

/** The global member in which Jest stores a time limit of tests that a file has set. */
const TEST_TIMEOUT = Symbol.for('TEST_TIMEOUT_SYMBOL');

/** The functions that run at the end of a test file (`test/support/of-this-file.ts`). */
const AFTER_FILE = Symbol.for('mooring.after-file');

/** The events that Jest listens to from before a file is loaded until its tests have ended. */
const JEST_EVENTS = ['uncaughtException', 'unhandledRejection', 'rejectionHandled'];

/** The environment of test files is the worker process itself, so that the files share its modules and global objects. */
export default class ProcessEnvironment {
  global = globalThis;
  #path;
  #console = console;
  #exit = process.exit;
  #mocker = new ModuleMocker(globalThis);
  #timers;
  #profile;
  #before;
  #hasJestCleanedUp = false;
  /** The first error of the file. `teardown` reports it, because Jest does not if `teardown` throws. */
  #failure;

  constructor({ projectConfig }, { testPath }) {
    this.#path = testPath;
    this.#timers = new ModernFakeTimers({ config: projectConfig, global: globalThis });
    if (process.env.MOORING_PROFILE) this.#profile = new FileProfile(testPath);
  }

  /** The object that tests import as `jest`. */
  get jest() {
    const [mocker, timers] = [this.#mocker, this.#timers];
    return {
      fn: mocker.fn.bind(mocker),
      spyOn: mocker.spyOn.bind(mocker),
      restoreAllMocks: () => mocker.restoreAllMocks(),
      useFakeTimers: (options) => timers.useFakeTimers(options),
      useRealTimers: () => timers.useRealTimers(),
      advanceTimersByTime: (milliseconds) => timers.advanceTimersByTime(milliseconds),
      getTimerCount: () => timers.getTimerCount(),
      setTimeout: (milliseconds) => {
        globalThis[TEST_TIMEOUT] = milliseconds;
      },
    };
  }

  async setup() {
    // Jest maps stack traces with the files that it transforms. Here Node maps them with the source maps of its loader.
    Error.prepareStackTrace = undefined;
    this.#before = await sharedState();
  }

  /** Jest calls this method for each event of a test file. */
  handleTestEvent(event) {
    this.#profile?.handleEvent(event);
    if (event.name === 'teardown') this.#hasJestCleanedUp = true;
    if (/^(test_fn|hook)_failure$/.test(event.name)) this.#failure ??= event.error;
  }

  /** Fails the file if its end failed, or if it left something behind that could affect a later file of this process. */
  async teardown() {
    const problems = [];
    // Jest's console fails the file from now on, and a library may write to it while a service ends.
    globalThis.console = this.#console;
    // What was started last may use what was started before it, so it ends first.
    for (const work of (globalThis[AFTER_FILE]?.splice(0) ?? []).toReversed()) {
      try {
        await withinTimeLimit(work);
      } catch (error) {
        problems.push(`failed at its end: ${error?.stack ?? error}`);
      }
    }
    this.#mocker.restoreAllMocks();
    this.#timers.useRealTimers();
    delete globalThis[TEST_TIMEOUT];
    process.exit = this.#exit;
    this.#profile?.write();
    // A file that could not be loaded has an error already, and Jest has not cleaned the process up.
    if (!this.#hasJestCleanedUp) return JEST_EVENTS.forEach((name) => process.removeAllListeners(name));
    const found = await leftovers(this.#before);
    if (found.length > 0) problems.push(`left behind: ${found.join('; ')}`);
    if (problems.length === 0) return;
    const earlierFailure = this.#failure ? `\nBefore that: ${this.#failure.stack ?? this.#failure}` : '';
    throw new Error(`${this.#path} ${problems.join('\nIt ')}${earlierFailure}`);
  }

  getVmContext() {
    return null;
  }
}
