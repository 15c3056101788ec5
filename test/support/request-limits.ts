/** The factor by which a request may take longer on the slowest machine that runs the tests. */
const SLOWER = 60;

/** Time limits of requests that even a slow machine does not exceed, for tests that are not about them. */
export function generous<Limits extends Record<string, number>>(limits: Limits): Limits {
  return Object.fromEntries(Object.entries(limits).map(([name, limit]) => [name, limit * SLOWER])) as Limits;
}
