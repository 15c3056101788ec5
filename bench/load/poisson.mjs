/** Returns a function that gives random numbers from 0 to below 1, always the same ones for the same seed (mulberry32). */
export function seededRandom(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Yields the times in milliseconds of arrivals that do not depend on each other, `perSecond` on average (a Poisson process). */
export function* poissonArrivals(perSecond, random) {
  for (let at = 0; ; yield at) at -= (Math.log(1 - random()) / perSecond) * 1000;
}
