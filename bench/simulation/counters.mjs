/** Latencies in steps of an eighth of a doubling, from a tenth of a millisecond to over a minute. */
const STEPS_A_DOUBLING = 8;
const SHORTEST_MS = 0.1;
const STEPS = 20 * STEPS_A_DOUBLING;

/** How many slices of time the picture has. */
export const SLICES = 288;

/** Counts what was asked and answered: by route and code over all, and in slices of simulated time. */
export class Counters {
  /** Requests refused while everything was available. */
  shed = 0;
  /** Answers that came when the client had given up. */
  late = 0;
  /** Telemetry that an answer reported as not stored, and of that what no outage explains. */
  notStored = 0;
  notStoredOtherwise = 0;
  /** route → code → how many */
  codes = new Map();
  slices;
  #routes = new Map();
  #span;

  /** @param span milliseconds of simulated time */
  constructor(span) {
    this.#span = span;
    this.slices = Array.from({ length: SLICES }, () => ({
      asked: 0,
      later: 0,
      broken: 0,
      times: new Uint32Array(STEPS),
    }));
  }

  get sliceMs() {
    return this.#span / SLICES;
  }

  asked(now) {
    this.#slice(now).asked += 1;
  }

  answered({ route, code, now, ms, status }) {
    if (!this.codes.has(route)) this.codes.set(route, new Map());
    const codes = this.codes.get(route);
    codes.set(code, (codes.get(code) ?? 0) + 1);
    const slice = this.#slice(now);
    if (status === 503) slice.later += 1;
    if (status === 0) return void (slice.broken += 1);
    const step = Math.round(Math.log2(Math.max(ms, SHORTEST_MS) / SHORTEST_MS) * STEPS_A_DOUBLING);
    const place = Math.min(step, STEPS - 1);
    slice.times[place] += 1;
    if (!this.#routes.has(route)) this.#routes.set(route, new Uint32Array(STEPS));
    this.#routes.get(route)[place] += 1;
  }

  /** How many answers a route gave, those that broke among them. */
  of(route) {
    return [...(this.codes.get(route)?.values() ?? [])].reduce((sum, each) => sum + each, 0);
  }

  /** Milliseconds within which so large a share of the route's answers came; null where there are none. */
  quantile(route, share) {
    return quantile(this.#routes.get(route) ?? new Uint32Array(STEPS), share);
  }

  #slice(now) {
    return this.slices[Math.min(Math.floor(now / this.sliceMs), SLICES - 1)];
  }
}

/** The same of a histogram of a slice. */
export function quantile(times, share) {
  const total = times.reduce((sum, each) => sum + each, 0);
  if (total === 0) return null;
  let left = share * total;
  const place = times.findIndex((each) => (left -= each) <= 0);
  return SHORTEST_MS * 2 ** (place / STEPS_A_DOUBLING);
}
