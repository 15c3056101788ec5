import { isConnectionLost, type Answer } from '../../support/harness.js';
import { DEFAULT_MACHINES, type Command, type License, type Outcome } from '../license-model.js';
import { readOutcome } from '../observed-state.js';
import { resolveTemplate, type ClientKnowledge } from './commands.js';
import type { Deployment } from './deployment.js';
import { MAX_CLOCK_READ_DELAY_MS, type Operation, type ViewsOutcome } from './history.js';
import type { Scenario, CommandTemplate } from './plan.js';
import { LicenseRequests } from './requests.js';
import type { State } from './transition.js';

/** How old the state of a confirmation by a replica may be: a minute (docs/decisions/0013), and some seconds between checks. */
const MAX_REPLICA_LAG_MS = 65_000;
/** An instance whose clock is wrong by more than this refuses no license as expired (docs/decisions/0015). */
const CLOCK_TOLERANCE_MS = 3_600_000;
/** A refusal because the clock of the instance is wrong, which says nothing about the license. */
const CLOCK_REFUSAL = /webhook_signature_invalid/;

export interface Recorded {
  readonly scenario: Scenario;
  readonly initial: State;
  readonly operations: readonly Operation[];
}

/** The callbacks of the recorder while a scenario runs. */
export interface Observer {
  /** Called before an operation is sent. */
  onInvoked?(): void;
  /** Called when an operation has returned or its connection is lost. */
  onReturned?(command: Command): void;
  /** Called with the number of clients that have operations left. */
  onClientsLeft?(left: number): void;
}

/** Runs a scenario and records the history of its license. */
export async function record(
  deployment: Deployment,
  scenario: Scenario,
  name: string,
  observer: Observer = {},
): Promise<Recorded> {
  const requests = await LicenseRequests.begin(deployment, scenario, name);
  const recorder = new Recorder(deployment, requests, observer);
  const { prologue, clients } = scenario;
  observer.onClientsLeft?.(1);
  for (const template of prologue) await recorder.run(template, 0);
  let left = clients.length;
  observer.onClientsLeft?.(left);
  await Promise.all(
    clients.map(async (templates, i) => {
      for (const template of templates) await recorder.run(template, i + 1);
      observer.onClientsLeft?.((left -= 1));
    }),
  );
  await recorder.readViews();
  return {
    scenario,
    initial: initialState(deployment, scenario, requests.email),
    operations: recorder.operations,
  };
}

class Recorder {
  readonly operations: Operation[] = [];
  readonly #known: ClientKnowledge;

  constructor(
    private readonly deployment: Deployment,
    private readonly requests: LicenseRequests,
    private readonly observer: Observer,
  ) {
    // The start is in whole seconds, because times have whole seconds on the wire.
    const start = Math.floor(deployment.now() / 1000) * 1000;
    this.#known = {
      start,
      email: requests.email,
      generation: 1,
      tokens: new Map(),
      ended: new Set(),
    };
  }

  async run(template: CommandTemplate, client: number): Promise<void> {
    const command = resolveTemplate(template, this.#known);
    const instanceIndex = this.runningInstance(template.instance);
    const instance = this.deployment.instances[instanceIndex]!;
    this.observer.onInvoked?.();
    const invoked = performance.now();
    const answer = await this.requests.send(instance, command).catch((error: unknown) => {
      if (!isConnectionLost(error)) throw error;
    });
    const returned = performance.now();
    const [from, to] = instance.clockBetween(invoked, returned);
    const outcome = answer && hasResult(answer) ? readOutcome(command, answer) : null;
    const mayBeFromReplica = command.type === 'heartbeat' && instance.hasReplica && outcome?.result === '200';
    this.operations.push({
      number: this.operations.length + 1,
      client,
      instance: instanceIndex + 1,
      command,
      invoked,
      returned: outcome && returned,
      earliest: mayBeFromReplica ? invoked - MAX_REPLICA_LAG_MS : invoked,
      clock: outcome ? this.possibleClock(outcome, [from, to]) : [from, to + MAX_CLOCK_READ_DELAY_MS],
      outcome,
      ...(!outcome && {
        lossReason: answer ? String(answer.json?.code ?? answer.status) : 'connection lost',
      }),
    });
    if (outcome) this.learn(command, outcome, answer!);
    this.observer.onReturned?.(command);
  }

  /** The clock times that the response allows: with a clock too far ahead, no license is refused as expired. */
  private possibleClock(
    { result }: Outcome,
    [from, to]: readonly [number, number],
  ): readonly [number, number] {
    if (!result.includes('license_expired')) return [from, to];
    const latest = this.deployment.now() + CLOCK_TOLERANCE_MS;
    return [Math.min(from, latest), Math.min(to, latest)];
  }

  /** Records what staff and the holder see after all operations. */
  async readViews(): Promise<void> {
    const invoked = performance.now();
    const views = await this.requests.readViews(() => this.deployment.instances[this.runningInstance(0)]!);
    const returned = performance.now();
    const outcome: ViewsOutcome = { result: '200', views };
    const common = { number: this.operations.length + 1, client: 0, instance: 1, invoked, returned };
    const command = { type: 'read-views', licenseIndex: 0 } as const;
    this.operations.push({ ...common, command, earliest: invoked, clock: [0, 0], outcome });
  }

  /** Returns the index of the planned instance; if it is down, that of another one. */
  private runningInstance(planned: number): number {
    const { instances } = this.deployment;
    const running = [...instances.keys()].filter((i) => instances[i]!.isUp);
    return instances[planned]!.isUp ? planned : (running[0] ?? planned);
  }

  private learn(command: Command, { result, activationId }: Outcome, { json }: Answer): void {
    const { tokens, ended } = this.#known;
    if (!result.startsWith('20')) return;
    if (activationId && json.token) tokens.set(activationId, json.token);
    if (command.type === 'release' || command.type === 'self-release') ended.add(command.activationId);
    if (command.type === 'rekey') this.#known.generation += 1;
  }
}

/** Whether a response shows whether the operation took effect. A 503 and a `CLOCK_REFUSAL` do not. */
const hasResult = ({ status, json }: Answer): boolean =>
  status !== 503 && !(status >= 400 && CLOCK_REFUSAL.test(json?.code));

function initialState(
  deployment: Deployment,
  { isSold, machines_allowed, on_expiry }: Scenario,
  email: string,
): State {
  const license: License = {
    email: isSold ? null : email,
    is_issued: !isSold,
    email_since: null,
    generation: 1,
    replaced_at: [],
    machines_allowed: isSold ? DEFAULT_MACHINES : machines_allowed,
    expires_at: null,
    on_expiry: isSold ? 'keep' : on_expiry,
    staff_status: 'active',
    ended_at: null,
    end_changed_at: 0,
    is_deleted: false,
    reports: isSold ? [] : null,
    activations: [],
  };
  return {
    state: { now: deployment.now(), licenses: [license], erased: [], deletedActivations: [] },
    holders: [email],
  };
}
