import type { Deployment } from './deployment.ts';
import { NotChecked } from './not-checked.ts';

/** A rule of the contract, and a function that checks it from outside. */
export interface Check {
  /** The rule as one sentence. The contract may word it differently. */
  readonly title: string;
  /** Throws an Error with one sentence if the rule does not hold, or NotChecked if that cannot be decided. */
  readonly run: (service: Deployment) => Promise<void>;
}

/** The checks of one section of the contract. */
export interface Group {
  readonly name: string;
  /** The document and section of the rules: `docs/contract.md#activate`. */
  readonly rule: string;
  readonly checks: readonly Check[];
}

export interface Result {
  readonly group: string;
  readonly rule: string;
  readonly title: string;
  readonly result: 'holds' | 'fails' | 'not_checked';
  /** Why the rule does not hold or was not checked; null if it holds. */
  readonly why: string | null;
}

/** Throws an error with the sentence if the condition is false. */
export function demand(holds: unknown, sentence: string): asserts holds {
  if (!holds) throw new Error(sentence);
}

/** Runs the checks one after the other, because later ones may read the answers to earlier ones. */
export async function runChecks(service: Deployment, groups: readonly Group[]): Promise<Result[]> {
  const results: Result[] = [];
  for (const { name, rule, checks } of groups) {
    for (const { title, run } of checks) {
      results.push({ group: name, rule, title, ...(await runCheck(() => run(service))) });
    }
  }
  return results;
}

async function runCheck(run: () => Promise<void>): Promise<Pick<Result, 'result' | 'why'>> {
  try {
    await run();
    return { result: 'holds', why: null };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { result: error instanceof NotChecked ? 'not_checked' : 'fails', why };
  }
}

/** Runs a function once for each service and shares its result between the checks. */
export function once<T>(work: (service: Deployment) => Promise<T>): (service: Deployment) => Promise<T> {
  const results = new WeakMap<Deployment, Promise<T>>();
  return (service) => {
    const result = results.get(service) ?? work(service);
    results.set(service, result);
    return result;
  };
}
