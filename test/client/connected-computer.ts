import { readFile, writeFile } from 'node:fs/promises';
import type { ClientOptions, Status } from '../../client/src/client.js';
import type { State } from '../../client/src/state.js';
import { machineId, type Service } from '../support/harness.js';
import { temporaryFolder } from '../support/folders.js';
import { Computer, type RecordedCall } from './harness.js';

export interface LicenseToEnter {
  license_key: string;
  email: string;
}

/** A call to the real service, and its answer. */
export interface AnsweredCall extends RecordedCall {
  status: number;
  json: Record<string, unknown>;
}

/**
 * A computer whose client calls a real service. Before each call, the clock of the service is set to that of the
 * computer, without its `skew`.
 */
export class ConnectedComputer extends Computer {
  readonly answeredCalls: AnsweredCall[] = [];
  /** The hardware id from which the machine id is derived; null if it cannot be read. */
  hardware: string | null;
  isOnline = true;
  readonly #remote: Service;
  readonly #options: Partial<ClientOptions>;

  private constructor(folder: string, remote: Service, hardware: string, options: Partial<ClientOptions>) {
    super(folder);
    this.#remote = remote;
    this.hardware = hardware;
    this.#options = options;
    this.time.wall = remote.clock.now().getTime();
  }

  static async create(
    remote: Service,
    hardware: string,
    options: Partial<ClientOptions> = {},
  ): Promise<ConnectedComputer> {
    return new ConnectedComputer(temporaryFolder(), remote, hardware, options);
  }

  /** Makes another computer with the same wall clock and a copy of the state file. */
  async copyTo(hardware: string): Promise<ConnectedComputer> {
    const copy = await ConnectedComputer.create(this.#remote, hardware, this.#options);
    copy.time.wall = this.time.wall;
    await writeFile(copy.stateFile, await readFile(this.stateFile));
    return copy;
  }

  override open(options: Partial<ClientOptions> = {}): Promise<Status> {
    return super.open({
      baseUrl: this.#remote.url,
      fetch: this.#fetch,
      machineId: async () => {
        if (this.hardware === null) throw new Error('no hardware UUID can be read');
        return machineId(this.hardware);
      },
      ...this.#options,
      ...options,
    });
  }

  async activate(license: LicenseToEnter): Promise<Status> {
    await this.open();
    return this.client.activate(license.license_key, license.email, 'Studio Mac');
  }

  async state(): Promise<State & { license: NonNullable<State['license']> }> {
    return JSON.parse(await readFile(this.stateFile, 'utf8')) as Awaited<
      ReturnType<ConnectedComputer['state']>
    >;
  }

  /** The user edits the file, while the application is closed. */
  async edit(change: (state: Awaited<ReturnType<ConnectedComputer['state']>>) => void): Promise<void> {
    const state = await this.state();
    change(state);
    await writeFile(this.stateFile, JSON.stringify(state));
  }

  /** The calls about the license so far, as `path status`. */
  get calls(): string[] {
    return this.answeredCalls.map(({ path, status }) => `${path} ${status}`);
  }

  get sentTokens(): unknown[] {
    return this.answeredCalls
      .filter(({ path }) => path === '/v1/heartbeat')
      .map(({ body }) => body?.['token']);
  }

  #fetch = async (url: string, init: RequestInit): Promise<Response> => {
    if (!this.isOnline) throw new TypeError('fetch failed');
    this.#remote.clock.set(new Date(this.time.wall - this.skew));
    const response = await fetch(url, init);
    const path = new URL(url).pathname;
    if (path === '/v1/manifest') return response;
    const body = JSON.parse(String(init.body)) as Record<string, unknown>;
    const json = (await response.clone().json()) as Record<string, unknown>;
    const headers = init.headers as Record<string, string>;
    const { status } = response;
    this.answeredCalls.push({
      path,
      method: init.method!,
      body,
      headers,
      when: this.time.monotonic,
      status,
      json,
    });
    return response;
  };
}
