// A module that is preloaded into a service, so that it repeats failed events without the pauses of production. The build is
// imported, because the service runs from the build.
import { EVENT_TIMES } from '../../dist/events/outgoing-event.js';

Object.assign(EVENT_TIMES, { pollMs: 20, failurePauseMs: 10, firstRetryMs: 2, longestRetryMs: 50 });
