import type { ServerResponse } from 'node:http';
import type { MisbehavingService, Received } from './misbehaving-service.js';

type Headers = Record<string, string>;

/** A request, with methods for correct and faulty answers. */
export class Exchange {
  constructor(
    readonly service: MisbehavingService,
    readonly received: Received,
    readonly response: ServerResponse,
  ) {}

  /** Sends a complete answer, whose `date` is the time of the service. */
  send(status: number, headers: Headers, body: string | Buffer): void {
    this.begin(status, headers);
    this.response.end(body);
  }

  /** Sends only the status line and headers of an answer. */
  begin(status: number, headers: Headers): void {
    this.response.sendDate = false;
    this.response.writeHead(status, { date: new Date(this.service.now()).toUTCString(), ...headers });
  }

  json(status: number, body: unknown, headers: Headers = {}): void {
    this.send(status, { 'content-type': 'application/json', ...headers }, JSON.stringify(body));
  }

  /** Sends a web page, as a captive portal or a proxy does. */
  page(status: number, headers: Headers = {}): void {
    this.send(status, { 'content-type': 'text/html', ...headers }, '<html>Sign in to the hotel</html>');
  }

  /** Sends a problem document. The action of a 4xx is recorded, because the client may follow it. */
  problem(status: number, code: string, client_action: string, members: Record<string, unknown> = {}): void {
    if (status >= 400 && status < 500) Object.assign(this.received, { action: client_action, code });
    this.send(status, { 'content-type': 'application/problem+json' }, document());
    function document(): string {
      const title = `title of ${code}`;
      return JSON.stringify({ title, status, code, detail: `detail of ${code}`, client_action, ...members });
    }
  }

  /**
   * Sends 429 or 503 with this `retry-after`.
   * @param seconds the delay that a client must read from it; undefined if the client must ignore it
   */
  busy(status: 429 | 503, retryAfter: string, seconds?: number): void {
    if (seconds !== undefined) this.received.retry_after_seconds = seconds;
    this.page(status, { 'retry-after': retryAfter });
  }

  /** Sends an answer that never ends, or no answer, and keeps the connection open. */
  stall(beginning?: string): void {
    if (beginning !== undefined) {
      this.begin(200, { 'content-type': 'application/json' });
      this.response.write(beginning);
    }
    this.service.events.emit('stalled', this.received.path);
  }

  /** Closes the connection after these bytes are sent. */
  cut(beginning?: string | Buffer): void {
    if (beginning === undefined) this.response.destroy();
    else this.response.write(beginning, () => this.response.destroy());
  }

  /** Sends bytes that are not HTTP. */
  sendBytes(bytes: string): void {
    this.response.socket!.end(bytes);
  }
}
