import { afterEach, expect, test } from '@jest/globals';
import { DataSource } from 'typeorm';
import { resendEvents } from '../../src/events/event-selection.js';
import { EVENT_TIMES } from '../../src/events/outgoing-event.js';
import { AUDIT_CONTEXT } from '../support/harness.js';
import { until } from '../support/until.js';
import { startSending, untilSent, type Sending } from './harness.js';

/** Longer than the time limit of a test, so a test that waits for this pause fails. */
const ENDLESS_MS = 3_600_000;
const { ...times } = EVENT_TIMES;
let sending: Sending;

async function startWith(pauses: { pollMs: number; failurePauseMs: number }): Promise<void> {
  // A slow machine could exceed the time limit of an attempt.
  Object.assign(EVENT_TIMES, { ...pauses, attemptMs: ENDLESS_MS });
  sending = await startSending();
}

/** The time of the last statement on the instance's connection for events; null before its first one. */
async function lastStatementTime(): Promise<string | null> {
  const [row] = await sending.service.sql<{ at: string | null }>(
    `select max(state_change)::text as at from pg_stat_activity
     where datname = current_database() and application_name = 'mooring (jobs)'`,
  );
  return row!.at;
}

// The service is closed while its pause is endless: a shutdown ends the pause.
afterEach(async () => {
  await sending.service.close();
  Object.assign(EVENT_TIMES, times);
});

test('an instance without waiting events looks for new events after pollMs, not after failurePauseMs', async () => {
  await startWith({ pollMs: 5, failurePauseMs: ENDLESS_MS });
  for (let count = 1; count <= 3; count += 1) {
    await sending.service.issue();
    await sending.receiver.until(count);
  }
});

test('an instance without events sends no statement to the database during its pause', async () => {
  await startWith({ pollMs: ENDLESS_MS, failurePauseMs: ENDLESS_MS });
  // A loop without a pause would change the state of its connection between any two of these samples.
  await until(async () => {
    const first = await lastStatementTime();
    for (let sample = 0; sample < 50; sample += 1) if ((await lastStatementTime()) !== first) return false;
    return first !== null;
  });
});

test('after a round with a delivery the next round follows at once', async () => {
  await startWith({ pollMs: 5, failurePauseMs: 5 });
  const { service, receiver } = sending;
  // An instance does not send this many events in one round.
  const count = 40;
  for (let issued = 0; issued < count; issued += 1) await service.issue();
  await untilSent(service);
  // The first attempt of the next round makes all pauses endless.
  receiver.answering = () => {
    Object.assign(EVENT_TIMES, { pollMs: ENDLESS_MS, failurePauseMs: ENDLESS_MS });
    return 204;
  };
  const resent = await resendEvents(service.app.get(DataSource), {}, AUDIT_CONTEXT, service.clock.now());
  expect(resent).toBe(count);
  await receiver.until(2 * count);
});

test('after a round without a delivery the next round follows after failurePauseMs, not after pollMs', async () => {
  await startWith({ pollMs: 5, failurePauseMs: 5 });
  const { service, receiver } = sending;
  receiver.answering = () => {
    // With firstRetryMs 0 the event is due again in each round.
    Object.assign(EVENT_TIMES, { pollMs: ENDLESS_MS, firstRetryMs: 0 });
    return 500;
  };
  await service.issue();
  await receiver.until(3);
});

test('an instance that was shut down looks for no more events', async () => {
  await startWith({ pollMs: 5, failurePauseMs: 5 });
  await until(async () => (await lastStatementTime()) !== null);
  await sending.service.app.close();
  // A loop that went on would use a connection forever.
  await until(async () => (await lastStatementTime()) === null);
});
