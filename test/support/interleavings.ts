import { setImmediate as nextTurn } from 'node:timers/promises';
import type fc from 'fast-check';

/** Turns of the event loop after which every promise has settled, except promises that wait for the scheduler or for I/O. */
const SETTLING_TURNS = 3;
/** After this many passes without a scheduled task the work has failed, because one of its promises never settles. */
const MAX_IDLE_PASSES = 1_000;

async function waitUntilSettled(): Promise<void> {
  for (let turn = 0; turn < SETTLING_TURNS; turn += 1) await nextTurn();
}

/**
 * Releases the tasks of a scheduler one at a time, in its random order, until the work is over. Before each release the
 * code under test runs until it waits for the scheduler, so a seed always gives the same order.
 * @param isBlockedOnScheduler returns false while the code under test waits for real I/O: then no task is released
 * @throws Error if the work is not over and nothing is left to release
 */
export async function releaseAll<T>(
  scheduler: fc.Scheduler,
  work: Promise<T>,
  isBlockedOnScheduler: () => boolean = () => true,
): Promise<T> {
  let isOver = false;
  const end = () => void (isOver = true);
  work.then(end, end);
  let idlePasses = 0;
  for (;;) {
    await waitUntilSettled();
    if (isOver) return work;
    if (!isBlockedOnScheduler()) continue;
    if (scheduler.count() > 0) {
      idlePasses = 0;
      await scheduler.waitNext(1);
    } else if ((idlePasses += 1) > MAX_IDLE_PASSES) {
      throw new Error(`The work never ends: nothing is left to release. ${String(scheduler)}`);
    }
  }
}

/** Releases the tasks that wait for the scheduler, also those that they schedule, until none is left. */
export async function releaseQueued(scheduler: fc.Scheduler): Promise<void> {
  await waitUntilSettled();
  while (scheduler.count() > 0) {
    await scheduler.waitNext(1);
    await waitUntilSettled();
  }
}
