import Sequencer from '@jest/test-sequencer';

/** A browser, and a million rows, take the whole machine: beside them no promise about seconds could be held. */
const HEAVY = /\/test\/(pages\/|database\/growth)/;

/** Files that take the whole machine come last, so that they run beside each other. */
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
