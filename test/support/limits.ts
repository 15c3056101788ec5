import { JOBS_TIMEOUTS_MS } from '../../src/database/jobs-client.js';
import { REQUEST_TIMEOUTS_MS } from '../../src/database/request-timeouts.js';
import { EVENT_TIMES } from '../../src/events/outgoing-event.js';
import { SHARED_RESULT_LIMITS } from '../../src/monitoring/warnings/shared-result.js';
import { extendLimits } from './request-limits.js';

/** The time limits of requests in production. */
export const LIMITS_OF_PRODUCTION = { ...REQUEST_TIMEOUTS_MS };

// Jest loads this module before the test files (`setupFiles`). With these limits a slow computer causes no 503; a test of a 503
// uses `whileLocked` or `withLimitsOfProduction`. The service does not cache its warnings, so that a test sees a change at once.
Object.assign(REQUEST_TIMEOUTS_MS, extendLimits(LIMITS_OF_PRODUCTION));
SHARED_RESULT_LIMITS.sharedMs = 0;

/** Runs a function while requests have these time limits, in milliseconds. */
export async function withLimits<Result>(
  limits: Partial<typeof REQUEST_TIMEOUTS_MS>,
  work: () => Promise<Result>,
): Promise<Result> {
  const before = { ...REQUEST_TIMEOUTS_MS };
  Object.assign(REQUEST_TIMEOUTS_MS, limits);
  try {
    return await work();
  } finally {
    Object.assign(REQUEST_TIMEOUTS_MS, before);
  }
}

/** The limits of this worker process. A test that changes them must restore them. */
export const sharedLimits = (): Record<string, number> =>
  Object.fromEntries(
    Object.entries({ REQUEST_TIMEOUTS_MS, JOBS_TIMEOUTS_MS, SHARED_RESULT_LIMITS, EVENT_TIMES }).flatMap(
      ([object, limits]) => Object.entries(limits).map(([name, value]) => [`${object}.${name}`, value]),
    ),
  );
