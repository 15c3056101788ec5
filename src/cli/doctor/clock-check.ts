import { CLOCK_TOLERANCE_MS } from '../../core/clock.js';
import { CommandError } from '../terminal/output.js';
import type { Report } from './report.js';

/** Clocks may differ by up to CLOCK_TOLERANCE_MS, but a difference above this shows that one of them is not synchronized. */
const CLOCK_WARNING_MS = 30_000;

/**
 * Checks that the clock of the database showed a time at which this machine waited for it, so that a slow answer is no difference.
 * @param asked the time of this machine at the request @param answered its time at the answer
 */
export function checkClock(
  { asked, time, answered }: Record<'asked' | 'time' | 'answered', Date>,
  report: Report,
): string | void {
  const differenceMs = Math.max(0, asked.getTime() - time.getTime(), time.getTime() - answered.getTime());
  const seconds = Math.round(differenceMs / 1000);
  const text = `The clocks of this machine and of the database differ by ${seconds} seconds`;
  if (differenceMs < CLOCK_WARNING_MS) return `${text}.`;
  const advice = `${text}: correct the wrong one (timedatectl).`;
  if (differenceMs > CLOCK_TOLERANCE_MS) throw new CommandError(advice);
  report.warn('clock', advice);
}
