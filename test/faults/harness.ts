import { hash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type pg from 'pg';
import { activation, call, retryWhileUnavailable, type Answer } from '../support/harness.js';
import { attemptCall, Load, type Timed } from '../support/databases/outage-harness.js';
import { query } from '../support/databases/replica-harness.js';
import { startWithSample, type SampleLicense } from '../support/databases/sample-license.js';
import {
  freePort,
  ServerProcess,
  startUntilReady,
  type ProcessOptions,
} from '../support/processes/server-process.js';
import { temporaryFolder } from '../support/folders.js';
import { afterThisFile } from '../support/of-this-file.js';

const ownTime = fileURLToPath(new URL('../support/processes/own-time.mjs', import.meta.url));
const STAFF_TOKEN = 'mst_a-token-of-the-fault-tests';
const staffHeaders = { authorization: `Bearer ${STAFF_TOKEN}` };
/** The number of licenses for whose machine limits too many machines compete. */
const CONTESTED_LICENSES = 40;
const MACHINES_ALLOWED = 2;
/** The number of machines that compete for the limit of a contested license. */
const COMPETING_MACHINES = 4;

/** The pause before each call of the load that needs no database, in addition to that of every call. */
const OTHER_CALLS_PAUSE_MS = 50;

/** The calls of the load that need the database. */
export const NEEDS_DATABASE = ['activate', 'contend', 'heartbeat', 'telemetry', 'search'];

/** Whether a call that needs the database succeeded, including the storage of its telemetry. */
export const isServedByDatabase = ({ name, status, json }: Timed): boolean =>
  NEEDS_DATABASE.includes(name) && status < 300 && status > 0 && json.telemetry?.stored !== false;
/** Whether a call got 503. */
export const isUnavailable = ({ status }: Timed): boolean => status === 503;
/** The share of these calls that were served. On a slow computer some are not, although there is no fault. */
export const shareOfServed = (answers: readonly Timed[]): number =>
  answers.filter(isServedByDatabase).length / answers.length;
/** Whether a call activated a machine, or confirmed its activation. */
export const isActivated = ({ json, status }: Timed): boolean =>
  (status === 200 || status === 201) && json.activation !== undefined;

/** The request of a caller, which is recorded with the response. */
export interface RecordedCall {
  readonly uptime_hours?: number;
  /** The machine that competes for the limit of a license. */
  readonly machine?: string;
  /** When the request was sent, as a time of `performance.now()`. */
  readonly sentAt: number;
}
export type RecordedAnswer = Timed & {
  readonly request: RecordedCall;
  /** The time until the response, measured by the event loop of the service (`own-time.mjs`); NaN without a response. */
  readonly serviceMs: number;
};

/** The duration of the recovery, and that of the same calls without a fault. */
export interface Recovery {
  readonly durationMs: number;
  readonly withoutFaultMs: number;
}

/** Whether the service ran for less than half of the duration of a call, because the computer is too slow for the load. */
const isComputerOverloaded = ({ serviceMs, milliseconds }: RecordedAnswer): boolean =>
  !(serviceMs > milliseconds / 2);

/** Reads how long a service took for a response, measured by its event loop. The service must have loaded `own-time.mjs`. */
export const readServiceMs = ({ headers }: Pick<Answer, 'headers'>): number =>
  Number(headers['x-own-milliseconds'] ?? NaN);

/** The parameters of `call` after the base URL. */
type CallParameters = [method: string, path: string, body?: unknown, headers?: Record<string, string>];

export interface FaultedOptions extends ProcessOptions {
  readonly environment?: Record<string, string>;
}

/** A service in its own process, the load of the fault tests, and access to its database. */
export class FaultedService {
  readonly #directory = temporaryFolder();
  #license!: SampleLicense;
  #contestedLicenses: SampleLicense[] = [];
  #counter = 0;
  readonly #loads: Load<RecordedAnswer>[] = [];
  token!: string;

  private constructor(
    readonly url: string,
    readonly databaseUrl: string,
    private readonly options: FaultedOptions,
  ) {}

  process!: ServerProcess;

  static async start(databaseUrl: string, options: FaultedOptions = {}): Promise<FaultedService> {
    const faulted = new FaultedService(`http://127.0.0.1:${await freePort()}`, databaseUrl, options);
    afterThisFile(() => faulted.end());
    faulted.#license = await startWithSample(databaseUrl, async () => {
      await faulted.startProcess();
      return faulted.process;
    });
    await faulted.#prepare();
    return faulted;
  }

  /** Starts the process. @param additionalSettings the settings of this start only */
  async startProcess(additionalSettings: Record<string, string> = {}): Promise<void> {
    const { environment, ...options } = this.options;
    const settings = {
      PORT: new URL(this.url).port,
      DATA_DIR: this.#directory,
      DATABASE_URL: this.databaseUrl,
    };
    const nodeArguments = ['--import', ownTime, ...(options.nodeArguments ?? [])];
    const start = () =>
      (this.process = new ServerProcess(
        { ...settings, ...environment, ...additionalSettings },
        { hasProductionLimits: true, ...options, nodeArguments },
      ));
    await startUntilReady(start);
  }

  async #prepare(): Promise<void> {
    const staff = '0198f3c2-7b1a-7c3d-9e4f-a1b2c3d4e5f6';
    await this.sql('update license set machines_allowed = 100000');
    await this.sql(`insert into staff values ('${staff}', 'grace@example.com', 'admin', now())`);
    // The token is valid also while a clock is wrong.
    await this.sql(
      `insert into staff_token
       values ('${staff}', '${staff}', $1, now() - interval '10 years', now() + interval '10 years')`,
      [hash('sha256', STAFF_TOKEN, 'buffer')],
    );
    while (this.#contestedLicenses.length < CONTESTED_LICENSES)
      this.#contestedLicenses.push(await this.issue({ machines_allowed: MACHINES_ALLOWED }));
    this.token = (await retryWhileUnavailable(() => this.activate())).json.token as string;
  }

  call(...request: CallParameters): Promise<Answer> {
    return call(this.url, ...request);
  }

  /** Issues a license, as staff do. */
  async issue(wanted: Record<string, unknown>): Promise<{ license_key: string; email: string }> {
    const { email } = this.#license;
    const body = { email, ...wanted };
    const { json } = await retryWhileUnavailable(() =>
      this.call('POST', '/support/api/licenses', body, staffHeaders),
    );
    return { license_key: json.license_key as string, email };
  }

  sql<Row extends pg.QueryResultRow>(text: string, values: unknown[] = []): Promise<Row[]> {
    return query<Row>(this.databaseUrl, text, values);
  }

  // A broken connection is recorded with the status 0; `expectGuarantees` decides whether that is allowed.
  async #call(recorded: Partial<RecordedCall>, name: string, ...request: CallParameters) {
    const sentAt = performance.now();
    const answer = await attemptCall(name, this.url, ...request);
    return { ...answer, request: { ...recorded, sentAt }, serviceMs: readServiceMs(answer) };
  }

  activate = (): Promise<RecordedAnswer> => {
    const machine = `machine ${(this.#counter += 1)}`;
    const body = activation(this.#license, machine, { hostname_hint: 'a hint' });
    return this.#call({}, 'activate', 'POST', '/v1/activate', body);
  };
  /** Machines compete for the limit of one license. Each time the counter has advanced by 50, the next license is used. */
  contend = (): Promise<RecordedAnswer> => {
    const turn = (this.#counter += 1);
    const license = this.#contestedLicenses[Math.floor(turn / 50) % CONTESTED_LICENSES]!;
    const machine = `${license.license_key} machine ${turn % COMPETING_MACHINES}`;
    return this.#call({ machine }, 'contend', 'POST', '/v1/activate', activation(license, machine));
  };
  heartbeat = (): Promise<RecordedAnswer> => this.#heartbeat('heartbeat');
  /** Sends telemetry that differs from that of every other call. */
  telemetry = (): Promise<RecordedAnswer> => {
    const uptime_hours = (this.#counter += 1);
    return this.#heartbeat('telemetry', uptime_hours);
  };
  #heartbeat(name: string, uptime_hours?: number): Promise<RecordedAnswer> {
    const telemetry = uptime_hours === undefined ? {} : { telemetry: { uptime_hours } };
    const body = { token: this.token, app_version: '1.0.0', ...telemetry };
    return this.#call({ uptime_hours }, name, 'POST', '/v1/heartbeat', body);
  }
  search = (): Promise<RecordedAnswer> => {
    const path = '/support/api/licenses/search';
    return this.#call({}, 'search', 'POST', path, { transaction_id: 'none' }, staffHeaders);
  };
  manifest = (): Promise<RecordedAnswer> => this.#call({}, 'manifest', 'GET', '/v1/manifest');
  live = (): Promise<RecordedAnswer> => this.#call({}, 'live', 'GET', '/health/live');
  ready = (): Promise<RecordedAnswer> => this.#call({}, 'ready', 'GET', '/health/ready');

  /** Starts a load with three callers of each kind that writes, two of each kind that reads the database, and one of each other. */
  startLoad(): Load<RecordedAnswer> {
    const { activate, contend, heartbeat, telemetry, search } = this;
    const kinds = [activate, contend, heartbeat, telemetry, search];
    // These calls succeed without the database. Without a longer pause, most calls during an outage would be of these kinds.
    const others = [this.manifest, this.live, this.ready].map((send) => async () => {
      await pause(OTHER_CALLS_PAUSE_MS);
      return send();
    });
    const load = new Load([...kinds, ...kinds, activate, contend, telemetry, ...others]);
    this.#loads.push(load);
    return load;
  }

  /** Waits until the service has recovered by itself. Then the same calls are measured once more, as a control. */
  async measureRecovery(load: Load<RecordedAnswer>): Promise<Recovery> {
    const durationMs = await this.#waitUntilServed(load);
    return { durationMs, withoutFaultMs: await this.#waitUntilServed(load) };
  }

  /**
   * Waits until three calls of each kind that needs the database are served, and then until a readiness probe has no warning about
   * the database or the clocks. @returns the milliseconds
   */
  async #waitUntilServed(load: Load<RecordedAnswer>): Promise<number> {
    const began = performance.now();
    for (const name of NEEDS_DATABASE)
      await load.waitFor(3, (answer) => answer.name === name && isServedByDatabase(answer));
    await load.waitFor(
      1,
      ({ name, json }) => name === 'ready' && !/database|clocks/.test(json.warnings?.join()),
    );
    return performance.now() - began;
  }

  /**
   * Waits until at most two of 20 consecutive calls of a kind were not served. If the computer is too slow, the load is reduced.
   */
  async waitUntilMostlyServed(load: Load<RecordedAnswer>, kind: string): Promise<void> {
    for (;;) {
      const from = load.answers.length;
      await load.waitFor(20, ({ name }) => name === kind);
      const unserved = load.answers
        .slice(from)
        .filter((answer) => answer.name === kind && !isServedByDatabase(answer));
      if (unserved.length <= 2) return;
      if (unserved.some(isComputerOverloaded)) load.pauseMs *= 2;
    }
  }

  /** Releases the machines of the contested licenses, so that machines compete for the limits again. */
  async releaseContestedMachines(): Promise<void> {
    await this.sql(
      `update activation set ended_at = now(), ended_reason = 'released'
       where ended_at is null and license_id in (select id from license where machines_allowed = $1)`,
      [MACHINES_ALLOWED],
    );
  }

  /** Ends the loads of a test. That of a failed test still runs, and would never end. */
  async stopLoads(): Promise<void> {
    // A test may have stopped the process.
    this.process.child.kill('SIGCONT');
    await Promise.allSettled(this.#loads.splice(0).map((load) => load.stop()));
  }

  async end(): Promise<void> {
    await this.stopLoads();
    await this.process.end('SIGKILL');
  }
}
