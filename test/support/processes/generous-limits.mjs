// Preloaded into a service: its time limits are so long that the slowest machine causes no 503.
// Imports the build, because the service runs from the build.
import { REQUEST_TIMEOUTS_MS } from '../../../dist/database/request-timeouts.js';
import { LIMITS } from '../../../dist/http/limits/load-shedding.js';
import { generous } from '../request-limits.ts';

Object.assign(REQUEST_TIMEOUTS_MS, generous(REQUEST_TIMEOUTS_MS));
LIMITS.eventLoopDelayMs = 0;
