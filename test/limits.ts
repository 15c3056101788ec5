import { REQUEST_LIMITS_MS } from '../src/database/request-timeouts.js';
import { LOOK_LIMITS } from '../src/monitoring/shared-result.js';
import { generous } from './request-limits.js';

/** The time limits of requests in production. */
export const LIMITS_OF_PRODUCTION = { ...REQUEST_LIMITS_MS };

// Jest loads this module before each test file (`setupFiles`). A slow machine causes no 503; a test that needs one uses
// `whileLocked` or `withLimitsOfProduction`. Warnings are not cached, so a test sees a change at once.
Object.assign(REQUEST_LIMITS_MS, generous(LIMITS_OF_PRODUCTION));
LOOK_LIMITS.sharedMs = 0;

/** Does something while requests have these time limits, in milliseconds. */
export async function withLimits<Result>(
  limits: Partial<typeof REQUEST_LIMITS_MS>,
  work: () => Promise<Result>,
): Promise<Result> {
  const before = { ...REQUEST_LIMITS_MS };
  Object.assign(REQUEST_LIMITS_MS, limits);
  try {
    return await work();
  } finally {
    Object.assign(REQUEST_LIMITS_MS, before);
  }
}

/** The limits of this worker process, which each test that changes them must restore. */
export const sharedLimits = (): Record<string, number> => ({ ...REQUEST_LIMITS_MS, ...LOOK_LIMITS });
