import type fc from 'fast-check';
import { MooringClient, type Status } from '../../client/src/client.js';
import { emptyState, type State } from '../../client/src/state.js';
import type { StateStorage } from '../../client/src/state-file.js';
import { CALL_TIMEOUT_MS } from '../../client/src/transport.js';
import { at, DAY, EMAIL, FakeTime, json, KEY, MACHINE_ID, problem } from './harness.js';
import { makeKey, manifest } from './publisher.js';

/**
 * The results of a call: a confirmation; a problem that the client must follow as this `client_action`; `full`: the machine limit
 * is reached, whose action is `stop` too; `page`: a web page of an intermediary; `cut`: no answer.
 */
export const ANSWERS = ['confirm', 'stop', 'full', 'retry', 'fix', 'reactivate', 'page', 'cut'] as const;
export type AnswerKind = (typeof ANSWERS)[number];
/** The sequence of the published manifest; 0 if it cannot be read. */
export type ManifestSequence = number;

export interface Faults {
  /** The results of the calls, in their order; the list repeats. */
  readonly answers: AnswerKind[];
  readonly manifests: ManifestSequence[];
  /** Whether a read or a write of the state fails, in their order; the lists repeat. */
  readonly reads: boolean[];
  readonly writes: boolean[];
}

export const NO_FAULTS: Faults = { answers: ['confirm'], manifests: [1], reads: [false], writes: [false] };

const SIGNER = makeKey();
const MANIFESTS = Array.from({ length: 6 }, (_, sequence) =>
  manifest({ sequence, version: `4.${sequence}.0`, expires_at: '2030-01-01T00:00:00Z' }, [SIGNER]),
);

/** One process of the application, until it ends or is killed. */
export class Run {
  readonly client: MooringClient;
  readonly inFlight = new Map<string, number>();
  /** Whether a background call was answered with a stop that the application must obey, and has not obeyed yet. */
  wasStopped = false;
  /** Whether a call was confirmed since the application last began to run. */
  wasConfirmed = false;
  /** Whether any call of this process was confirmed. */
  wasEverConfirmed = false;
  hasFailedWrites = false;
  /** Clicks on Activate whose call has not begun. */
  clicks = 0;
  /** The labels of the activations that were sent for a click. Each click has its own label. */
  readonly sentLabels = new Set<string>();
  /** The labels of the activations that the client may repeat, because the machine limit refused them. */
  readonly waitingLabels = new Set<string>();
  /**
   * The labels of the activations that must not be repeated: the user clicked again, or closed the window, after they were sent.
   */
  unrepeatableLabels = new Set<string>();
  /** Whether the state could not be read, so that it may contain data unknown to this run. */
  hadUnreadState = false;
  /** After `closed` the process must do nothing more; a `killed` process has ended, and its later actions are ignored. */
  end: 'closing' | 'closed' | 'killed' | undefined;
  kill!: () => void;
  /** Resolves when the process is killed. The calls of a killed process never return. */
  readonly killed = new Promise<void>((resolve) => {
    this.kill = () => {
      this.end = 'killed';
      resolve();
    };
  });
  highestOfferedSequence = 0;
  #status: Status | undefined;
  #nextActivationIsBackground = false;

  constructor(private readonly computer: ScheduledComputer) {
    const { time } = computer;
    this.client = new MooringClient({
      baseUrl: 'https://license.example',
      app: 'EXAMPLE',
      product: 'com.example.app',
      appVersion: '3.1.0',
      trustedKeys: [SIGNER.x],
      stateFile: 'unused',
      storage: this.#storage(),
      environment: {},
      telemetry: () => ({ arch: 'arm64' }),
      clock: time.clock,
      timers: {
        set: (work, milliseconds) => (this.end === 'killed' ? null : time.timers.set(work, milliseconds)),
        clear: time.timers.clear,
      },
      fetch: this.#fetch,
      random: () => 0.5,
      machineId: () => this.#pause('machine id').then(() => MACHINE_ID),
      log: () => {},
      onStateChange: (status) => this.observe(status),
      onUpdateCheck: (check) => {
        if (!check.available) return;
        // The version is `4.<sequence>.0`.
        const sequence = Number(check.offer.version.split('.')[1]);
        if (sequence < this.highestOfferedSequence)
          computer.violations.push(`offered the sequence ${sequence} after ${this.highestOfferedSequence}`);
        this.highestOfferedSequence = sequence;
      },
    });
  }

  /** Waits for the scheduler. In a process that is killed meanwhile, the promise never resolves. */
  async #pause(label: string): Promise<void> {
    await this.computer.pause(label);
    if (this.end === 'killed') await new Promise(() => {});
  }

  #checkNotEnded(what: string): void {
    if (this.end === 'closed') this.computer.violations.push(`${what} after the end`);
  }

  /** Checks a change of the status against the guarantees of the client. */
  observe(status: Status): void {
    const before = this.#status?.kind;
    const { kind } = status;
    this.#status = status;
    if (this.end === 'killed') return;
    this.#checkNotEnded(kind);
    if (before === undefined || before === kind) return;
    const isAllowed =
      (kind === 'running' && (this.wasConfirmed || this.hadUnreadState)) ||
      (kind === 'stopped' && (this.wasStopped || (before === 'not_activated' && this.hadUnreadState))) ||
      (kind === 'needs_network' && before === 'not_activated' && this.hadUnreadState);
    if (!isAllowed) this.computer.violations.push(`${before} became ${kind}`);
    // The event that allowed this change does not allow another one.
    this.wasConfirmed &&= kind !== 'running';
    this.wasStopped &&= kind !== 'stopped';
  }

  get status(): Status | undefined {
    return this.#status;
  }

  #fetch = async (url: string, { signal, body }: RequestInit): Promise<Response> => {
    const { computer } = this;
    const path = new URL(url).pathname;
    const kind = path === '/v1/manifest' ? 'manifest' : 'license';
    this.#checkNotEnded(path);
    const isBackground = path === '/v1/heartbeat' || this.#nextActivationIsBackground;
    if (kind === 'license') this.#nextActivationIsBackground = false;
    const label = isBackground ? undefined : labelOf(body);
    if (label !== undefined) this.#checkAskedFor(label);
    this.inFlight.set(kind, (this.inFlight.get(kind) ?? 0) + 1);
    if (this.inFlight.get(kind)! > 1) computer.violations.push(`two calls of ${kind} at once`);
    let isOver = false;
    const end = () => {
      if (!isOver) this.inFlight.set(kind, this.inFlight.get(kind)! - 1);
      isOver = true;
    };
    signal!.addEventListener('abort', end);
    const answer = kind === 'manifest' ? 'manifest' : computer.nextAnswer(path);
    const response = kind === 'manifest' ? computer.manifest() : computer.answer(answer);
    await this.#pause(`${path} ${answer}`);
    // An answer after the end of the call is too late: the client must ignore it.
    if (!isOver) this.#recordAnswer(answer, path, isBackground);
    if (!isOver && label !== undefined) this.#rememberWaiting(answer, label);
    end();
    if (!response) throw new TypeError('fetch failed');
    return response;
  };

  /** Checks that an activation is sent for a click, and that it is repeated only after the machine limit refused it. */
  #checkAskedFor(label: string): void {
    const isRepeated = this.sentLabels.has(label);
    if (!isRepeated) {
      this.clicks -= 1;
      this.endWaiting();
    }
    const isWaiting = this.waitingLabels.has(label) && !this.unrepeatableLabels.has(label);
    const isAskedFor = isRepeated ? isWaiting : this.clicks >= 0;
    if (!isAskedFor) this.computer.violations.push('an activation that was not asked for');
    this.sentLabels.add(label);
  }

  endWaiting(): void {
    this.unrepeatableLabels = new Set(this.sentLabels);
  }

  #rememberWaiting(answer: AnswerKind | 'manifest', label: string): void {
    if (answer === 'full') this.waitingLabels.add(label);
    if (answer === 'confirm' || answer === 'stop' || answer === 'fix') this.waitingLabels.delete(label);
  }

  #recordAnswer(answer: AnswerKind | 'manifest', path: string, isBackground: boolean): void {
    if (answer === 'confirm') this.wasConfirmed = this.wasEverConfirmed = true;
    const { status } = this;
    // An activation that the machine limit refuses stops the application only after the end of the old token.
    const isTolerated =
      answer === 'full' &&
      path === '/v1/activate' &&
      status?.kind === 'running' &&
      Date.parse(status.offline_until) >= this.computer.time.wall;
    if (isBackground && (answer === 'stop' || answer === 'full') && !isTolerated) this.wasStopped = true;
    if (answer === 'manifest') return;
    // After a stop `reactivate` is followed only if a refused activation caused the stop (`mayReactivate` of the client). Of the
    // refusals here, that is the machine limit.
    const isFollowed = status?.kind !== 'stopped' || status.reason === 'machine_limit_reached';
    this.#nextActivationIsBackground = answer === 'reactivate' && isBackground && isFollowed;
  }

  #storage(): StateStorage {
    const { computer } = this;
    let isWriting = false;
    return {
      read: async () => {
        const isUnreadable = computer.nextReadFails();
        // The read returns the state that is stored when it begins: a write may end before it does.
        const stored = computer.disk;
        await this.#pause(isUnreadable ? 'read fails' : 'read');
        if (isUnreadable) this.hadUnreadState = true;
        return isUnreadable ? undefined : structuredClone(stored);
      },
      write: async (state) => {
        const written = structuredClone(state);
        if (isWriting) computer.violations.push('two writes at once');
        this.#checkNotEnded('a write');
        isWriting = true;
        const isFailing = computer.nextWriteFails();
        await this.#pause(isFailing ? 'write fails' : 'write');
        isWriting = false;
        this.hasFailedWrites ||= isFailing;
        if (isFailing) throw new Error('the disk is full');
        computer.write(written, this);
      },
    };
  }
}

/** The label in the body of an activation; undefined in other requests. */
function labelOf(body: RequestInit['body']): string | undefined {
  return typeof body === 'string'
    ? (JSON.parse(body) as { hostname_hint?: string }).hostname_hint
    : undefined;
}

/** A computer whose network, disk and timers wait for a scheduler; it checks each event against the guarantees of the client. */
export class ScheduledComputer {
  readonly time = new FakeTime();
  /** The guarantees that the client violated, one sentence each. */
  readonly violations: string[] = [];
  disk: State = emptyState();
  run!: Run;
  #tokens = 0;
  #clicks = 0;
  #counts = { answers: 0, manifests: 0, reads: 0, writes: 0 };
  #faults = NO_FAULTS;
  #isChangingRun = false;

  constructor(private readonly scheduler: fc.Scheduler) {}

  pause(label: string): Promise<void> {
    return this.scheduler.schedule(Promise.resolve(), label);
  }

  /** Starts and activates the application without faults, and then sets the faults. */
  async startActivated(faults: Faults): Promise<void> {
    await this.open();
    await this.activate();
    this.#faults = faults;
  }

  /** The user clicks Activate. */
  async activate(): Promise<void> {
    this.run.clicks += 1;
    await this.run.client.activate(KEY, EMAIL, `Studio Mac ${(this.#clicks += 1)}`);
  }

  /** The user closes the window in which they clicked Activate. */
  closeWindow(): void {
    this.run.client.waitingActivation.cancel();
    this.run.endWaiting();
  }

  /** Starts the application again with these faults, so that its state may be unreadable. */
  async reopenWithFaults(faults: Faults): Promise<void> {
    await this.run.client.close();
    this.run.end = 'closed';
    this.#counts = { answers: 0, manifests: 0, reads: 0, writes: 0 };
    this.#faults = faults;
    await this.open();
  }

  endFaults(): void {
    this.#faults = { ...NO_FAULTS, manifests: [5] };
  }

  /** Starts the application. Unless stopped, it must run until the stored `offline_until`, also without a network. */
  async open(): Promise<void> {
    const { license, stopped } = this.disk;
    // A confirmation that arrives late makes the client believe that its clock is ahead by the delay, so the application may run
    // that much longer.
    const isLate = license && this.time.wall > Date.parse(license.offline_until) + CALL_TIMEOUT_MS;
    const run = new Run(this);
    this.run = run;
    await Promise.race([run.client.start(), run.killed]);
    if (run.end || run.hadUnreadState || !license) return;
    const { kind } = run.client.status;
    const isWithinTime = !stopped && this.time.wall <= Date.parse(license.offline_until);
    if (isWithinTime && kind !== 'running') this.violations.push(`a start within seven days is ${kind}`);
    if (run.wasEverConfirmed) return;
    if (stopped && kind !== 'stopped') this.violations.push(`a start after a stop is ${kind}`);
    if (isLate && kind === 'running') this.violations.push('a start after seven days runs');
    if (kind === 'not_activated') this.violations.push('a start lost the license');
  }

  /** Quits, lets time pass without the application, and starts it again. */
  async restart(offMs: number): Promise<void> {
    if (this.#isChangingRun) return;
    this.#isChangingRun = true;
    const { run } = this;
    run.end = 'closing';
    await run.client.close();
    run.end = 'closed';
    const isStopped = run.client.status.kind === 'stopped';
    if (isStopped && !this.disk.stopped && !run.hasFailedWrites) this.violations.push('a stop was not kept');
    if (this.time.pending.size > 0) this.violations.push('a timer outlived its client');
    this.time.wall += offMs;
    this.#isChangingRun = false;
    await this.open();
  }

  /** Kills the process, and starts it again. */
  async kill(): Promise<void> {
    if (this.#isChangingRun) return;
    this.run.kill();
    this.time.pending.clear();
    await this.open();
  }

  /** Advances time until the next timer is due, but by no more than `atMost`. */
  tick(atMost: number): void {
    const { time } = this;
    const dues = [...time.pending].map(({ due }) => due - time.monotonic);
    const passed = Math.max(0, Math.min(atMost, ...dues));
    time.wall += passed;
    time.monotonic += passed;
    for (const timer of [...time.pending].filter(({ due }) => due <= time.monotonic)) {
      time.pending.delete(timer);
      timer.work();
    }
  }

  write(state: State, run: Run): void {
    const { disk, violations } = this;
    this.disk = state;
    const tokenNumber = (each: State) => Number(each.license?.token.slice('token-'.length) ?? 0);
    const [before, after] = [tokenNumber(disk), tokenNumber(state)];
    if (after < before) violations.push(`token ${before} was replaced by ${after}`);
    const sequence = (each: State) => Object.values(each.sequences)[0]?.sequence ?? 0;
    if (!run.hadUnreadState && sequence(state) < sequence(disk)) violations.push('the sequence went back');
    // A new token comes with a confirmation, which ends a stop and may set the time back.
    if (after > before) return;
    if (disk.stopped && !state.stopped) violations.push('a stop was forgotten');
    if ((state.time.highest_seen ?? '') < (disk.time.highest_seen ?? '')) violations.push('time went back');
  }

  nextAnswer(path: string): AnswerKind {
    const { answers } = this.#faults;
    const answer = answers[this.#counts.answers++ % answers.length]!;
    // The service never answers an activation with `reactivate`.
    return path === '/v1/activate' && answer === 'reactivate' ? 'retry' : answer;
  }

  answer(kind: AnswerKind | 'manifest'): Response | undefined {
    if (kind === 'stop') return problem(403, 'license_revoked', 'stop');
    if (kind === 'full') return problem(409, 'machine_limit_reached', 'stop', { machines_allowed: 1 });
    // A `stop` with status 503 must be read as a retry.
    if (kind === 'retry') return problem(503, 'unavailable', 'stop', {}, { 'retry-after': '60' });
    if (kind === 'fix') return problem(422, 'invalid_request', 'fix');
    if (kind === 'reactivate') return problem(403, 'token_invalid', 'reactivate');
    if (kind === 'page')
      return new Response('<html>Sign in</html>', { headers: { 'content-type': 'text/html' } });
    if (kind === 'cut') return undefined;
    const now = this.time.wall;
    return json(200, {
      token: `token-${(this.#tokens += 1)}`,
      offline_until: at(now + 7 * DAY),
      heartbeat_after_seconds: 21_600,
      server_time: at(now),
      license: { status: 'active', expires_at: null },
    });
  }

  manifest(): Response | undefined {
    const { manifests } = this.#faults;
    const sequence = manifests[this.#counts.manifests++ % manifests.length]!;
    return sequence === 0 ? undefined : json(200, MANIFESTS[sequence]);
  }

  nextReadFails(): boolean {
    const { reads } = this.#faults;
    return reads[this.#counts.reads++ % reads.length]!;
  }

  nextWriteFails(): boolean {
    const { writes } = this.#faults;
    return writes[this.#counts.writes++ % writes.length]!;
  }
}
