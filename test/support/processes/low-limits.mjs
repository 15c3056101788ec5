// A module that is preloaded into a service. It lowers the load limits so that any computer can exceed them. The build is
// imported, because the service runs from the build.
import { LIMITS } from '../../../dist/http/limits/load-shedding.js';

LIMITS.concurrentRequests = 100;
// On a slow computer connections wait even without load, so the limit of this time is tested in test/http/pressure.test.ts.
LIMITS.waitingMs = 0;
