// Preloaded into a service: its load limits are so low that any machine can exceed them.
// Imports the build, because the service runs from the build.
import { LIMITS } from '../../../dist/http/limits/load-shedding.js';

LIMITS.concurrentRequests = 100;
// A slow machine delays the event loop without any load. The limit of that delay is tested elsewhere (test/http/pressure.test.ts).
LIMITS.eventLoopDelayMs = 0;
