import { createHmac, randomBytes } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import { text } from 'node:stream/consumers';
import { listen } from '../support/listen.js';
import { MAX_WAIT_MS } from '../support/until.js';

/** An event as the vendor's program receives it. */
export interface ReceivedEvent {
  readonly id: string;
  readonly type: string;
  readonly timestamp: string;
  readonly data: Readonly<Record<string, string | number>>;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** The status of the answer; null if the receiver does not answer. */
  readonly status: number | null;
}

/** What the receiver answers to an event: a status, or null for no answer. */
export type Answering = (event: Omit<ReceivedEvent, 'status'>) => number | null;

/** The program of a vendor. It receives events over a socket, and verifies each signature without the service's library. */
export class EventReceiver {
  readonly secret = `whsec_${randomBytes(32).toString('base64')}`;
  /** Every attempt, in the order of arrival. */
  readonly received: ReceivedEvent[] = [];
  /** The requests that were not a correctly signed event. */
  readonly refused: string[] = [];
  answering: Answering = () => 204;
  readonly #arrivals = new EventEmitter().setMaxListeners(0);
  readonly #server: Server;
  #port = 0;

  private constructor() {
    this.#server = createServer((request, response) => {
      const receive = (body: string) => {
        const status = this.#receive(request.method!, request.headers, body);
        if (status === null) return;
        response
          .writeHead(status, [301, 307].includes(status) ? { location: this.url } : {})
          .end('a body that is not read');
      };
      // A request whose sender was killed before its end is not an attempt.
      void text(request).then(receive, () => undefined);
    });
  }

  static async start(): Promise<EventReceiver> {
    const receiver = new EventReceiver();
    receiver.#port = await listen(receiver.#server);
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}/mooring?token=canary-url-secret`;
  }

  /** The settings of a service that sends events here. */
  get settings(): Record<string, string> {
    return { EVENTS_URL: this.url, EVENTS_SECRET: this.secret };
  }

  /** The events that were answered with 2xx, each once, in the order of their first such answer. */
  get accepted(): ReceivedEvent[] {
    const ids = new Set<string>();
    return this.received.filter(({ id, status }) => {
      const isFirst = status !== null && status < 300 && !ids.has(id);
      if (isFirst) ids.add(id);
      return isFirst;
    });
  }

  /** Waits until at least `count` matching attempts have arrived. @returns all matching attempts */
  async until(
    count: number,
    matches: (event: ReceivedEvent) => boolean = () => true,
  ): Promise<ReceivedEvent[]> {
    for (;;) {
      const found = this.received.filter(matches);
      if (found.length >= count) return found;
      await once(this.#arrivals, 'event', { signal: AbortSignal.timeout(MAX_WAIT_MS) }).catch(() => {
        throw new Error(`${found.length} of ${count} attempts have arrived that match ${String(matches)}`);
      });
    }
  }

  #receive(method: string, headers: IncomingHttpHeaders, body: string): number | null {
    const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures } = headers;
    const expected = createHmac('sha256', Buffer.from(this.secret.slice('whsec_'.length), 'base64'))
      .update(`${String(id)}.${String(timestamp)}.${body}`)
      .digest('base64');
    if (method !== 'POST' || !String(signatures).split(' ').includes(`v1,${expected}`)) {
      this.refused.push(`${method} ${body}`);
      return 401;
    }
    const event = {
      ...(JSON.parse(body) as Pick<ReceivedEvent, 'type' | 'timestamp' | 'data'>),
      id: String(id),
      headers,
      body,
    };
    const status = this.answering(event);
    this.received.push({ ...event, status });
    this.#arrivals.emit('event');
    return status;
  }
}
