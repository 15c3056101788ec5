import { jest } from '@jest/globals';
import type fc from 'fast-check';

/*
 * The number of runs of a random test. `npm test` has few; the commands of bench/random/ set more in MOORING_RUNS. On failure
 * fast-check prints its seed.
 */

const { MOORING_RUNS, MOORING_SEED } = process.env;
const isLong = MOORING_RUNS !== undefined;
// A long run may take up to a day.
if (isLong) jest.setTimeout(86_400_000);

/** Returns the parameters of a random test for fast-check. @param short the number of runs in `npm test` */
export function runs<T>(short: number): fc.Parameters<T> {
  return {
    numRuns: isLong ? Number(MOORING_RUNS) : short,
    // In `npm test` there is no time to search for the smallest failing case; the seed is enough.
    endOnFailure: !isLong,
    ...(MOORING_SEED && { seed: Number(MOORING_SEED) }),
  };
}
