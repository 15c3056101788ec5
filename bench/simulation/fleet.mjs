import {
  firstHeartbeatMs,
  firstManifestMs,
  nextHeartbeatMs,
  nextManifestMs,
  retryHeartbeatMs,
  retryForNetworkMs,
} from '../../client/src/schedule.ts';
import { get, post, TELEMETRY } from '../load/requests.mjs';
import { DueTimes } from './due-times.mjs';
import { MachineSchedule } from './machine-schedule.mjs';
import { ACTIVATION } from './expected-state.mjs';

const HOUR_MS = 3_600_000;
const TIMERS = ['license', 'manifest', 'power', 'install'];
const [LICENSE, MANIFEST, POWER, INSTALL] = TIMERS.keys();
export const VERSIONS = ['1.0.0', '1.1.0'];
/** In a power cut, each machine whose number is a multiple of this loses power. */
const POWER_CUT_EVERY = 4;

/**
 * The clients of the simulation. They use the schedule of the reference client (client/src/schedule.ts).
 * The file is long, because the state of a client is one byte in each of several arrays, which no other file should know.
 */
export class Fleet {
  #expected;
  #context;
  #due;
  #schedule;
  #token = [];
  /** Arrays with one byte for each client. */
  #states;
  /** The ETag of each manifest, by its sequence. */
  #etags = [];

  /** @param context checker, connections, pace, random; the licenses with their keys and addresses; the number of days */
  constructor(expected, context) {
    this.#expected = expected;
    this.#context = context;
    const { random, days } = context;
    const { clients } = expected;
    this.#due = new DueTimes(clients * TIMERS.length);
    this.#schedule = new MachineSchedule(clients, random);
    // `version` is an index of VERSIONS; the manifest with sequence n offers VERSIONS[n - 1]. `held` is the sequence of the
    // manifest in the client's memory, 0 for none; `highest` is the highest sequence that the client ever received.
    const names = ['isOn', 'isSending', 'isStopped', 'failures', 'version', 'held', 'highest'];
    this.#states = Object.fromEntries(names.map((name) => [name, new Uint8Array(clients)]));
    for (let client = 0; client < clients; client += 1)
      this.#set(client, LICENSE, this.#schedule.firstStart(client, days));
  }

  /** Runs the timers that are due. */
  runDueTimers() {
    for (let timer; (timer = this.#due.take(this.#context.pace.now)) >= 0;) {
      const client = Math.floor(timer / TIMERS.length);
      const kind = timer % TIMERS.length;
      if (kind === LICENSE) void this.#sendLicenseRequest(client);
      else if (kind === MANIFEST) void this.#readManifest(client);
      else if (kind === POWER) this.#switchPower(client);
      else this.#start(client);
    }
  }

  /** Number of clients that run the version that was published last. */
  get updatedCount() {
    return this.#states.version.reduce((sum, version) => sum + version, 0);
  }

  /** Switches off a part of the machines, as a power cut does. */
  cutPower() {
    this.#forEachInPowerCut((client) => this.#switchOff(client));
  }

  /** Starts the machines of the power cut, all at once. @returns the number of machines */
  restorePower() {
    return this.#forEachInPowerCut((client) => this.#start(client));
  }

  #forEachInPowerCut(act) {
    let count = 0;
    for (let client = 0; client < this.#expected.clients; client += POWER_CUT_EVERY) {
      if (this.#expected.activation[client] === ACTIVATION.none) continue;
      act(client);
      count += 1;
    }
    return count;
  }

  // A client sends one license request at a time: a request that becomes due meanwhile is not sent.
  async #sendLicenseRequest(client) {
    if (this.#states.isSending[client]) return;
    this.#states.isSending[client] = 1;
    const isActivated = this.#token[client] !== undefined;
    const outcome = isActivated ? await this.#heartbeat(client) : await this.#activate(client);
    this.#states.isSending[client] = 0;
    this.#states.failures[client] = outcome.kind === 'ok' ? 0 : this.#states.failures[client] + 1;
    if (outcome.kind === 'ok') this.#onConfirmed(client, outcome.json, isActivated);
    else if (outcome.kind === 'stop') this.#onStopped(client, outcome.code);
    else this.#retryLater(client, outcome, isActivated);
  }

  #activate(client) {
    const before = this.#context.checker.beginRequest(client);
    const body = {
      ...this.#context.licenses[this.#expected.license[client]],
      machine_id: this.#expected.machineId(client),
      app_version: VERSIONS[this.#states.version[client]],
    };
    return this.#context.connections
      .send(post('/v1/activate', body))
      .then((response) => this.#context.checker.checkActivation(client, before, response));
  }

  #heartbeat(client) {
    const before = this.#context.checker.beginRequest(client);
    const app_version = VERSIONS[this.#states.version[client]];
    const hasTelemetry = client % 2 === 0;
    const telemetry = hasTelemetry ? { ...TELEMETRY, app_version } : undefined;
    const body = { token: this.#token[client], app_version, telemetry };
    return this.#context.connections
      .send(post('/v1/heartbeat', body))
      .then((response) => this.#context.checker.checkHeartbeat(client, before, response, hasTelemetry));
  }

  #onConfirmed(client, { token, heartbeat_after_seconds }, wasActivated) {
    this.#token[client] = token;
    this.#states.isStopped[client] = 0;
    if (!wasActivated) {
      this.#states.isOn[client] = 1;
      this.#set(client, POWER, this.#schedule.nextOff(client, this.#context.pace.now));
      this.#setIn(client, MANIFEST, firstManifestMs(this.#context.random.unit()));
    }
    if (this.#states.isOn[client])
      this.#setIn(client, LICENSE, nextHeartbeatMs(heartbeat_after_seconds, this.#context.random.unit()));
  }

  // Half of the users of released machines click Activate again; a refund is final.
  #onStopped(client, code) {
    this.#states.isStopped[client] = 1;
    if (code !== 'binding_released' || !this.#context.random.chance(0.5)) return;
    this.#token[client] = undefined;
    this.#setIn(client, LICENSE, this.#context.random.between(5, 60) * 60_000);
  }

  #retryLater(client, { retry_after_seconds }, isActivated) {
    if (isActivated && !this.#states.isOn[client]) return;
    // An activation is repeated sooner, because its user is waiting.
    const retry = isActivated ? retryHeartbeatMs : retryForNetworkMs;
    this.#setIn(
      client,
      LICENSE,
      retry(this.#states.failures[client], retry_after_seconds, this.#context.random.unit()),
    );
  }

  async #readManifest(client) {
    this.#setIn(client, MANIFEST, nextManifestMs(this.#context.random.unit()));
    const held = this.#states.held[client];
    const before = {
      ...this.#context.checker.beginRequest(client),
      lowestSequence: this.#expected.lowestSequence,
    };
    const etag = this.#etags[held];
    const response = await this.#context.connections.send(
      get('/v1/manifest', etag && { 'if-none-match': etag }),
    );
    const { kind, sequence } = this.#context.checker.checkManifest(before, response, held);
    if (kind !== 'ok') return;
    if (sequence < this.#states.highest[client])
      this.#context.checker.addFinding('manifest: older than one that the client received before');
    this.#etags[sequence] ??= /\r\netag: (\S+)/i.exec(response.head)?.[1];
    this.#states.held[client] = this.#states.highest[client] = sequence;
    // The user installs a new version within eight hours.
    const isNewVersion = sequence - 1 > this.#states.version[client] && this.#states.isOn[client];
    if (isNewVersion) this.#setIn(client, INSTALL, this.#context.random.span(5 * 60_000, 8 * HOUR_MS));
  }

  #switchPower(client) {
    if (this.#states.isOn[client]) {
      this.#switchOff(client);
      this.#set(client, POWER, this.#schedule.nextOn(client, this.#context.pace.now));
    } else this.#start(client);
  }

  #switchOff(client) {
    this.#states.isOn[client] = 0;
    for (const kind of TIMERS.keys()) this.#due.clear(client * TIMERS.length + kind);
  }

  #start(client) {
    this.#states.isOn[client] = 1;
    this.#states.held[client] = 0;
    this.#states.failures[client] = 0;
    // A start installs the version that was downloaded.
    this.#states.version[client] = Math.max(this.#states.highest[client] - 1, 0);
    this.#set(client, POWER, this.#schedule.nextOff(client, this.#context.pace.now));
    this.#setIn(client, MANIFEST, firstManifestMs(this.#context.random.unit()));
    // A client that was stopped checks its license at once.
    this.#setIn(
      client,
      LICENSE,
      this.#states.isStopped[client] ? 0 : firstHeartbeatMs(this.#context.random.unit()),
    );
  }

  #setIn(client, kind, milliseconds) {
    this.#set(client, kind, this.#context.pace.now + milliseconds);
  }

  #set(client, kind, at) {
    if (at < Infinity) this.#due.set(client * TIMERS.length + kind, at);
  }
}
