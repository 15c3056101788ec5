// The test runner of Stryker. It keeps a process in which the sources are loaded, and runs the tests that cover a mutant.
// The file is long, because choosing the tests, replacing the process and deciding the status of a mutant use the same state:
// the durations of the dry run, the test files that last killed a mutant, and the test process.
import { fork } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { dirname, join, relative } from 'node:path';
import { INSTRUMENTER_CONSTANTS } from '@stryker-mutator/api/core';
import { declareFactoryPlugin, PluginKind, tokens, commonTokens } from '@stryker-mutator/api/plugin';
import {
  determineHitLimitReached,
  DryRunStatus,
  MutantRunStatus,
  TestStatus,
} from '@stryker-mutator/api/test-runner';

const { ACTIVE_MUTANT_ENV_VARIABLE: ACTIVE_MUTANT } = INSTRUMENTER_CONSTANTS;
const worker = fileURLToPath(new URL('worker.mjs', import.meta.url));

/** A test process that uses more memory is replaced. It grows because each run of a test file stays in its memory. */
const MEMORY_LIMIT_BYTES = 1_500_000_000;

/**
 * The time limit of a test is TIME_LIMIT_MS plus TIME_LIMIT_FACTOR times the usual time of its file, because a mutant may
 * prevent what a test waits for.
 */
const TIME_LIMIT_MS = 5_000;
const TIME_LIMIT_FACTOR = 3;
const TEST_TIMED_OUT = /Exceeded timeout of \d+ ms for a (test|hook)/;

/** The call that Stryker puts before each mutant in an instrumented source, with the id of the mutant. */
const MUTANT_CALL = /stryMutAct_9fa48\("(\d+)"/g;

/** The test process ended or failed, because of a mutant or its tests. */
class WorkerFailure extends Error {}

/** A process (worker.mjs) that runs test files. It handles one request at a time. */
class TestProcess {
  #child;
  #waiting;
  #ended;

  static async start(activeMutant) {
    const process = new TestProcess();
    await process.#start(activeMutant);
    return process;
  }

  async #start(activeMutant) {
    const env = { ...process.env };
    delete env[ACTIVE_MUTANT];
    // A mutant in code that runs at load must be active before anything is loaded.
    if (activeMutant) env[ACTIVE_MUTANT] = activeMutant;
    const execArgv = ['--disable-warning=ExperimentalWarning'];
    const stdio = ['ignore', 'ignore', 'pipe', 'ipc'];
    const ready = Promise.withResolvers();
    this.#waiting = ready;
    this.#child = fork(worker, [], { cwd: process.cwd(), env, execArgv, stdio });
    let errors = '';
    this.#child.stderr.setEncoding('utf8').on('data', (text) => (errors = (errors + text).slice(-2_000)));
    this.#child.on('message', ({ answer, failure }) => {
      if (failure === undefined) this.#waiting?.resolve(answer);
      else this.#waiting?.reject(new WorkerFailure(failure));
    });
    this.#ended = new Promise((resolve) => {
      this.#child.once('exit', (code) => {
        this.#waiting?.reject(new WorkerFailure(`the test process ended with ${String(code)}: ${errors}`));
        resolve();
      });
    });
    await ready.promise;
  }

  send(action, request) {
    this.#waiting = Promise.withResolvers();
    this.#child.send({ action, request });
    return this.#waiting.promise;
  }

  async end() {
    this.#waiting = undefined;
    this.#child.kill('SIGKILL');
    await this.#ended;
  }
}

class MooringTestRunner {
  #options;
  #process;
  /**
   * The durations of the test files, and the test files that cover each source; other processes of Stryker read them from a
   * file.
   */
  #dryRun;
  /** For each source file, the test file that last killed a mutant in it: it runs first. */
  #lastKillers = new Map();

  constructor(options) {
    this.#options = options.mooring;
    // Temporary files of replaced processes are deleted with the directory of the run.
    process.env.TMPDIR = dirname(this.#options.state);
  }

  capabilities() {
    return { reloadEnvironment: true };
  }

  async dryRun({ files }) {
    const sources = (files ?? []).map((file) => join(process.cwd(), relative(process.cwd(), file)));
    const tests = this.#options.tests.map((path) => ({ path: join(process.cwd(), path) }));
    const alsoLoad = this.#options.alsoLoad.map((path) => join(process.cwd(), path));
    this.#process = await TestProcess.start();
    await this.#process.send('load', { files: [...sources, ...alsoLoad] });
    const { results, coverage } = await this.#process.send('run', { files: tests, bail: false });
    const failed = results.find(({ failure }) => failure !== undefined);
    if (failed)
      return {
        status: DryRunStatus.Error,
        errorMessage: `${failed.path} fails without a mutant: ${failed.failure}`,
      };
    this.#saveDryRun(results, coverage, sources);
    return {
      status: DryRunStatus.Complete,
      mutantCoverage: coverage ?? { static: {}, perTest: {} },
      tests: results.flatMap((result) => [
        loadingResult(result),
        ...result.tests.map((test) => testResult(test, result)),
      ]),
    };
  }

  #saveDryRun(results, { perTest } = { perTest: {} }, sources) {
    const durations = Object.fromEntries(results.map(({ path, milliseconds }) => [path, milliseconds]));
    const covering = {};
    for (const source of sources) {
      const ids = new Set([...readFileSync(source, 'utf8').matchAll(MUTANT_CALL)].map(([, id]) => id));
      const paths = Object.keys(perTest)
        .filter((test) => Object.keys(perTest[test]).some((id) => ids.has(id)))
        .map((test) => test.split('#')[0]);
      covering[relative(process.cwd(), source)] = [...new Set(paths)];
    }
    this.#dryRun = { durations, covering };
    writeFileSync(this.#options.state, JSON.stringify(this.#dryRun));
  }

  async mutantRun(run) {
    this.#dryRun ??= JSON.parse(readFileSync(this.#options.state, 'utf8'));
    try {
      return await this.#mutantRun(run);
    } catch (error) {
      if (!(error instanceof WorkerFailure)) throw error;
      await this.#replace();
      // Without the mutant the same tests did not end the process, so the mutant counts as killed.
      return { status: MutantRunStatus.Killed, killedBy: [], failureMessage: error.message, nrOfTests: 0 };
    }
  }

  async #mutantRun({ activeMutant, testFilter, hitLimit, mutantActivation, sandboxFileName }) {
    const source = relative(process.cwd(), sandboxFileName);
    const isStatic = mutantActivation === 'static';
    const files = this.#filesInOrder(source, isStatic ? undefined : testFilter);
    if (isStatic) await this.#replace();
    this.#process ??= await TestProcess.start(isStatic ? activeMutant.id : undefined);
    const request = { files, activeMutant: activeMutant.id, hitLimit, bail: true };
    const { results, hitCount, leftBehind, memory } = await this.#process.send('run', request);
    // What a failed test left behind could change the result of the next test.
    if (isStatic || leftBehind.length > 0 || memory > MEMORY_LIMIT_BYTES) await this.#replace();
    const timeout = determineHitLimitReached(hitCount, hitLimit);
    if (timeout) return { ...timeout, status: MutantRunStatus.Timeout };
    const nrOfTests = results.reduce((sum, { tests }) => sum + tests.length, 0);
    const failed = results.find(({ failure }) => failure !== undefined);
    if (!failed) return { status: MutantRunStatus.Survived, nrOfTests };
    if (TEST_TIMED_OUT.test(failed.failure)) {
      await this.#replace();
      // Another file may detect the next mutant at once.
      if (this.#lastKillers.get(source) === failed.path) this.#lastKillers.delete(source);
      return { status: MutantRunStatus.Timeout, reason: failed.failure };
    }
    this.#lastKillers.set(source, failed.path);
    const killer = failed.tests.find(({ failure }) => failure !== undefined);
    const killedBy = [killer?.id ?? `${failed.path}#load`];
    return {
      status: MutantRunStatus.Killed,
      killedBy,
      nrOfTests,
      failureMessage: killer?.failure ?? failed.failure,
    };
  }

  /**
   * Lists the test files for a mutant: first the file that last killed a mutant of this source, then the fastest first. A
   * file runs up to its last test that covers the mutant, because tests may depend on earlier ones.
   * @param testFilter the tests that cover the mutant. Without it (a static mutant) whole files run: those that cover
   * the source, or all files if none does.
   */
  #filesInOrder(source, testFilter) {
    const testCounts = new Map();
    if (testFilter === undefined) {
      const { covering, durations } = this.#dryRun;
      const paths = covering[source]?.length ? covering[source] : Object.keys(durations);
      for (const path of paths) testCounts.set(path, undefined);
    } else {
      for (const id of testFilter) {
        const [path, test] = id.split('#');
        const number = test === 'load' ? Infinity : Number(test) + 1;
        testCounts.set(path, Math.max(testCounts.get(path) ?? 0, number));
      }
    }
    const cost = (path) => (path === this.#lastKillers.get(source) ? -1 : this.#dryRun.durations[path]);
    return [...testCounts]
      .toSorted(([a], [b]) => cost(a) - cost(b))
      .map(([path, number]) => ({
        path: join(process.cwd(), path),
        // An integer, because TEST_TIMED_OUT matches the number in Jest's message.
        limitMs: Math.ceil(TIME_LIMIT_MS + TIME_LIMIT_FACTOR * this.#dryRun.durations[path]),
        ...(Number.isFinite(number) && { wanted: number }),
      }));
  }

  /** Ends the test process. The next run of a mutant starts another one. */
  async #replace() {
    await this.#process?.end();
    this.#process = undefined;
  }

  async dispose() {
    await this.#replace();
  }
}

const loadingResult = ({ path, tests, milliseconds }) => ({
  id: `${path}#load`,
  name: `${path} loads`,
  timeSpentMs: Math.max(0, milliseconds - tests.reduce((sum, test) => sum + test.milliseconds, 0)),
  fileName: join(process.cwd(), path),
  status: TestStatus.Success,
});

const testResult = ({ id, name, milliseconds }, { path }) => ({
  id,
  name: `${path} ${name}`,
  timeSpentMs: milliseconds,
  fileName: join(process.cwd(), path),
  status: TestStatus.Success,
});

const create = (options) => new MooringTestRunner(options);
create.inject = tokens(commonTokens.options);

export const strykerPlugins = [declareFactoryPlugin(PluginKind.TestRunner, 'mooring', create)];
