import { randomBytes, randomUUID } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { packageVersion } from '../../src/core/package-version.js';
import { EventSender } from '../../src/events/event-sender.js';
import { retryDelayMs } from '../../src/events/outgoing-event.js';
import { EventReceiver } from './receiver.js';

const now = new Date('2026-11-20T13:00:00Z');
const event = {
  id: randomUUID(),
  type: 'manifest.published',
  occurred_at: now,
  data: { version: '1.2.0' },
} as const;

async function send(signal: AbortSignal): Promise<{ receiver: EventReceiver; reason: string | null }> {
  const receiver = await EventReceiver.start();
  const sender = new EventSender({ url: receiver.url, secrets: [receiver.secret] });
  return { receiver, reason: await sender.send(event, now, signal) };
}

test('an event is sent as JSON by a user agent with the version of the service', async () => {
  const { receiver, reason } = await send(new AbortController().signal);
  expect(reason).toBeNull();
  expect(receiver.received).toMatchObject([
    { headers: { 'content-type': 'application/json', 'user-agent': `Mooring/${packageVersion()}` } },
  ]);
});

test('the reason for the failure of an aborted attempt has no error code', async () => {
  const { receiver, reason } = await send(AbortSignal.abort());
  expect([reason, receiver.received]).toEqual(['no answer', []]);
});

test('the reason for the failure at a port to which `fetch` sends nothing is `bad port`', async () => {
  const secret = randomBytes(32).toString('base64');
  const sender = new EventSender({ url: 'http://127.0.0.1:10080/events', secrets: [secret] });
  expect(await sender.send(event, now, new AbortController().signal)).toBe('no answer (bad port)');
});

test('the pause is 5 seconds, tripled after each failure up to 3 hours, and at most a fifth longer or shorter', () => {
  expect([1, 2, 3, 8, 9, 30].map((attempts) => retryDelayMs(attempts, 0.5) / 1000)).toEqual([
    5, 15, 45, 10_800, 10_800, 10_800,
  ]);
  expect([0, 1].map((random) => Math.round(retryDelayMs(1, random)))).toEqual([4_000, 6_000]);
});
