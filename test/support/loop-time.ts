/** The longest time that is counted between two samples, however long the computer delayed the event loop. */
const MAX_SAMPLE_MS = 10;
const SAMPLE_INTERVAL_MS = 5;

let [countedMs, lastSampleAt] = [0, performance.now()];

function sample(): number {
  const now = performance.now();
  countedMs += Math.min(now - lastSampleAt, MAX_SAMPLE_MS);
  lastSampleAt = now;
  return countedMs;
}

setInterval(sample, SAMPLE_INTERVAL_MS).unref();

/**
 * The time of the event loop of this process in milliseconds. On a fast computer it equals the time of a clock. It hardly
 * advances while the process does not run, so a timer of 2 seconds fires within 2 seconds of this time on any computer. Tests
 * use it for time limits that timers of this process enforce.
 */
export const loopTime = (): number => sample();
