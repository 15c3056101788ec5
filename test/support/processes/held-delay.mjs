// A module that is preloaded into a service. Its waits of TEST_HELD_DELAY milliseconds, and no others, end when it gets a message.
// So a test decides when a delay is over, and a slow machine does not exceed it.
import { syncBuiltinESMExports } from 'node:module';
import timers from 'node:timers/promises';

const wait = timers.setTimeout;
timers.setTimeout = (milliseconds, ...more) =>
  milliseconds === Number(process.env.TEST_HELD_DELAY)
    ? new Promise((resolve) => process.once('message', resolve))
    : wait(milliseconds, ...more);
syncBuiltinESMExports();
process.channel?.unref();
