import { setTimeout as wait } from 'node:timers/promises';

/**
 * The longest time that a shutdown waits for one kind of background work. Nest ends the kinds one after the other, and the instance
 * must exit within 10 seconds (docs/decisions/0016).
 */
const SHUTDOWN_WAIT_MS = 2_000;

/** Waits for background work, at most SHUTDOWN_WAIT_MS: work that needs the database ends only when the database answers. */
export async function waitAtShutdown(work: Promise<unknown>): Promise<void> {
  await Promise.race([work, wait(SHUTDOWN_WAIT_MS, undefined, { ref: false })]);
}
