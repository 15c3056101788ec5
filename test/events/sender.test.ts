import { randomUUID } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { packageVersion } from '../../src/core/package-version.js';
import { EventSender } from '../../src/events/event-sender.js';
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
