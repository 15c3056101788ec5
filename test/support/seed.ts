import { randomInt } from 'node:crypto';

/** Returns a seed for the random tests of a file, and prints it. MOORING_SEED=… repeats a run. */
export function printedSeed(): number {
  const seed = Number(process.env['MOORING_SEED'] ?? randomInt(2 ** 31));
  console.info(`MOORING_SEED=${seed}`);
  return seed;
}
