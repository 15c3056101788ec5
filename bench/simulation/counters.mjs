/** Latencies are counted in steps of an eighth of a doubling, from a tenth of a millisecond to over a minute. */
const STEPS_A_DOUBLING = 8;
const SHORTEST_MS = 0.1;
const STEPS = 20 * STEPS_A_DOUBLING;

/** Number of slices of time in the picture. */
const SLICES = 288;

/** Counts requests and responses: by route and code in total, and by slice of simulated time. */
export class Counters {
  /** Requests answered with 503 while the database was available. */
  shed = 0;
  /** Responses that arrived after the client's timeout. */
  late = 0;
  /** Telemetry that a response reported as not stored, and the part of it outside of an outage of the database. */
  notStored = 0;
  notStoredOutsideOutage = 0;
  /** The number of responses, by route and then by code. */
  codes = new Map();
  slices;
  #routes = new Map();
  #span;

  /** @param span milliseconds of simulated time */
  constructor(span) {
    this.#span = span;
    this.slices = Array.from({ length: SLICES }, () => ({
      sent: 0,
      refused: 0,
      unanswered: 0,
      times: new Uint32Array(STEPS),
    }));
  }

  get sliceMs() {
    return this.#span / SLICES;
  }

  countRequest(now) {
    this.#slice(now).sent += 1;
  }

  countResponse({ route, code, now, ms, status }) {
    if (!this.codes.has(route)) this.codes.set(route, new Map());
    const codes = this.codes.get(route);
    codes.set(code, (codes.get(code) ?? 0) + 1);
    const slice = this.#slice(now);
    if (status === 503) slice.refused += 1;
    if (status === 0) return void (slice.unanswered += 1);
    const exactStep = Math.round(Math.log2(Math.max(ms, SHORTEST_MS) / SHORTEST_MS) * STEPS_A_DOUBLING);
    const step = Math.min(exactStep, STEPS - 1);
    slice.times[step] += 1;
    if (!this.#routes.has(route)) this.#routes.set(route, new Uint32Array(STEPS));
    this.#routes.get(route)[step] += 1;
  }

  /** Number of requests of a route, including those without a response. */
  totalOf(route) {
    return [...(this.codes.get(route)?.values() ?? [])].reduce((sum, number) => sum + number, 0);
  }

  /** Milliseconds within which a share of the route's responses arrived; null if there are none. */
  quantile(route, share) {
    return quantile(this.#routes.get(route) ?? new Uint32Array(STEPS), share);
  }

  #slice(now) {
    return this.slices[Math.min(Math.floor(now / this.sliceMs), SLICES - 1)];
  }
}

/** The quantile of a histogram of response times, in milliseconds; null if the histogram is empty. */
export function quantile(times, share) {
  const total = times.reduce((sum, number) => sum + number, 0);
  if (total === 0) return null;
  let left = share * total;
  const step = times.findIndex((number) => (left -= number) <= 0);
  return SHORTEST_MS * 2 ** (step / STEPS_A_DOUBLING);
}
