// This module is preloaded into a service, which then repeats failed events without the pauses of production. It imports the
// build, because the service runs from the build.
import { ofBuild } from '../support/processes/build.mjs';

const { EVENT_TIMES } = await import(ofBuild('events/outgoing-event.js'));

Object.assign(EVENT_TIMES, { pollMs: 20, failurePauseMs: 10, firstRetryMs: 2, longestRetryMs: 50 });
