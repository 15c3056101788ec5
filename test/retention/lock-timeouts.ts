import { expect, jest } from '@jest/globals';
import pg from 'pg';

/** The statements with which a run sets its lock timeouts: 5 seconds, and 200 ms for each of 20 attempts. */
const LOCK_TIMEOUT = /(?<=lock_timeout = )('5s'|200\b)/;

/**
 * Runs a function that runs the retention, with another lock timeout: a short one, so that no test waits for long, or 0 for none,
 * so that on a slow machine too the run waits until the test releases the lock.
 */
export async function withLockTimeouts<Result>(
  milliseconds: number,
  work: () => Promise<Result>,
): Promise<Result> {
  const { query } = pg.Client.prototype;
  let changed = 0;
  const spy = jest.spyOn(pg.Client.prototype, 'query').mockImplementation(function (
    this: pg.Client,
    ...[text, ...more]: unknown[]
  ) {
    if (typeof text !== 'string' || !LOCK_TIMEOUT.test(text))
      return Reflect.apply(query, this, [text, ...more]) as void;
    changed += 1;
    return Reflect.apply(query, this, [text.replace(LOCK_TIMEOUT, String(milliseconds)), ...more]) as void;
  });
  const result = await work().finally(() => spy.mockRestore());
  expect(changed).toBeGreaterThan(0);
  return result;
}
