import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { MooringClient, type ClientOptions, type Status, type UpdateCheck } from '../../client/src/client.js';
import { machineId } from '../support/harness.js';
import { activationIdOf, kidOf } from './rotation-drill.js';
import { afterThisFile } from '../support/of-this-file.js';

interface ActivationResponse {
  activation: { id: string };
  license: { machines_in_use: number };
}

/** A computer with the reference client, whose calls alternate between the instances, as behind a load balancer. */
export class Computer {
  readonly states: Status[] = [];
  readonly log: string[] = [];
  /** The responses to activations, in order. */
  readonly activationResponses: { status: number; id?: string; machines_in_use?: number }[] = [];
  readonly #stateFile: string;
  readonly #client: MooringClient;
  #heartbeats: Promise<void> | undefined;
  #calls = 0;
  #hasEndedHeartbeats = false;

  constructor(
    readonly license: { license_key: string; email: string },
    readonly urls: readonly string[],
    stateFile: string,
    options: Partial<ClientOptions> = {},
  ) {
    afterThisFile(() => this.close());
    this.#stateFile = stateFile;
    this.#client = new MooringClient({
      baseUrl: urls[0]!,
      app: 'EXAMPLE',
      product: 'com.example.app',
      appVersion: '3.1.0',
      trustedKeys: [],
      stateFile,
      environment: {},
      machineId: async () => machineId(stateFile),
      telemetry: () => ({ os_version: 'macOS 26.1' }),
      log: (line) => this.log.push(line),
      onStateChange: (status) => this.states.push(status),
      fetch: (url, init) => this.#fetch(url, init),
      ...options,
    });
  }

  get #token(): string {
    return (JSON.parse(readFileSync(this.#stateFile, 'utf8')) as { license: { token: string } }).license
      .token;
  }

  get kid(): string {
    return kidOf(this.#token);
  }

  get activationId(): string {
    return activationIdOf(this.#token);
  }

  /** Activates with the license that a user types, by default with the license of the computer. */
  async activate({ license_key, email } = this.license): Promise<void> {
    await this.#client.start();
    await this.#client.activate(license_key, email, 'Studio Mac');
  }

  checkForUpdate(): Promise<UpdateCheck> {
    return this.#client.checkForUpdate();
  }

  /** Starts to send heartbeats, one after the other. */
  startHeartbeats(): void {
    this.#hasEndedHeartbeats = false;
    this.#heartbeats = (async () => {
      while (!this.#hasEndedHeartbeats) {
        await this.#client.heartbeatNow();
        await pause(20);
      }
    })();
  }

  get hasEndedHeartbeats(): boolean {
    return this.#hasEndedHeartbeats;
  }

  async stopHeartbeats(): Promise<void> {
    this.#hasEndedHeartbeats = true;
    await this.#heartbeats;
  }

  async close(): Promise<void> {
    await this.stopHeartbeats();
    await this.#client.close();
  }

  async #fetch(url: string, init: RequestInit): Promise<Response> {
    const { pathname } = new URL(url);
    const answer = await fetch(this.urls[this.#calls++ % this.urls.length]! + pathname, init);
    if (pathname === '/v1/activate') {
      const { activation, license } = (await answer.clone().json()) as Partial<ActivationResponse>;
      const { status } = answer;
      this.activationResponses.push({
        status,
        id: activation?.id,
        machines_in_use: license?.machines_in_use,
      });
    }
    return answer;
  }
}
