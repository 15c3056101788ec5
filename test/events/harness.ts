import { afterAll, beforeAll } from '@jest/globals';
import { EVENT_TIMES } from '../../src/events/outgoing-event.js';
import { Service, type ServiceOptions } from '../support/harness.js';
import { until } from '../support/until.js';
import { EventReceiver } from './receiver.js';

/** The pause after the first failed attempt in files with `pollFast`. */
export const FIRST_PAUSE_MS = 600_000;
/** The time limit of an attempt, longer than a test: with that of production an event could arrive twice on a slow machine. */
const ATTEMPT_MS = 3_600_000;

/** A service and the receiver of its events. */
export interface Sending {
  readonly service: Service;
  readonly receiver: EventReceiver;
}

export async function startSending(options: ServiceOptions = {}): Promise<Sending> {
  const receiver = await EventReceiver.start();
  const environment = { ...receiver.settings, ...options.environment };
  return { receiver, service: await Service.start({ ...options, environment }) };
}

/**
 * Lets the instances of this file look for events every 5 ms. A failed event is repeated after `endPauses`: the first pause is
 * longer than a test, because the clock of the database measures it, which a test cannot set.
 */
export function pollFast(): void {
  const { ...times } = EVENT_TIMES;
  const fast = { pollMs: 5, failurePauseMs: 5, firstRetryMs: FIRST_PAUSE_MS, attemptMs: ATTEMPT_MS };
  beforeAll(() => void Object.assign(EVENT_TIMES, fast));
  afterAll(() => void Object.assign(EVENT_TIMES, times));
}

/** Ends the pauses of all failed events. */
export async function endPauses(service: Service): Promise<void> {
  await service.sql('update outgoing_event set next_attempt_at = now() where next_attempt_at > now()');
}

/** Waits until each event in the database was delivered or given up. */
export async function untilSent(service: Service): Promise<void> {
  const waiting = 'select from outgoing_event where delivered_at is null and given_up_at is null';
  await until(async () => (await service.sql(waiting)).length === 0);
}
