import { Histogram } from '../../core/histogram.js';
import { LoadCounts } from '../limits/load-shedding.js';
import { PROBLEMS, type ProblemCode } from '../problems/problem.js';

declare module 'fastify' {
  interface FastifyInstance {
    /** Undefined where nothing counts it. */
    traffic?: RequestCounts;
  }
}

/** In seconds; a client waits for 2 at most while the database is away (docs/contract.md#no-false-stop). */
const BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5];
/** Node's parser knows some thirty more; none of them has a route. */
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
/** Files of the pages, whose names change with each build. */
const ASSETS = /^(.*\/assets)\/.+$/;

/**
 * What is counted of the requests: by route template, method, status and problem code, each from a closed set, so that
 * no caller can add to what is kept, and nothing kept can name a caller.
 */
export class RequestCounts {
  readonly load = new LoadCounts();
  readonly refusals = Object.fromEntries(Object.keys(PROBLEMS).map((code) => [code, 0])) as Record<
    ProblemCode,
    number
  >;
  /** Seconds by route, method and status. Found by one step each, so that a request makes nothing new. */
  readonly #seconds = new Map<string, Map<string, Map<number, Histogram>>>();

  /** Counts an answer that was given. */
  answered(route: string, method: string, status: number, seconds: number): void {
    const counted = this.#seconds.get(route)?.get(method)?.get(status) ?? this.begin(route, method, status);
    counted.add(seconds);
  }

  /** Everything counted so far. */
  *seconds(): Generator<{ route: string; method: string; status: number; seconds: Histogram }> {
    for (const [route, methods] of this.#seconds)
      for (const [method, statuses] of methods)
        for (const [status, seconds] of statuses) yield { route, method, status, seconds };
  }

  private begin(route: string, method: string, status: number): Histogram {
    const template = route.replace(ASSETS, '$1/*');
    const known = METHODS.has(method) ? method : 'other';
    const methods = entry(this.#seconds, template, () => new Map<string, Map<number, Histogram>>());
    const statuses = entry(methods, known, () => new Map<number, Histogram>());
    return entry(statuses, status, () => new Histogram(BOUNDS));
  }
}

function entry<Key, Value>(map: Map<Key, Value>, key: Key, make: () => Value): Value {
  const found = map.get(key);
  if (found !== undefined) return found;
  const made = make();
  map.set(key, made);
  return made;
}
