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
 * The time of the event loop of this process in milliseconds. On a fast machine it equals the time of a clock. It does not
 * advance while the process does not run, so a timer of 2 seconds fires within 2 seconds of it on any machine. Tests measure
 * time limits by it that timers of this process enforce.
 */
export const loopTime = (): number => look();
