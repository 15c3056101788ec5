import Sequencer from '@jest/test-sequencer';

/** Tests with a browser or a million rows use the whole machine. Beside them, tests of time limits would fail. */
const HEAVY = /\/test\/(pages\/|database\/growth)/;

/** Files that use the whole machine run last, so that only they run at the same time. */
export default class HeavyLast extends Sequencer {
  sort(tests) {
    // oxlint-disable-next-line no-array-sort -- the method of Jest's class, not an array's
    const inOrder = super.sort(tests);
    const { heavy = [], light = [] } = Object.groupBy(inOrder, ({ path }) =>
      HEAVY.test(path) ? 'heavy' : 'light',
    );
    return [...light, ...heavy];
  }
}
