// A process that runs test files as Jest does, each as often as it is asked to. What the tests import is loaded once.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { join } from 'node:path';

const root = process.cwd();
const require = createRequire(join(root, 'package.json'));
const ofRoot = (path) => import(pathToFileURL(join(root, path)).href);
const { default: NativeRuntime } = await ofRoot('test/support/runner/runtime.mjs');
const { default: ProcessEnvironment } = await ofRoot('test/support/runner/environment.mjs');
const { leftovers, sharedState } = await ofRoot('test/support/runner/leftovers.mjs');
// Both come with Jest, in its own version.
const ofJest = createRequire(createRequire(require.resolve('jest')).resolve('@jest/core'));
const { readConfig } = ofJest('jest-config');
const { default: runFile } = createRequire(ofJest.resolve('jest-config'))('jest-circus/runner');
const { globalConfig, projectConfig } = await readConfig({ _: [], $0: '' }, join(root, 'jest.config.js'));

/** The object by which the instrumented sources read what is active (`INSTRUMENTER_CONSTANTS` of Stryker). */
const NAMESPACE = '__stryker__';
const stryker = (globalThis[NAMESPACE] ??= {});

/** Where Jest keeps the time limit of tests that a file has set. */
const TEST_TIMEOUT = Symbol.for('TEST_TIMEOUT_SYMBOL');

/** Events for which Jest puts its own listeners while a file runs. */
const HANDLED = ['uncaughtException', 'unhandledRejection', 'rejectionHandled'];

/** How long a file that failed may take to end what it has started; else the process is replaced. */
const CLEAN_UP_MS = 2_000;

/** Runs test files anew although Node has loaded them before. */
class RepeatingRuntime extends NativeRuntime {
  static #runs = 0;

  constructor(config, environment, path) {
    super(config, environment);
    this.path = path;
  }

  unstable_importModule(path) {
    if (path !== this.path) return super.unstable_importModule(path);
    return import(`${pathToFileURL(path).href}?run=${(RepeatingRuntime.#runs += 1)}`);
  }
}

/** Runs the first tests of a file, as many as are wanted, until one fails. */
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

  // Without the check of what a file leaves behind, which a mutant may change.
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
      this.#note(event.test);
      stryker.currentTestId = idOfLoading(this.#path);
    } else if (event.name === 'test_skip') {
      stryker.currentTestId = idOfLoading(this.#path);
    }
  }

  #note({ id, name, parent, errors, duration }) {
    const names = [name];
    for (let block = parent; block?.parent; block = block.parent) names.unshift(block.name);
    const [error] = errors;
    const failure =
      error && String((Array.isArray(error) ? (error[0] ?? error[1]) : error)?.message ?? error);
    this.results.push({ id, name: names.join(' › '), milliseconds: duration ?? 0, failure });
  }
}

const idOf = (path, index) => `${relative(path)}#${String(index)}`;
/** The id of what runs in no test: a file's own statements, and its hooks. */
const idOfLoading = (path) => `${relative(path)}#load`;
const relative = (path) => path.slice(root.length).replace(/^\//, '');

/** @returns the results of the tests, and the message of a failure outside of them */
async function run({ path, ...limits }) {
  const context = { testPath: path, console, docblockPragmas: {} };
  const environment = new BailingEnvironment({ projectConfig, globalConfig }, context, limits);
  const runtime = new RepeatingRuntime(projectConfig, environment, path);
  const began = performance.now();
  const handlers = HANDLED.map((name) => [name, process.listeners(name)]);
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
    // Jest leaves its own behind where a file cannot be loaded, and the environment removes all of them there.
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

/** Its process is replaced anyway. */
const waitedInVain = ({ failure }) => /Exceeded timeout of /.test(failure);

let untouched;

const actions = {
  /** Loads sources before any test, so that what runs then counts as run at load. */
  async load({ files }) {
    await import(pathToFileURL(require.resolve('reflect-metadata')).href);
    for (const file of files) await import(pathToFileURL(file).href);
  },
  async run(request) {
    Error.prepareStackTrace = undefined; // as each file begins
    untouched ??= await sharedState();
    const results = await runAll(request);
    const failed = results.some(({ failure }) => failure !== undefined);
    const { hitCount } = stryker;
    // A test that failed may leave behind what changes the verdict of the next one.
    const left =
      request.bail && failed && !results.some(waitedInVain) ? await leftovers(untouched, CLEAN_UP_MS) : [];
    return { results, hitCount, coverage: stryker.mutantCoverage, left, memory: process.memoryUsage.rss() };
  },
};

process.on('message', async ({ action, request }) => {
  try {
    process.send({ answer: (await actions[action](request)) ?? {} });
  } catch (error) {
    process.send({ failure: String(error?.stack ?? error) });
  }
});
// A mutant may throw where nothing catches it; the test that runs then fails or hangs, and the process is replaced.
process.on('uncaughtException', (error) => {
  process.send?.({ failure: `uncaught: ${String(error?.stack ?? error)}` });
});
process.on('disconnect', () => process.exit());
process.send({ ready: true });
