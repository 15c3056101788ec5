import { EventEmitter, once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { activation, call } from '../support/harness.js';

/** The pause between two heartbeats of a client, which is six hours in production. */
const HEARTBEAT_INTERVAL_MS = 20;
/** The pause before a client retries after a 503, which an overloaded machine may answer. */
const RETRY_INTERVAL_MS = 200;

/** Which token a client sends: that of its last response, or always the same one. */
export type TokenUse = 'renewed' | 'fixed';

interface Answer {
  readonly status: number;
  readonly token?: string;
  readonly code?: string;
  readonly client_action?: string;
}

/** A refusal, and the key that signed the refused token. */
export interface Refusal extends Answer {
  readonly kid: string;
}

export const kidOf = (token: string): string => headerOf(token).kid;
export const activationOf = (token: string): string => claimsOf(token).sub;

const part = (token: string, i: number) => Buffer.from(token.split('.')[i]!, 'base64url').toString();
const headerOf = (token: string) => JSON.parse(part(token, 0)) as { kid: string };
const claimsOf = (token: string) => JSON.parse(part(token, 1)) as { sub: string };

/** A client that sends heartbeats until the fleet stops. On `reactivate` it activates again. */
export class FleetClient {
  beats = 0;
  activations = 0;
  readonly refusals: Refusal[] = [];

  constructor(
    readonly license: { license_key: string; email: string },
    public token: string,
    public tokenUse: TokenUse = 'renewed',
  ) {}

  get kid(): string {
    return kidOf(this.token);
  }
}

/** Clients whose heartbeats alternate between the instances of a service. */
export class Fleet {
  readonly clients: FleetClient[] = [];
  /** The key with which each instance last signed, by instance. */
  readonly signs: string[];
  /** The numbers of confirmed heartbeats and of responses that asked to retry. */
  confirmed = 0;
  retried = 0;
  readonly #answers = new EventEmitter<{ answer: [] }>().setMaxListeners(0);
  readonly #loops: Promise<void>[] = [];
  #stopped = false;

  constructor(readonly urls: readonly string[]) {
    this.signs = urls.map(() => '');
  }

  get refusals(): Refusal[] {
    return this.clients.flatMap(({ refusals }) => refusals);
  }

  /** Activates a machine and starts its heartbeats. */
  async join(license: { license_key: string; email: string }): Promise<FleetClient> {
    const i = this.clients.length;
    const { status, json } = await call(this.#url(i), 'POST', '/v1/activate', activation(license));
    if (status !== 201) throw new Error(`no activation: ${status} ${JSON.stringify(json)}`);
    const client = new FleetClient(license, json.token as string);
    this.clients.push(client);
    this.#loops.push(this.#run(client, i));
    return client;
  }

  /** Waits until a condition holds; checks it after each response. */
  async until(holds: () => boolean): Promise<void> {
    while (!holds()) await once(this.#answers, 'answer');
  }

  /** Waits until each client has sent this many more heartbeats. */
  async untilMore(beats: number): Promise<void> {
    const goals = this.clients.map((client) => client.beats + beats);
    await this.until(() => this.clients.every((client, i) => client.beats >= goals[i]!));
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#loops);
  }

  #url(i: number): string {
    return this.urls[i % this.urls.length]!;
  }

  async #run(client: FleetClient, first: number): Promise<void> {
    for (let i = first; !this.#stopped; i++) {
      const { token } = client;
      const answer = await this.#call(i, '/v1/heartbeat', { token, app_version: '3.2.0' });
      if (answer.status === 200) this.confirmed += 1;
      else client.refusals.push({ ...answer, kid: kidOf(token) });
      if (answer.status === 200 && client.tokenUse === 'renewed') client.token = answer.token!;
      if (answer.client_action === 'reactivate') await this.#activateAgain(client, i + 1);
      client.beats += 1;
      this.#answers.emit('answer');
      await pause(HEARTBEAT_INTERVAL_MS);
    }
  }

  async #activateAgain(client: FleetClient, i: number): Promise<void> {
    const { license } = client;
    const answer = await this.#call(i, '/v1/activate', activation(license));
    // 200, because the machine keeps its activation.
    if (answer.status !== 200) return void client.refusals.push({ ...answer, kid: client.kid });
    client.token = answer.token!;
    client.activations += 1;
  }

  async #call(i: number, path: string, body: object): Promise<Answer> {
    const headers = { 'content-type': 'application/json' };
    for (;;) {
      const answer = await fetch(this.#url(i) + path, {
        method: 'POST',
        headers,
        body: JSON.stringify(body),
      });
      const { token, code, client_action } = (await answer.json()) as Answer;
      if (token) this.signs[i % this.urls.length] = kidOf(token);
      if (client_action !== 'retry') return { status: answer.status, token, code, client_action };
      this.retried += 1;
      await pause(RETRY_INTERVAL_MS);
    }
  }
}

/** Sends the headers and half of the body of a heartbeat. `finish` sends the rest. */
export async function halfHeartbeat(base: string, token: string): Promise<{ finish(): Promise<Answer> }> {
  const { hostname, port } = new URL(base);
  const body = JSON.stringify({ token, app_version: '3.2.0' });
  const half = body.length >> 1;
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  const ended = once(socket, 'end');
  const head = `host: ${hostname}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\nconnection: close`;
  await new Promise((sent) =>
    socket.write(`POST /v1/heartbeat HTTP/1.1\r\n${head}\r\n\r\n${body.slice(0, half)}`, sent),
  );
  return {
    async finish() {
      socket.write(body.slice(half));
      await ended;
      const [top, answer] = Buffer.concat(chunks).toString().split('\r\n\r\n') as [string, string];
      return { ...(JSON.parse(answer) as Answer), status: Number(top.split(' ')[1]) };
    },
  };
}
