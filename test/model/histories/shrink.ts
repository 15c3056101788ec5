import { check } from './checker.js';
import { isWithoutEffect, withoutResponse, type Operation } from './history.js';
import type { State } from './transition.js';

/*
 * Reduces a history that is not linearizable to the operations that show the contradiction. Each step only removes constraints,
 * and the result is still not linearizable, so the recorded history is not either.
 */

export interface Contradiction {
  /** The operations whose responses contradict each other. */
  readonly operations: readonly Operation[];
  /**
   * The number of other operations that the reduced history has, without their responses. The contradiction remains whether each of
   * them happened, at any time, or not.
   */
  readonly irrelevantCount: number;
}

/** The limit of visited states for each check of a smaller history. */
const MAX_VISITED_STATES = 4_000;

export function shrinkHistory(initial: State, history: readonly Operation[]): Contradiction {
  const isContradictory = (operations: readonly Operation[]) =>
    check(initial, operations, MAX_VISITED_STATES).verdict === 'not linearizable';
  let kept = shortestPrefix(history, isContradictory);
  // Operations that change nothing are removed if the contradiction remains.
  for (const operation of kept.toReversed().filter(isWithoutEffect)) {
    const without = kept.filter((each) => each !== operation);
    if (isContradictory(without)) kept = without;
  }
  // Other operations stay in the history, but may then happen at any time, with any response, or never.
  const irrelevant = new Set<Operation>();
  for (const operation of kept.toReversed()) {
    const unconstrained: Operation = { ...withoutResponse(operation), earliest: -Infinity };
    const relaxed = kept.map((each) => (each === operation ? unconstrained : each));
    if (!isContradictory(relaxed)) continue;
    kept = relaxed;
    irrelevant.add(unconstrained);
  }
  return { operations: kept.filter((each) => !irrelevant.has(each)), irrelevantCount: irrelevant.size };
}

/** The history up to the first response that contradicts the operations before it. Later operations cannot explain it. */
function shortestPrefix(
  history: readonly Operation[],
  isContradictory: (operations: readonly Operation[]) => boolean,
): Operation[] {
  const ends = history.flatMap(({ returned }) => returned ?? []).toSorted((a, b) => a - b);
  let [low, high] = [0, ends.length - 1];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (isContradictory(historyUntil(history, ends[middle]!))) high = middle;
    else low = middle + 1;
  }
  const shortest = historyUntil(history, ends[low] ?? Infinity);
  // A check that reaches the limit counts as no contradiction, so even the longest prefix may count as none.
  return isContradictory(shortest) ? shortest : [...history];
}

/** The operations that were invoked until a time, without the responses that came later. */
const historyUntil = (history: readonly Operation[], end: number): Operation[] =>
  history
    .filter(({ invoked }) => invoked <= end)
    .map((operation) =>
      operation.returned !== null && operation.returned > end ? withoutResponse(operation) : operation,
    );
