import { expect } from '@jest/globals';

const AFTER_FILE = Symbol.for('mooring.after-file');

/** Something that each test file has for itself, where a module is loaded once for all of them. */
export function ofThisFile<Value>(make: () => Value): () => Value {
  let path: string | undefined;
  let value: Value;
  return () => {
    const { testPath } = expect.getState();
    if (testPath !== path) [path, value] = [testPath, make()];
    return value;
  };
}

/** Does something when the test file that runs now has ended; unlike `afterAll`, a test may ask for it too. */
export function afterThisFile(work: () => Promise<unknown>): void {
  const store = globalThis as { [key: symbol]: (() => Promise<unknown>)[] | undefined };
  (store[AFTER_FILE] ??= []).push(work);
}
