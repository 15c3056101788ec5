// A module that is preloaded into a service. It extends the time limits so that even a slow computer causes no 503. The build is
// imported, because the service runs from the build.
import { extendLimits } from '../request-limits.ts';
import { ofBuild } from './build.mjs';

const { REQUEST_TIMEOUTS_MS } = await import(ofBuild('database/request-timeouts.js'));
const { LIMITS } = await import(ofBuild('http/limits/load-limits.js'));

Object.assign(REQUEST_TIMEOUTS_MS, extendLimits(REQUEST_TIMEOUTS_MS));
// With 0 no request is refused because of its waiting time. The limit of concurrent requests remains.
LIMITS.waitingMs = 0;
