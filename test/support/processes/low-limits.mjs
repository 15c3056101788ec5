// A module that is preloaded into a service. It lowers the limit of concurrent requests so that any computer can exceed it. The
// build is imported, because the service runs from the build.
import { ofBuild } from './build.mjs';

const { LIMITS } = await import(ofBuild('http/limits/load-limits.js'));

LIMITS.concurrentRequests = 100;
// 0 disables this limit, because on a slow computer connections wait even without load. test/http/pressure.test.ts tests it.
LIMITS.waitingMs = 0;
