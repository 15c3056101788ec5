/** The buckets of the latency histograms are logarithmic: 8 for each doubling, from 0.1 ms to over a minute. */
const BUCKETS_PER_DOUBLING = 8;
const MIN_LATENCY_MS = 0.1;
const BUCKETS = 20 * BUCKETS_PER_DOUBLING;

/** The number of time intervals in the picture of the results (`picture.mjs`). */
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
  /** The number of requests, with or without a response, by route and then by code. */
  codes = new Map();
  slices;
  #latenciesByRoute = new Map();
  #span;

  /** @param span milliseconds of simulated time */
  constructor(span) {
    this.#span = span;
    this.slices = Array.from({ length: SLICES }, () => ({
      sent: 0,
      unavailable: 0,
      unanswered: 0,
      latencies: new Uint32Array(BUCKETS),
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
    if (status === 503) slice.unavailable += 1;
    if (status === 0) return void (slice.unanswered += 1);
    const doublings = Math.log2(Math.max(ms, MIN_LATENCY_MS) / MIN_LATENCY_MS);
    const bucket = Math.min(Math.round(doublings * BUCKETS_PER_DOUBLING), BUCKETS - 1);
    slice.latencies[bucket] += 1;
    if (!this.#latenciesByRoute.has(route)) this.#latenciesByRoute.set(route, new Uint32Array(BUCKETS));
    this.#latenciesByRoute.get(route)[bucket] += 1;
  }

  /** Number of requests of a route, including those without a response. */
  totalOf(route) {
    return [...(this.codes.get(route)?.values() ?? [])].reduce((sum, number) => sum + number, 0);
  }

  /** Milliseconds within which a share of the route's responses arrived; null if there are none. */
  quantile(route, share) {
    return quantile(this.#latenciesByRoute.get(route) ?? new Uint32Array(BUCKETS), share);
  }

  #slice(now) {
    return this.slices[Math.min(Math.floor(now / this.sliceMs), SLICES - 1)];
  }
}

/** The quantile of a histogram of response times, in milliseconds; null if the histogram is empty. */
export function quantile(latencies, share) {
  const total = latencies.reduce((sum, count) => sum + count, 0);
  if (total === 0) return null;
  let bucket = 0;
  let count = latencies[0];
  while (count < share * total) {
    bucket += 1;
    count += latencies[bucket];
  }
  return MIN_LATENCY_MS * 2 ** (bucket / BUCKETS_PER_DOUBLING);
}
