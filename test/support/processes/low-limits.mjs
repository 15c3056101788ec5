// Preloaded into a service: its load limits are so low that any machine can exceed them.
// The build, for it is the build that runs.
import { LIMITS } from '../../../dist/http/limits/load-shedding.js';

LIMITS.concurrentRequests = 100;
