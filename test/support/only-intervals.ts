import type { jest } from '@jest/globals';

/** The argument of `jest.useFakeTimers` with which only intervals are faked. */
export const ONLY_INTERVALS: Parameters<typeof jest.useFakeTimers>[0] = {
  // prettier-ignore
  doNotFake: [
    'Date', 'hrtime', 'nextTick', 'performance', 'queueMicrotask', 'setImmediate', 'clearImmediate', 'setTimeout',
    'clearTimeout',
  ],
};
