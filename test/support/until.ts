import { setTimeout as pause } from 'node:timers/promises';

/**
 * The longest wait for an event: no computer is so slow. It is shorter than the timeout of a test (`jest.config.js`), whose error
 * would not say what was waited for.
 */
export const MAX_WAIT_MS = 300_000;

/** Waits until a condition holds. After five minutes it throws an error with the source text of the condition. */
export async function until(condition: () => Promise<boolean>): Promise<void> {
  for (const startedAt = performance.now(); !(await condition()); await pause(5))
    if (performance.now() - startedAt > MAX_WAIT_MS) throw new Error(`still not true: ${String(condition)}`);
}
