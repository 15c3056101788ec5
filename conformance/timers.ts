import { demand } from './check.ts';
import { at, shown } from './shape.ts';

const WEEK_SECONDS = 7 * 86_400;

/** Demands what the client's two timers need: `offline_until` in 7 days, a heartbeat due before. */
export function demandSevenDays(answer: unknown): void {
  const seconds = (name: string) => Date.parse(String(at(answer, name))) / 1000;
  const offline = seconds('offline_until') - seconds('server_time');
  demand(
    offline === WEEK_SECONDS,
    `offline_until is ${shown(offline)} seconds after server_time, not ${WEEK_SECONDS}.`,
  );
  const next = at(answer, 'heartbeat_after_seconds');
  demand(
    typeof next === 'number' && next < WEEK_SECONDS,
    `heartbeat_after_seconds is ${shown(next)}, which is not before offline_until.`,
  );
}
