import { sign } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ClientAction } from '../../client/src/client.js';
import { Exchange } from './exchange.js';
import type { Fault } from './faults.js';
import { freePort } from '../support/processes/server-process.js';
import { machineDigest } from '../../client/src/license-token.js';
import { at, DAY, MACHINE_ID } from './harness.js';
import { makeKey, manifest } from './publisher.js';

export const PATHS = ['/v1/activate', '/v1/heartbeat', '/v1/manifest'] as const;
export type Path = (typeof PATHS)[number];

/** A request as it was received, and its response. */
export interface Received {
  path: Path;
  method: string;
  /** The path with its query. */
  url: string;
  headers: IncomingMessage['headers'];
  raw: string;
  body: Record<string, unknown> | undefined;
  /** Whether the response was a complete, valid confirmation. */
  isConfirmed?: boolean;
  /** The client_action of a problem, if a client may follow it. */
  action?: ClientAction;
  /** The code of that problem. */
  code?: string;
  /** The delay that a client must read from the `retry-after` of the response; undefined if there is none or it must be ignored. */
  retry_after_seconds?: number;
}

export interface Stop {
  code: string;
  detail: string;
}

/** A simulated service over real sockets, which answers correctly until a fault is switched on. It records every request. */
export class MisbehavingService {
  readonly received: Received[] = [];
  /** `received`: a request arrived; `stalled`: its response does not continue. */
  readonly events = new EventEmitter<{ received: [Received]; stalled: [Path] }>();
  readonly key = makeKey();
  readonly tokenKey = makeKey();
  faults: Partial<Record<Path, Fault>> = {};
  /** Milliseconds by which the clock of the service is ahead of the true time. */
  clockErrorMs = 0;
  /** The interval that its confirmations contain. */
  heartbeat_after_seconds: unknown = 21_600;
  /** The stop that the license has; undefined while it is valid. */
  stop: Stop | undefined;
  /** The true time of its last confirmation; NaN before the first. */
  confirmedAt = Number.NaN;
  port = 0;
  published: object = {};
  sequence = 0;
  readonly #tokens = new Set<unknown>();
  readonly #machines = new Set<unknown>();
  readonly #server: Server;
  readonly #trueTime: () => number;
  #issued = 0;

  private constructor(trueTime: () => number) {
    this.#trueTime = trueTime;
    this.#server = createServer((request, response) => void this.#receive(request, response));
    this.publish({ version: '3.1.0' });
  }

  /** Listens on a free port of the loopback address. @param trueTime returns milliseconds since 1970 */
  static async start(trueTime: () => number): Promise<MisbehavingService> {
    const service = new MisbehavingService(trueTime);
    // No other test of this run gets this port while `refuse` has closed it.
    await service.#listen(await freePort());
    return service;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  now(): number {
    return this.#trueTime() + this.clockErrorMs;
  }

  /** Switches a fault on for these paths, and all others off. */
  misbehave(fault: Fault, paths: readonly Path[] = PATHS): void {
    this.faults = Object.fromEntries(paths.map((path) => [path, fault]));
  }

  /** Ends all faults. */
  async behave(): Promise<void> {
    this.faults = {};
    this.clockErrorMs = 0;
    this.heartbeat_after_seconds = 21_600;
    if (!this.#server.listening) await this.#listen(this.port);
  }

  /** Closes the port: each connection is refused until `behave` is called. */
  async refuse(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  /** Makes all tokens unknown, as after a lost key or a restored backup. Activations are kept. */
  forgetTokens(): void {
    this.#tokens.clear();
  }

  /** Publishes a manifest that is valid for 90 days from now, signed with its key. */
  publish(changes: Parameters<typeof manifest>[0]): void {
    const expires_at = at(this.#trueTime() + 90 * DAY);
    this.published = manifest({ sequence: ++this.sequence, expires_at, ...changes }, [this.key]);
  }

  /** Makes a correct confirmation with a new token, and with times of the service's clock. */
  confirmation(changes: Record<string, unknown> = {}): Record<string, unknown> {
    const token = this.#signToken();
    this.#tokens.add(token);
    return {
      token,
      offline_until: at(this.now() + 7 * DAY),
      heartbeat_after_seconds: this.heartbeat_after_seconds,
      server_time: at(this.now()),
      license: { status: 'active', expires_at: null },
      ...changes,
    };
  }

  /** Signs a token for MACHINE_ID, as the service does. */
  #signToken(): string {
    const iat = Math.floor(this.now() / 1000);
    const claims = { sub: ++this.#issued, mch: machineDigest(MACHINE_ID), iat, exp: iat + (7 * DAY) / 1000 };
    const header = { alg: 'Ed25519', kid: this.tokenKey.key_id, typ: 'license+jwt' };
    const [head, payload] = [header, claims].map((part) =>
      Buffer.from(JSON.stringify(part)).toString('base64url'),
    );
    const input = `${head}.${payload}`;
    return `${input}.${sign(null, Buffer.from(input), this.tokenKey.privateKey).toString('base64url')}`;
  }

  /** Sends the correct answer. */
  answer(exchange: Exchange): void {
    const { path, body, headers } = exchange.received;
    if (path === '/v1/manifest') return this.#sendManifest(exchange, headers['if-none-match']);
    if (this.stop) return exchange.problem(403, this.stop.code, 'stop', { detail: this.stop.detail });
    if (path === '/v1/heartbeat' && !this.#tokens.has(body?.['token']))
      return exchange.problem(403, 'token_invalid', 'reactivate');
    const status = path === '/v1/activate' && !this.#machines.has(body?.['machine_id']) ? 201 : 200;
    if (path === '/v1/activate') this.#machines.add(body?.['machine_id']);
    const telemetry = body?.['telemetry'] ? { telemetry: { stored: true, dropped: [] } } : {};
    this.confirmedAt = this.#trueTime();
    exchange.received.isConfirmed = true;
    exchange.json(status, this.confirmation(telemetry));
  }

  /** The number of activated machines. */
  get activations(): number {
    return this.#machines.size;
  }

  #sendManifest(exchange: Exchange, known: string | undefined): void {
    const etag = `"m${this.sequence}"`;
    if (known === etag) exchange.send(304, { etag }, '');
    else exchange.json(200, this.published, { etag });
  }

  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = request.url ?? '';
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const raw = Buffer.concat(chunks).toString();
    const body = raw ? (JSON.parse(raw) as Record<string, unknown>) : undefined;
    const path = url.split('?', 1)[0] as Path;
    const received: Received = { path, method: request.method!, url, headers: request.headers, raw, body };
    this.received.push(received);
    this.events.emit('received', received);
    const exchange = new Exchange(this, received, response);
    (this.faults[path] ?? ((correct) => this.answer(correct)))(exchange);
  }

  async #listen(port: number): Promise<void> {
    this.#server.listen(port, '127.0.0.1');
    await once(this.#server, 'listening');
    this.port = (this.#server.address() as AddressInfo).port;
  }
}
