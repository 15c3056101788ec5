import type { Deployment } from './deployment.ts';

/** One rule of the contract, and how to see from outside whether it holds. */
export interface Check {
  /** A sentence of the contract. */
  readonly title: string;
  /** Throws an Error with one clear sentence where the rule does not hold, NotChecked where that cannot be decided. */
  readonly run: (service: Deployment) => Promise<void>;
}

/** The checks of one place in the contract. */
export interface Group {
  readonly name: string;
  /** Where the rules stand: `contract 1, activate`. */
  readonly rule: string;
  readonly checks: readonly Check[];
}

export interface Result {
  readonly group: string;
  readonly rule: string;
  readonly title: string;
  readonly result: 'holds' | 'fails' | 'not_checked';
  /** One sentence, unless the rule holds. */
  readonly why: string | null;
}

/** Thrown where a rule cannot be judged: what it would need is not there. */
export class NotChecked extends Error {}

/** Throws the sentence where the condition does not hold. */
export function demand(holds: unknown, sentence: string): asserts holds {
  if (!holds) throw new Error(sentence);
}

/** Runs every check, one after the other: a later one may look at what an earlier one was answered. */
export async function conform(service: Deployment, groups: readonly Group[]): Promise<Result[]> {
  const results: Result[] = [];
  for (const { name, rule, checks } of groups) {
    for (const { title, run } of checks) {
      results.push({ group: name, rule, title, ...(await judge(() => run(service))) });
    }
  }
  return results;
}

async function judge(run: () => Promise<void>): Promise<Pick<Result, 'result' | 'why'>> {
  try {
    await run();
    return { result: 'holds', why: null };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { result: error instanceof NotChecked ? 'not_checked' : 'fails', why };
  }
}

/** Does a piece of work once for each service, however many checks ask for what it brings. */
export function once<T>(work: (service: Deployment) => Promise<T>): (service: Deployment) => Promise<T> {
  const known = new WeakMap<Deployment, Promise<T>>();
  return (service) => {
    const begun = known.get(service) ?? work(service);
    known.set(service, begun);
    return begun;
  };
}
