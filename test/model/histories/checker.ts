import type { Operation } from './history.js';
import { after, keyOf, type State } from './transition.js';

/*
 * Whether a history is linearizable: whether there is an order of its operations that agrees with real time (what returned
 * before another was invoked comes before it) and in which the model gives each its answer. The search is that of Wing and
 * Gong, with the states and sets of operations that were tried before remembered, as Lowe does.
 */

export type Verdict = 'linearizable' | 'not linearizable' | 'undecided';

export interface Checked {
  readonly verdict: Verdict;
  /** The longest order that explains its operations, as their indexes in the history. */
  readonly longest: readonly number[];
  readonly visited: number;
}

/** A search that visits more states is aborted. Its verdict is `undecided`, which does not count as linearizable. */
const MAX_VISITED = 400_000;

/** A step of the search: the state after some operations, and the operations that may come next. */
interface Frame {
  readonly next: Iterator<readonly [number, State]>;
  readonly placed: bigint;
}

export function check(
  initial: State,
  operations: readonly Operation[],
  maxVisited: number = MAX_VISITED,
): Checked {
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
  const waiting = [...operations.keys()].filter((i) => (placed & bit(i)) === 0n);
  const firstReturn = Math.min(...waiting.map((i) => operations[i]!.returned ?? Infinity));
  const before = keyOf(state);
  for (const i of waiting) {
    const operation = operations[i]!;
    if (operation.earliest > firstReturn) continue;
    for (const next of after(state, operation)) {
      // An operation without a response that would change nothing need not be ordered.
      if (operation.returned === null && keyOf(next) === before) continue;
      yield [i, next];
    }
  }
}
