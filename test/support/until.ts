import { setTimeout as pause } from 'node:timers/promises';

/** Shorter than the timeout of the test (`jest.config.js`), whose error would not name the condition. */
const LIMIT_MS = 300_000;

/** Waits until a condition holds. After five minutes it throws an error with the source text of the condition. */
export async function until(condition: () => Promise<boolean>): Promise<void> {
  for (const startedAt = performance.now(); !(await condition()); await pause(5))
    if (performance.now() - startedAt > LIMIT_MS) throw new Error(`still not true: ${String(condition)}`);
}
