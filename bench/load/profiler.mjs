// Profiles a service from inside its process: node --import ./bench/load/profiler.mjs dist/main.js. On the message `profile` a CPU
// profile begins, on `profile-end` it ends and is sent.
import { Session } from 'node:inspector/promises';

const SAMPLE_INTERVAL_US = 200;
const session = new Session();
session.connect();

process.on('message', async (message) => {
  if (message === 'profile') {
    await session.post('Profiler.enable');
    await session.post('Profiler.setSamplingInterval', { interval: SAMPLE_INTERVAL_US });
    await session.post('Profiler.start');
    process.send('profiling');
  }
  if (message === 'profile-end') process.send((await session.post('Profiler.stop')).profile);
});
