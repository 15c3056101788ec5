// Preloaded into a service: its load limits are so low that any machine can exceed them.
// The build, for it is the build that runs.
import { LIMITS } from '../../../dist/http/limits/load-shedding.js';

LIMITS.concurrentRequests = 100;
// A slow machine delays the event loop without any load. Its limit has tests of its own (test/http/pressure.test.ts).
LIMITS.eventLoopDelayMs = 0;
