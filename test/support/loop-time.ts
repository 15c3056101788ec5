/** The longest time that one turn of the event loop counts for, however long the machine delayed it. */
const TURN_AT_MOST_MS = 10;
const LOOK_MS = 5;

let [passed, last] = [0, performance.now()];

function look(): number {
  const now = performance.now();
  passed += Math.min(now - last, TURN_AT_MOST_MS);
  last = now;
  return passed;
}

setInterval(look, LOOK_MS).unref();

/**
 * The time of this process's own event loop, in milliseconds: on a quick machine that of a clock. While the process does not
 * run it does not pass, so that a timer of 2 seconds is over within 2 seconds of it on any machine. What is promised in
 * seconds, and kept by timers of this process, is measured by it.
 */
export const loopTime = (): number => look();
