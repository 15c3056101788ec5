import { check } from './checker.js';
import { isWithoutEffect, unanswered, type Operation } from './history.js';
import type { State } from './transition.js';

/*
 * Reduces a failing history to the operations that show the contradiction. Each step keeps the proof: what remains has fewer
 * constraints than what was recorded, and is still not linearizable.
 */

export interface Contradiction {
  /** These answers contradict each other. */
  readonly operations: readonly Operation[];
  /** The number of other operations that may have happened at any time or never; no order of them explains the answers. */
  readonly irrelevant: number;
}

/** The limit of visited states of one attempt to leave out an operation. */
const MAX_VISITED = 4_000;

export function smallest(initial: State, history: readonly Operation[]): Contradiction {
  const fails = (operations: readonly Operation[]) =>
    check(initial, operations, MAX_VISITED).verdict === 'not linearizable';
  let kept = shortestPrefix(history, fails);
  // Operations that change nothing are left out.
  for (const operation of kept.toReversed().filter(isWithoutEffect)) {
    const without = kept.filter((each) => each !== operation);
    if (fails(without)) kept = without;
  }
  // An operation that may change something remains possible, at any time and with any answer.
  const irrelevant = new Set<Operation>();
  for (const operation of kept.toReversed()) {
    const possible: Operation = { ...unanswered(operation), earliest: -Infinity };
    const relaxed = kept.map((each) => (each === operation ? possible : each));
    if (!fails(relaxed)) continue;
    kept = relaxed;
    irrelevant.add(possible);
  }
  return { operations: kept.filter((each) => !irrelevant.has(each)), irrelevant: irrelevant.size };
}

/** The history up to the first response that contradicts the operations before it. Later ones cannot explain it. */
function shortestPrefix(
  history: readonly Operation[],
  fails: (operations: readonly Operation[]) => boolean,
): Operation[] {
  const ends = history.flatMap(({ returned }) => returned ?? []).toSorted((a, b) => a - b);
  let [low, high] = [0, ends.length - 1];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (fails(until(history, ends[middle]!))) high = middle;
    else low = middle + 1;
  }
  const shortest = until(history, ends[low] ?? Infinity);
  return fails(shortest) ? shortest : [...history];
}

const until = (history: readonly Operation[], end: number): Operation[] =>
  history
    .filter(({ invoked }) => invoked <= end)
    .map((operation) =>
      operation.returned !== null && operation.returned > end ? unanswered(operation) : operation,
    );
