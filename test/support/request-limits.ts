/** How much longer a request may take on the slowest machine that runs the tests. */
const SLOWER = 60;

/** The time limits of requests for tests that are not about them: a slow machine causes no refusal. */
export function generous<Limits extends Record<string, number>>(limits: Limits): Limits {
  return Object.fromEntries(Object.entries(limits).map(([name, limit]) => [name, limit * SLOWER])) as Limits;
}
