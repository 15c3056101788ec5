import { demand } from './check.ts';
import { at, formatValue } from './shape.ts';

export const WEEK_SECONDS = 7 * 86_400;

/** Demands that `offline_until` is 7 days after `server_time`, and that the next heartbeat is due before `offline_until`. */
export function demandSevenDays(answer: unknown): void {
  const seconds = (name: string) => Date.parse(String(at(answer, name))) / 1000;
  const offlineSeconds = seconds('offline_until') - seconds('server_time');
  demand(
    offlineSeconds === WEEK_SECONDS,
    `offline_until is ${formatValue(offlineSeconds)} seconds after server_time, not ${WEEK_SECONDS}.`,
  );
  const interval = at(answer, 'heartbeat_after_seconds');
  demand(
    typeof interval === 'number' && interval < WEEK_SECONDS,
    `heartbeat_after_seconds is ${formatValue(interval)}, which is not before offline_until.`,
  );
}
