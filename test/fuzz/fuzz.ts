import { jest } from '@jest/globals';
import type fc from 'fast-check';

/*
 * How much of a random test is played. `npm test` plays a short form; npm run bench:model and bench:fuzz say how much more,
 * and which. On failure fast-check tells its seed.
 */

const { MOORING_RUNS, MOORING_SEED } = process.env;
const isLong = MOORING_RUNS !== undefined;
if (isLong) jest.setTimeout(86_400_000);

/** @param short how often in `npm test` */
export function runs<T>(short: number): fc.Parameters<T> {
  return {
    numRuns: isLong ? Number(MOORING_RUNS) : short,
    // The smallest case takes its time to be found: where there is little, the seed is enough.
    endOnFailure: !isLong,
    ...(MOORING_SEED && { seed: Number(MOORING_SEED) }),
  };
}
