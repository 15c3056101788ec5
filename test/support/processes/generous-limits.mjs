// A module that is preloaded into a service. It extends the time limits so that even a slow computer causes no 503. The build is
// imported, because the service runs from the build.
import { REQUEST_TIMEOUTS_MS } from '../../../dist/database/request-timeouts.js';
import { LIMITS } from '../../../dist/http/limits/load-shedding.js';
import { extendLimits } from '../request-limits.ts';

Object.assign(REQUEST_TIMEOUTS_MS, extendLimits(REQUEST_TIMEOUTS_MS));
LIMITS.waitingMs = 0;
