import {
  firstHeartbeatMs,
  firstManifestMs,
  nextHeartbeatMs,
  nextManifestMs,
  retryHeartbeatMs,
  retryLateRestartMs,
} from '../../client/src/schedule.ts';
import { get, post, TELEMETRY } from '../load/requests.mjs';
import { DueTimes } from './due-times.mjs';
import { MachineSchedule } from './machine-schedule.mjs';
import { BINDING } from './expected-state.mjs';

const HOUR = 3_600_000;
const TIMERS = ['license', 'manifest', 'power', 'install'];
const [LICENSE, MANIFEST, POWER, INSTALL] = TIMERS.keys();
export const VERSIONS = ['1.0.0', '1.1.0'];
/** One machine in so many loses its power. */
const CUT = 4;

/** Every client, as the reference client behaves: its own schedule says when each calls (client/src/schedule.ts). */
export class Fleet {
  #expected;
  #scene;
  #due;
  #days;
  #token = [];
  /** A byte of each for every client. */
  #its;
  #etags = [];

  /** @param scene judge, lines, pace, random; key and e-mail of each license; the number of days */
  constructor(expected, scene) {
    this.#expected = expected;
    this.#scene = scene;
    const { random, days } = scene;
    const { clients } = expected;
    this.#due = new DueTimes(clients * TIMERS.length);
    this.#days = new MachineSchedule(clients, random);
    // `kept` is the sequence of the manifest in memory, 0 for none; `seen` the highest one ever.
    const names = ['isOn', 'isAsking', 'isStopped', 'failures', 'version', 'kept', 'seen'];
    this.#its = Object.fromEntries(names.map((name) => [name, new Uint8Array(clients)]));
    for (let client = 0; client < clients; client += 1)
      this.#set(client, LICENSE, this.#days.opened(client, days));
  }

  /** Has everyone act whose time has come. */
  act() {
    for (let timer; (timer = this.#due.take(this.#scene.pace.now)) >= 0;) {
      const client = Math.floor(timer / TIMERS.length);
      const kind = timer % TIMERS.length;
      if (kind === LICENSE) void this.#call(client);
      else if (kind === MANIFEST) void this.#readManifest(client);
      else if (kind === POWER) this.#switch(client);
      else this.#start(client);
    }
  }

  /** How many run the version that was published last. */
  get updated() {
    return this.#its.version.reduce((sum, each) => sum + each, 0);
  }

  /** The power goes in one part of the world … */
  cutPower() {
    this.#inTheDark((client) => this.#off(client));
  }

  /** … and comes back: all its machines start together. @returns how many */
  restorePower() {
    return this.#inTheDark((client) => this.#start(client));
  }

  #inTheDark(act) {
    let count = 0;
    for (let client = 0; client < this.#expected.clients; client += CUT) {
      if (this.#expected.binding[client] === BINDING.none) continue;
      act(client);
      count += 1;
    }
    return count;
  }

  // One call at a time: a call that is due meanwhile is not made.
  async #call(client) {
    if (this.#its.isAsking[client]) return;
    this.#its.isAsking[client] = 1;
    const isActivated = this.#token[client] !== undefined;
    const end = isActivated ? await this.#heartbeat(client) : await this.#activate(client);
    this.#its.isAsking[client] = 0;
    this.#its.failures[client] = end.kind === 'ok' ? 0 : this.#its.failures[client] + 1;
    if (end.kind === 'ok') this.#confirmed(client, end.json, isActivated);
    else if (end.kind === 'stop') this.#stopped(client, end.code);
    else this.#tryLater(client, end, isActivated);
  }

  #activate(client) {
    const before = this.#scene.checker.before(client);
    const body = {
      ...this.#scene.licenses[this.#expected.license[client]],
      machine_id: this.#expected.machineId(client),
      app_version: VERSIONS[this.#its.version[client]],
    };
    return this.#scene.connections
      .ask(post('/v1/activate', body))
      .then((answer) => this.#scene.checker.activation(client, before, answer));
  }

  #heartbeat(client) {
    const before = this.#scene.checker.before(client);
    const app_version = VERSIONS[this.#its.version[client]];
    const hasTelemetry = client % 2 === 0;
    const telemetry = hasTelemetry ? { ...TELEMETRY, app_version } : undefined;
    const body = { token: this.#token[client], app_version, telemetry };
    return this.#scene.connections
      .ask(post('/v1/heartbeat', body))
      .then((answer) => this.#scene.checker.heartbeat(client, before, answer, hasTelemetry));
  }

  #confirmed(client, { token, heartbeat_after_seconds }, wasActivated) {
    this.#token[client] = token;
    this.#its.isStopped[client] = 0;
    if (!wasActivated) {
      this.#its.isOn[client] = 1;
      this.#set(client, POWER, this.#days.nextOff(client, this.#scene.pace.now));
      this.#in(client, MANIFEST, firstManifestMs(this.#scene.random.unit()));
    }
    if (this.#its.isOn[client])
      this.#in(client, LICENSE, nextHeartbeatMs(heartbeat_after_seconds, this.#scene.random.unit()));
  }

  // The user of a machine released by mistake clicks Activate; a refund is final.
  #stopped(client, code) {
    this.#its.isStopped[client] = 1;
    if (code !== 'binding_released' || !this.#scene.random.chance(0.5)) return;
    this.#token[client] = undefined;
    this.#in(client, LICENSE, this.#scene.random.between(5, 60) * 60_000);
  }

  #tryLater(client, { retry_after_seconds }, isActivated) {
    if (isActivated && !this.#its.isOn[client]) return;
    // A person who has clicked Activate waits for it.
    const retry = isActivated ? retryHeartbeatMs : retryLateRestartMs;
    this.#in(
      client,
      LICENSE,
      retry(this.#its.failures[client], retry_after_seconds, this.#scene.random.unit()),
    );
  }

  async #readManifest(client) {
    this.#in(client, MANIFEST, nextManifestMs(this.#scene.random.unit()));
    const kept = this.#its.kept[client];
    const before = { ...this.#scene.checker.before(client), least: this.#expected.sequences[0] };
    const etag = this.#etags[kept];
    const answer = await this.#scene.connections.ask(
      get('/v1/manifest', etag ? `if-none-match: ${etag}\r\n` : ''),
    );
    const { kind, sequence } = this.#scene.checker.manifest(before, answer, kept);
    if (kind !== 'ok') return;
    if (sequence < this.#its.seen[client]) this.#scene.checker.found('manifest: went back for a client');
    this.#etags[sequence] ??= /\r\netag: (\S+)/i.exec(answer.head)?.[1];
    this.#its.kept[client] = this.#its.seen[client] = sequence;
    // The user sees the offer, and installs it some time within the day.
    const isNews = sequence - 1 > this.#its.version[client] && this.#its.isOn[client];
    if (isNews) this.#in(client, INSTALL, this.#scene.random.span(5 * 60_000, 8 * HOUR));
  }

  #switch(client) {
    if (this.#its.isOn[client]) {
      this.#off(client);
      this.#set(client, POWER, this.#days.nextOn(client, this.#scene.pace.now));
    } else this.#start(client);
  }

  #off(client) {
    this.#its.isOn[client] = 0;
    for (const kind of TIMERS.keys()) this.#due.clear(client * TIMERS.length + kind);
  }

  #start(client) {
    this.#its.isOn[client] = 1;
    this.#its.kept[client] = 0;
    this.#its.failures[client] = 0;
    // What was downloaded is installed at the next start at the latest.
    this.#its.version[client] = Math.max(this.#its.seen[client] - 1, 0);
    this.#set(client, POWER, this.#days.nextOff(client, this.#scene.pace.now));
    this.#in(client, MANIFEST, firstManifestMs(this.#scene.random.unit()));
    // After a stop the start asks at once.
    this.#in(client, LICENSE, this.#its.isStopped[client] ? 0 : firstHeartbeatMs(this.#scene.random.unit()));
  }

  #in(client, kind, milliseconds) {
    this.#set(client, kind, this.#scene.pace.now + milliseconds);
  }

  #set(client, kind, at) {
    if (at < Infinity) this.#due.set(client * TIMERS.length + kind, at);
  }
}
