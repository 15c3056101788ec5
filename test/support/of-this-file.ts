import { expect } from '@jest/globals';

const AFTER_FILE = Symbol.for('mooring.after-file');

/** Returns a function for the value of the current test file. All test files of a worker share a module, but not this value. */
export function ofThisFile<Value>(make: () => Value): () => Value {
  let path: string | undefined;
  let value: Value;
  return () => {
    const { testPath } = expect.getState();
    if (testPath !== path) [path, value] = [testPath, make()];
    return value;
  };
}

/**
 * Runs a function when the current test file has ended, also if it failed or could not be loaded. The function of the last call
 * runs first. Unlike `afterAll`, this may be called within a test.
 */
export function afterThisFile(work: () => unknown): void {
  const store = globalThis as { [key: symbol]: (() => unknown)[] | undefined };
  (store[AFTER_FILE] ??= []).push(work);
}
