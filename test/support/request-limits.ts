/** The factor by which a request may take longer on the slowest computer that runs the tests. */
const MAX_SLOWDOWN = 60;

/** Extends time limits of requests so that even a slow computer does not exceed them, for tests that are not about them. */
export function extendLimits<Limits extends Record<string, number>>(limits: Limits): Limits {
  return Object.fromEntries(
    Object.entries(limits).map(([name, limit]) => [name, limit * MAX_SLOWDOWN]),
  ) as Limits;
}
