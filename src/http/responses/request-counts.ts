import { Histogram } from '../../core/histogram.js';
import { LoadCounts } from '../limits/load-shedding.js';
import { PROBLEMS, type ProblemCode } from '../problems/problem.js';

declare module 'fastify' {
  interface FastifyInstance {
    /** The counts of the requests; undefined if requests are not counted, because METRICS_PORT is not set. */
    requestCounts?: RequestCounts;
  }
}

/** Bounds of the histogram of durations. A response of the client API takes at most 2 seconds (docs/decisions/0004). */
const BOUNDS_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5];
/** The methods that are counted by name. The other methods that Node's parser accepts, about thirty, are counted together. */
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
/** The routes of the files that pages load. They are counted together, because the names of the files change with each build. */
const ASSETS = /^(.*\/assets)\/.+$/;

/**
 * Counts responses by route template, method and status, and separately the problems by code, also those of malformed HTTP, which
 * has no route. Each of these has a closed set of values, so that no caller can add time series, and no count contains data of a
 * caller.
 */
export class RequestCounts {
  readonly load = new LoadCounts();
  /** The numbers of problems, by code. */
  readonly problems = Object.fromEntries(Object.keys(PROBLEMS).map((code) => [code, 0])) as Record<
    ProblemCode,
    number
  >;
  /** Durations in seconds by route, method and status. The maps are nested, so that a request allocates no combined key. */
  readonly #seconds = new Map<string, Map<string, Map<number, Histogram>>>();

  count(route: string, method: string, status: number, seconds: number): void {
    const histogram =
      this.#seconds.get(route)?.get(method)?.get(status) ?? this.histogramOf(route, method, status);
    histogram.add(seconds);
  }

  /** Yields the durations of all requests since the start, as a histogram for each route, method and status. */
  *seconds(): Generator<{ route: string; method: string; status: number; seconds: Histogram }> {
    for (const [route, methods] of this.#seconds)
      for (const [method, statuses] of methods)
        for (const [status, seconds] of statuses) yield { route, method, status, seconds };
  }

  private histogramOf(route: string, method: string, status: number): Histogram {
    const template = route.replace(ASSETS, '$1/*');
    const countedMethod = METHODS.has(method) ? method : 'other';
    const methods = getOrCreate(this.#seconds, template, () => new Map<string, Map<number, Histogram>>());
    const statuses = getOrCreate(methods, countedMethod, () => new Map<number, Histogram>());
    return getOrCreate(statuses, status, () => new Histogram(BOUNDS_SECONDS));
  }
}

function getOrCreate<Key, Value>(map: Map<Key, Value>, key: Key, create: () => Value): Value {
  const found = map.get(key);
  if (found !== undefined) return found;
  const value = create();
  map.set(key, value);
  return value;
}
