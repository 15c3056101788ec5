import { Webhook } from 'standardwebhooks';
import { rfc3339 } from '../core/clock.js';
import { packageVersion } from '../core/package-version.js';
import type { EventEndpoint } from '../core/event-endpoint.js';
import { EVENT_TIMES, type OutgoingEvent } from './outgoing-event.js';

/** Signs events as Standard Webhooks requires, and sends them to EVENTS_URL. */
export class EventSender {
  readonly #url: string;
  readonly #signers: readonly Webhook[];

  constructor({ url, secrets }: EventEndpoint) {
    this.#url = url;
    this.#signers = secrets.map((secret) => new Webhook(secret));
  }

  /**
   * Makes one attempt to deliver an event. Each 2xx acknowledges it. A redirect is not followed, and no body is read.
   * @param now the time of the attempt, which is signed @param signal ends the attempt
   * @returns null if the event was acknowledged, otherwise why not: without the URL, which may contain a secret
   */
  async send(event: OutgoingEvent, now: Date, signal: AbortSignal): Promise<string | null> {
    const body = eventBody(event);
    const timeout = AbortSignal.timeout(EVENT_TIMES.attemptMs);
    try {
      const response = await fetch(this.#url, {
        method: 'POST',
        redirect: 'manual',
        headers: {
          'content-type': 'application/json',
          'user-agent': `Mooring/${packageVersion()}`,
          'webhook-id': event.id,
          'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
          'webhook-signature': this.#signers.map((signer) => signer.sign(event.id, now, body)).join(' '),
        },
        body,
        signal: AbortSignal.any([signal, timeout]),
      });
      await response.body?.cancel();
      return response.ok ? null : `HTTP status ${response.status}`;
    } catch (error) {
      if (timeout.aborted) return 'no answer in time';
      const { code, message } = ((error as Error).cause ?? error) as Error & { code?: unknown };
      // `fetch` sends nothing to the ports of some other protocols, such as 6000, and its error has no code.
      if (message === 'bad port') return 'no answer (bad port)';
      return typeof code === 'string' ? `no answer (${code})` : 'no answer';
    }
  }
}

/** The signed bytes: the same in each attempt. */
function eventBody({ type, occurred_at, data }: OutgoingEvent): string {
  return JSON.stringify({ type, timestamp: rfc3339(occurred_at), data });
}
