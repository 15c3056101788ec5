import { readFileSync } from 'node:fs';

/** Reads a file of test/vectors. */
export const readVectors = <T>(file: string): T =>
  JSON.parse(readFileSync(new URL(`../vectors/${file}`, import.meta.url), 'utf8')) as T;
