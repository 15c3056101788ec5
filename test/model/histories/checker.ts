import type { Operation } from './history.js';
import { keyOf, statesAfter, type State } from './transition.js';

/*
 * Checks whether a history is linearizable: whether its operations have an order in which the model gives each response, and in
 * which an operation that returned before another was invoked precedes that one. The algorithm is that of Wing and Gong with
 * Lowe's extension: it remembers which sets of ordered operations it has tried with which state.
 */

export type Verdict = 'linearizable' | 'not linearizable' | 'undecided';

export interface CheckResult {
  readonly verdict: Verdict;
  /** The longest order of operations that was found to be possible, as indexes in the history. */
  readonly longest: readonly number[];
  /** The number of visited states. */
  readonly visited: number;
}

/** A search that visits more states is aborted with the verdict `undecided`, which does not count as linearizable. */
const MAX_VISITED_STATES = 400_000;

/** A step of the search. */
interface Frame {
  /** The operations that may come next and the states that follow, as far as they were not tried yet. */
  readonly next: Iterator<readonly [number, State]>;
  /** The set of operations that are ordered already: bit i is set for the operation with the index i. */
  readonly placed: bigint;
}

export function check(
  initial: State,
  operations: readonly Operation[],
  maxVisited: number = MAX_VISITED_STATES,
): CheckResult {
  const answered = operations.reduce((set, { returned }, i) => (returned === null ? set : set | bit(i)), 0n);
  const tried = new Set<string>();
  const order: number[] = [];
  let longest: number[] = [];
  const frames: Frame[] = [{ next: successors(operations, 0n, initial), placed: 0n }];
  while (frames.length > 0) {
    const frame = frames.at(-1)!;
    if ((frame.placed & answered) === answered)
      return { verdict: 'linearizable', longest: order, visited: tried.size };
    if (tried.size > maxVisited) return { verdict: 'undecided', longest, visited: tried.size };
    const { done, value } = frame.next.next();
    if (done) {
      frames.pop();
      order.pop();
      continue;
    }
    const [i, state] = value;
    const placed = frame.placed | bit(i);
    const key = `${placed.toString(36)} ${keyOf(state)}`;
    if (tried.has(key)) continue;
    tried.add(key);
    order.push(i);
    if (order.length > longest.length) longest = [...order];
    frames.push({ next: successors(operations, placed, state), placed });
  }
  return { verdict: 'not linearizable', longest, visited: tried.size };
}

const bit = (i: number) => 1n << BigInt(i);

/** The operations that may take effect next, each with the state that follows. */
function* successors(
  operations: readonly Operation[],
  placed: bigint,
  state: State,
): Generator<readonly [number, State]> {
  const unplaced = [...operations.keys()].filter((i) => (placed & bit(i)) === 0n);
  const firstReturn = Math.min(...unplaced.map((i) => operations[i]!.returned ?? Infinity));
  const before = keyOf(state);
  for (const i of unplaced) {
    const operation = operations[i]!;
    // An operation that began after another had returned comes after that one. `earliest` is the time of its request; a
    // confirmation that may come from a replica has an earlier time, so it may come before operations that returned.
    if (operation.earliest > firstReturn) continue;
    for (const next of statesAfter(state, operation)) {
      // An operation without a response that would change nothing need not be ordered.
      if (operation.returned === null && keyOf(next) === before) continue;
      yield [i, next];
    }
  }
}
