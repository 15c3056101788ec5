// A process that runs test files as Jest does, repeatedly. The modules that they import are loaded once.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { join } from 'node:path';

const root = process.cwd();
const require = createRequire(join(root, 'package.json'));
const importFromRoot = (path) => import(pathToFileURL(join(root, path)).href);
const { default: NativeRuntime } = await importFromRoot('test/support/runner/runtime.mjs');
const { default: ProcessEnvironment } = await importFromRoot('test/support/runner/environment.mjs');
const { leftovers, sharedState } = await importFromRoot('test/support/runner/leftovers.mjs');
const { withinTimeLimit } = await importFromRoot('test/support/runner/time-limit.mjs');
// `jest-config` and `jest-circus` are dependencies of Jest. They are loaded in the versions that Jest uses.
const requireFromJest = createRequire(createRequire(require.resolve('jest')).resolve('@jest/core'));
const { readConfig } = requireFromJest('jest-config');
const { default: runFile } = createRequire(requireFromJest.resolve('jest-config'))('jest-circus/runner');
const { globalConfig, projectConfig } = await readConfig({ _: [], $0: '' }, join(root, 'jest.config.js'));

/** The global object in which the instrumented sources find the active mutant (`INSTRUMENTER_CONSTANTS` of Stryker). */
const NAMESPACE = '__stryker__';
const stryker = (globalThis[NAMESPACE] ??= {});

/** The global in which Jest stores the time limit that a test file has set. */
const TEST_TIMEOUT = Symbol.for('TEST_TIMEOUT_SYMBOL');

/** The events of the process whose listeners Jest replaces while a file runs. */
const REPLACED_EVENTS = ['uncaughtException', 'unhandledRejection', 'rejectionHandled'];

/** How long a failed file may take to close its resources; after that the process is replaced. */
const CLEAN_UP_MS = 2_000;

/** Loads a test file again for each run, although Node has loaded it before. */
class RepeatingRuntime extends NativeRuntime {
  static #runs = 0;

  constructor(config, environment, path) {
    super(config, environment);
    this.path = path;
  }

  unstable_importModule(path) {
    if (path !== this.path) return super.unstable_importModule(path);
    const url = `${pathToFileURL(path).href}?run=${(RepeatingRuntime.#runs += 1)}`;
    return withinTimeLimit(() => import(url));
  }
}

/** Runs the first tests of a file, up to the number `wanted`, until one fails. */
class BailingEnvironment extends ProcessEnvironment {
  results = [];
  #path;
  #wanted;
  #limitMs;
  #started = 0;
  #failed = false;

  constructor(config, context, { wanted = Infinity, limitMs }) {
    super(config, context);
    this.#path = context.testPath;
    this.#wanted = wanted;
    this.#limitMs = limitMs;
    stryker.currentTestId = idOfLoading(this.#path);
  }

  // Unlike the base class, this does not record the state before the file: a mutant may change what a file leaves behind.
  async setup() {
    Error.prepareStackTrace = undefined;
    if (this.#limitMs) globalThis[TEST_TIMEOUT] = this.#limitMs;
  }

  handleTestEvent(event) {
    if (event.name === 'test_start') {
      const index = this.#started++;
      if (this.#failed || index >= this.#wanted) event.test.mode = 'skip';
      stryker.currentTestId = idOf(this.#path, index);
      event.test.id = stryker.currentTestId;
    } else if (event.name === 'test_done') {
      this.#failed ||= event.test.errors.length > 0;
      this.#addResult(event.test);
      stryker.currentTestId = idOfLoading(this.#path);
    } else if (event.name === 'test_skip') {
      stryker.currentTestId = idOfLoading(this.#path);
    }
  }

  #addResult({ id, name, parent, errors, duration }) {
    const names = [name];
    for (let block = parent; block?.parent; block = block.parent) names.unshift(block.name);
    const [error] = errors;
    const failure =
      error && String((Array.isArray(error) ? (error[0] ?? error[1]) : error)?.message ?? error);
    this.results.push({ id, name: names.join(' › '), milliseconds: duration ?? 0, failure });
  }
}

const idOf = (path, index) => `${relative(path)}#${String(index)}`;
/** The id of code that runs outside of tests: the statements of a file, and its `beforeAll` and `afterAll`. */
const idOfLoading = (path) => `${relative(path)}#load`;
const relative = (path) => path.slice(root.length).replace(/^\//, '');

/** @returns the results of the tests, and the message of a failure, if any, of a test or of the file */
async function run({ path, ...limits }) {
  const context = { testPath: path, console, docblockPragmas: {} };
  const environment = new BailingEnvironment({ projectConfig, globalConfig }, context, limits);
  const runtime = new RepeatingRuntime(projectConfig, environment, path);
  const began = performance.now();
  const handlers = REPLACED_EVENTS.map((name) => [name, process.listeners(name)]);
  let failure;
  try {
    await environment.setup();
    for (const file of projectConfig.setupFiles) await runtime.unstable_importModule(file);
    const result = await runFile(globalConfig, projectConfig, environment, runtime, path);
    failure =
      result.testExecError?.message ?? (result.numFailingTests > 0 ? result.failureMessage : undefined);
  } catch (error) {
    failure = String(error?.stack ?? error);
  } finally {
    await environment.teardown();
    // If a file cannot be loaded, Jest leaves its listeners behind, and the environment removes all listeners.
    for (const [name, before] of handlers) {
      process.removeAllListeners(name);
      for (const listener of before) process.on(name, listener);
    }
  }
  return {
    path: relative(path),
    tests: environment.results,
    failure,
    milliseconds: performance.now() - began,
  };
}

async function runAll({ files, activeMutant, hitLimit, bail }) {
  Object.assign(stryker, { activeMutant, hitLimit, hitCount: hitLimit === undefined ? undefined : 0 });
  const results = [];
  for (const file of files) {
    const result = await run(file);
    results.push(result);
    if (bail && result.failure !== undefined) break;
  }
  stryker.activeMutant = undefined;
  stryker.currentTestId = undefined;
  return results;
}

/** Whether a test timed out. The runner then replaces the process anyway. */
const hasTimedOut = ({ failure }) => /Exceeded timeout of /.test(failure);

let initialState;

const actions = {
  /** Loads the sources before any test, so that their top-level code counts as run at load. */
  async load({ files }) {
    await import(pathToFileURL(require.resolve('reflect-metadata')).href);
    for (const file of files) await import(pathToFileURL(file).href);
  },
  async run(request) {
    // Each file starts with this value too (`setup`), so it counts as a part of the initial state.
    Error.prepareStackTrace = undefined;
    initialState ??= await sharedState();
    const results = await runAll(request);
    const failed = results.some(({ failure }) => failure !== undefined);
    const { hitCount } = stryker;
    // A failed test may leave resources behind that change the result of the next one.
    const leftBehind =
      request.bail && failed && !results.some(hasTimedOut) ? await leftovers(initialState, CLEAN_UP_MS) : [];
    const memory = process.memoryUsage.rss();
    return { results, hitCount, coverage: stryker.mutantCoverage, leftBehind, memory };
  },
};

process.on('message', async ({ action, request }) => {
  try {
    process.send({ answer: (await actions[action](request)) ?? {} });
  } catch (error) {
    process.send({ failure: String(error?.stack ?? error) });
  }
});
// A mutant may cause an uncaught error outside of a test file. The runner then replaces the process.
process.on('uncaughtException', (error) => {
  process.send?.({ failure: `uncaught: ${String(error?.stack ?? error)}` });
});
process.on('disconnect', () => process.exit());
process.send({ ready: true });
