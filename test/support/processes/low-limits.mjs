// A module that is preloaded into a service. It lowers the load limits so that any computer can exceed them. The build is
// imported, because the service runs from the build.
import { LIMITS } from '../../../dist/http/limits/load-shedding.js';

LIMITS.concurrentRequests = 100;
// A slow computer delays the event loop even without load, so the limit of this delay is tested in test/http/pressure.test.ts.
LIMITS.eventLoopDelayMs = 0;
