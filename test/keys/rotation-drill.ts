import { EventEmitter, once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { activation, call } from '../support/harness.js';

/** The pause between two heartbeats of a client, which is six hours in production. */
const HEARTBEAT_INTERVAL_MS = 100;
/** The pause before a client retries after a 503, which the service sends if this test slows it down too much. */
const RETRY_INTERVAL_MS = 200;

/** Which token a client sends: that of its last response (`renewed`), or always the same one (`fixed`). */
export type TokenUse = 'renewed' | 'fixed';

interface Answer {
  readonly status: number;
  readonly token?: string;
  readonly code?: string;
  readonly client_action?: string;
}

/** A refusal, and the key that signed the refused token, or the last token if an activation was refused. */
export interface Refusal extends Answer {
  readonly kid: string;
}

export const kidOf = (token: string): string => headerOf(token).kid;
export const activationIdOf = (token: string): string => claimsOf(token).sub;

const part = (token: string, i: number) => Buffer.from(token.split('.')[i]!, 'base64url').toString();
const headerOf = (token: string) => JSON.parse(part(token, 0)) as { kid: string };
const claimsOf = (token: string) => JSON.parse(part(token, 1)) as { sub: string };

/** A client that sends heartbeats until the simulation stops. After `reactivate` it activates again. */
class SimulatedClient {
  heartbeatCount = 0;
  /** The number of activations after `reactivate`. */
  reactivationCount = 0;
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
export class ClientSimulation {
  readonly clients: SimulatedClient[] = [];
  /** The id of the key with which each instance last signed a token, by the index of the instance. */
  readonly lastSigningKids: string[];
  confirmedHeartbeats = 0;
  readonly #answers = new EventEmitter<{ answer: [] }>().setMaxListeners(0);
  readonly #loops: Promise<void>[] = [];
  readonly #errors: unknown[] = [];
  #isStopped = false;

  constructor(readonly urls: readonly string[]) {
    this.lastSigningKids = urls.map(() => '');
  }

  get refusals(): Refusal[] {
    return this.clients.flatMap(({ refusals }) => refusals);
  }

  /** Activates a machine and starts its heartbeats. */
  async addClient(license: { license_key: string; email: string }): Promise<SimulatedClient> {
    const i = this.clients.length;
    const { status, json } = await call(this.#url(i), 'POST', '/v1/activate', activation(license));
    if (status !== 201) throw new Error(`The activation failed: ${status} ${JSON.stringify(json)}`);
    const client = new SimulatedClient(license, json.token as string);
    this.clients.push(client);
    this.#loops.push(this.#run(client, i).catch((error: unknown) => this.#fail(error)));
    return client;
  }

  /** Waits until a condition is true, which is checked after each response. @throws the error of a client that could not go on */
  async waitUntil(condition: () => boolean): Promise<void> {
    while (!condition()) {
      if (this.#errors.length > 0) throw this.#errors[0];
      await once(this.#answers, 'answer');
    }
  }

  /** Waits until each client has got the responses to this many more heartbeats. */
  async waitForHeartbeats(count: number): Promise<void> {
    const goals = this.clients.map((client) => client.heartbeatCount + count);
    await this.waitUntil(() => this.clients.every((client, i) => client.heartbeatCount >= goals[i]!));
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all(this.#loops);
    if (this.#errors.length > 0) throw this.#errors[0];
  }

  /** Ends the waits, because a client whose loop has failed sends no more heartbeats. */
  #fail(error: unknown): void {
    this.#errors.push(error);
    this.#answers.emit('answer');
  }

  #url(i: number): string {
    return this.urls[i % this.urls.length]!;
  }

  async #run(client: SimulatedClient, firstInstance: number): Promise<void> {
    for (let i = firstInstance; !this.#isStopped; i++) {
      const { token } = client;
      const answer = await this.#call(i, '/v1/heartbeat', { token, app_version: '3.2.0' });
      if (answer.status === 200) this.confirmedHeartbeats += 1;
      else client.refusals.push({ ...answer, kid: kidOf(token) });
      if (answer.status === 200 && client.tokenUse === 'renewed') client.token = answer.token!;
      if (answer.client_action === 'reactivate') await this.#activateAgain(client, i + 1);
      client.heartbeatCount += 1;
      this.#answers.emit('answer');
      await pause(HEARTBEAT_INTERVAL_MS);
    }
  }

  async #activateAgain(client: SimulatedClient, i: number): Promise<void> {
    const { license } = client;
    const answer = await this.#call(i, '/v1/activate', activation(license));
    // The status is 200, because the machine keeps its activation.
    if (answer.status !== 200) return void client.refusals.push({ ...answer, kid: client.kid });
    client.token = answer.token!;
    client.reactivationCount += 1;
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
      if (token) this.lastSigningKids[i % this.urls.length] = kidOf(token);
      if (client_action !== 'retry') return { status: answer.status, token, code, client_action };
      await pause(RETRY_INTERVAL_MS);
    }
  }
}

/** Sends the headers and half of the body of a heartbeat. `finish` sends the rest and returns the response. */
export async function sendHalfHeartbeat(base: string, token: string): Promise<{ finish(): Promise<Answer> }> {
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
