import Sequencer from '@jest/test-sequencer';

/** Tests with a browser or hundreds of thousands of rows use all processors, so tests of time limits could fail beside them. */
const HEAVY_TESTS = /\/test\/(pages\/|database\/growth)/;

/** Runs the heavy test files last, so that hardly any other file runs at the same time. */
export default class HeavyLast extends Sequencer {
  sort(tests) {
    // oxlint-disable-next-line no-array-sort -- the method of Jest's class, not an array's
    const inOrder = super.sort(tests);
    const { heavy = [], light = [] } = Object.groupBy(inOrder, ({ path }) =>
      HEAVY_TESTS.test(path) ? 'heavy' : 'light',
    );
    return [...light, ...heavy];
  }
}
