import type { Answer } from '../../support/harness.js';
import { DEFAULT_MACHINES, type Command, type License, type Outcome } from '../license-model.js';
import { outcome } from '../observed-state.js';
import { commandOf, type Known } from './commands.js';
import type { Deployment } from './deployment.js';
import { UNKNOWN_CLOCK_MS, type Operation, type Shown } from './history.js';
import type { Scenario, CommandTemplate } from './plan.js';
import { isConnectionLost } from '../../support/harness.js';
import { LicenseRequests } from './requests.js';
import type { State } from './transition.js';

/** How far a confirmation by a replica may lag behind the primary (docs/decisions/0013), and how often an instance checks it. */
const REPLICA_LAG_MS = 65_000;
/** An instance whose clock is wrong by more than this refuses no license as expired (docs/decisions/0015). */
const CLOCK_TOLERANCE_MS = 3_600_000;
/** Refusals because the clock of the instance is wrong, which do not depend on the license. */
const SAYS_NOTHING = /webhook_signature_invalid/;

export interface Recorded {
  readonly scenario: Scenario;
  readonly initial: State;
  readonly operations: readonly Operation[];
}

/** The callbacks of the recorder while a scenario runs. */
export interface Observer {
  /** Called before an operation is sent. */
  invoked?(): void;
  returned?(command: Command): void;
  /** Called with the number of clients that have operations left. */
  clients?(left: number): void;
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
  observer.clients?.(1);
  for (const template of prologue) await recorder.run(template, 0);
  let left = clients.length;
  observer.clients?.(left);
  await Promise.all(
    clients.map(async (templates, i) => {
      for (const template of templates) await recorder.run(template, i + 1);
      observer.clients?.((left -= 1));
    }),
  );
  await recorder.look();
  return {
    scenario,
    initial: initialState(deployment, scenario, requests.email),
    operations: recorder.operations,
  };
}

class Recorder {
  readonly operations: Operation[] = [];
  readonly #known: Known;

  constructor(
    private readonly deployment: Deployment,
    private readonly requests: LicenseRequests,
    private readonly observer: Observer,
  ) {
    // In whole seconds, as times are written on the wire.
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
    const command = commandOf(template, this.#known);
    const at = this.instance(template.instance);
    const instance = this.deployment.instances[at]!;
    this.observer.invoked?.();
    const invoked = performance.now();
    const answer = await this.requests.send(instance, command).catch((error: unknown) => {
      if (!isConnectionLost(error)) throw error;
    });
    const returned = performance.now();
    const [from, to] = instance.clockBetween(invoked, returned);
    const observed = answer && tells(answer) ? outcome(command, answer) : null;
    // An instance with a replica may have read a confirmation from the replica.
    const isCopy = command.do === 'heartbeat' && instance.hasReplica && observed?.says === '200';
    this.operations.push({
      number: this.operations.length + 1,
      client,
      instance: at + 1,
      command,
      invoked,
      returned: observed && returned,
      earliest: isCopy ? invoked - REPLICA_LAG_MS : invoked,
      clock: observed ? this.credible(observed, [from, to]) : [from, to + UNKNOWN_CLOCK_MS],
      outcome: observed,
      ...(!observed && { lost: answer ? String(answer.json?.code ?? answer.status) : 'connection lost' }),
    });
    if (observed) this.learn(command, observed, answer!);
    this.observer.returned?.(command);
  }

  /** The clock times at which the response may have been made, without those so far ahead that nothing is refused as expired. */
  private credible({ says }: Outcome, [from, to]: readonly [number, number]): readonly [number, number] {
    if (!says.includes('license_expired')) return [from, to];
    const latest = this.deployment.now() + CLOCK_TOLERANCE_MS;
    return [Math.min(from, latest), Math.min(to, latest)];
  }

  /** What all clients together see in the end. */
  async look(): Promise<void> {
    const invoked = performance.now();
    const shown = await this.requests.look(() => this.deployment.instances[this.instance(0)]!);
    const returned = performance.now();
    const answer: Shown = { says: '200', shown };
    const common = { number: this.operations.length + 1, client: 0, instance: 1, invoked, returned };
    const command = { do: 'look', of: 0 } as const;
    this.operations.push({ ...common, command, earliest: invoked, clock: [0, 0], outcome: answer });
  }

  /** The planned instance, or another that runs. */
  private instance(fromTemplate: number): number {
    const { instances } = this.deployment;
    const others = [...instances.keys()].filter((i) => instances[i]!.isUp);
    return instances[fromTemplate]!.isUp ? fromTemplate : (others[0] ?? fromTemplate);
  }

  private learn(command: Command, { says, binding }: Outcome, { json }: Answer): void {
    const { tokens, ended } = this.#known;
    if (says.startsWith('20') && binding && json.token) tokens.set(binding, json.token);
    if (says.startsWith('20') && command.do.endsWith('release') && 'binding' in command)
      ended.add(command.binding);
    if (says.startsWith('20') && command.do === 'rekey') this.#known.generation += 1;
  }
}

/** Whether a response gives the result of the operation. A 503 does not, because it may have taken effect. */
const tells = ({ status, json }: Answer): boolean =>
  status !== 503 && !(status >= 400 && SAYS_NOTHING.test(json?.code));

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
    is_gone: false,
    reports: isSold ? [] : null,
    bindings: [],
  };
  return {
    state: { now: deployment.now(), licenses: [license], erased: [], forgotten: [] },
    holders: [email],
  };
}
