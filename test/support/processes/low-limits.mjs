// Preloaded into a service: it carries far less than it could, so that any machine can ask too much of it.
// The build, for it is the build that runs.
import { LIMITS } from '../../../dist/http/limits/load-shedding.js';

LIMITS.concurrentRequests = 100;
