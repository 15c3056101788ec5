import { check } from './checker.js';
import { isWithoutEffect, unanswered, type Operation } from './history.js';
import type { State } from './transition.js';

/*
 * The smallest part of a failing history that a person needs to see the contradiction. Each step keeps the proof: what
 * remains is only less constrained than what was recorded, and is still not linearizable.
 */

export interface Contradiction {
  /** These answers contradict each other. */
  readonly operations: readonly Operation[];
  /** So many more operations may have happened at any time or never: no order of them explains the others either. */
  readonly irrelevant: number;
}

/** Visited states that are worth it to leave out one more operation. */
const MAX_VISITED = 4_000;

export function smallest(initial: State, history: readonly Operation[]): Contradiction {
  const fails = (operations: readonly Operation[]) =>
    check(initial, operations, MAX_VISITED).verdict === 'not linearizable';
  let kept = shortestPrefix(history, fails);
  // What changes nothing is left out altogether.
  for (const operation of kept.toReversed().filter(isWithoutEffect)) {
    const without = kept.filter((each) => each !== operation);
    if (fails(without)) kept = without;
  }
  // What may change something stays as a possibility, at any time, whatever its answer was.
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

/** The history up to the first answer that contradicts what was before: what comes later explains nothing earlier. */
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
