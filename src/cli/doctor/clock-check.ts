import { CLOCK_TOLERANCE_MS } from '../../core/clock.js';
import { CommandError } from '../terminal/output.js';
import type { Report } from './report.js';

/** From this difference on, one of the clocks is not synchronized. Up to CLOCK_TOLERANCE_MS this is only a warning. */
const CLOCK_WARNING_MS = 30_000;

/**
 * Compares the clock of the database with that of this machine. A time between request and answer counts as no difference, so that
 * a slow answer is no fault.
 * @param asked the time of this machine at the request @param time that of the database @param answered that of this machine again
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
