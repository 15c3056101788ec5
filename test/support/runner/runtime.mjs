import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { setGlobals } from './globals.mjs';
import { registerModuleHooks } from './module-hooks.mjs';
import { withinTimeLimit } from './time-limit.mjs';

registerModuleHooks();
process.setSourceMapsEnabled(true);

/**
 * Loads test files with Node's own loader instead of Jest's: a module is loaded once per worker process, not once per
 * test file. The environment checks what a file leaves behind for the next one.
 */
export default class NativeRuntime {
  #require = createRequire(import.meta.url);
  #jest;

  constructor(_config, environment) {
    this.#jest = environment.jest;
  }

  /** Loads Jest's test framework, a new copy for each file, because it keeps the tests of one file. */
  requireInternalModule(path) {
    delete this.#require.cache[path];
    delete globalThis[Symbol.for('EVENT_HANDLERS')];
    return this.#require(path);
  }

  setGlobalsForRuntime(globals) {
    setGlobals({ ...globals, jest: this.#jest });
  }

  requireModule(path) {
    return this.#require(path);
  }

  unstable_shouldLoadAsEsm() {
    return true;
  }

  unstable_importModule(path) {
    return withinTimeLimit(() => import(pathToFileURL(path).href));
  }

  getSourceMaps() {
    return new Map();
  }

  getAllCoverageInfoCopy() {}
  enterTestCode() {}
  leaveTestCode() {}
  teardown() {}
}
