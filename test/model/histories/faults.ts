import { Random } from '../../client/random.js';
import type { FaultedDeployment } from './faulted-deployment.js';

/**
 * The kinds of faults that are injected while clients work. A paused replica does not apply what it receives, and a frozen one
 * does not respond. A killed backend is the server process of one database connection.
 */
export const FAULT_KINDS = [
  'client connections cut',
  'database connections cut',
  'backend killed',
  'replica paused',
  'replica frozen',
  'clock stepped',
  'instance killed',
] as const;
export type FaultKind = (typeof FAULT_KINDS)[number];

export interface Fault {
  readonly kind: FaultKind;
  /** The number of invoked operations at which the fault begins. */
  readonly startsAtOperation: number;
  /** A fault that does not end by itself is ended after this number of operations. */
  readonly durationOperations: number;
  /** The index of the affected instance, if the fault affects one instance only. */
  readonly instance: number;
  /** By how much a stepped clock is wrong. */
  readonly clockOffsetMs: number;
}

const REPLICA_FAULTS: readonly FaultKind[] = ['replica paused', 'replica frozen'];
/** The lowest and the highest number of operations from one fault to the next. */
const OPERATIONS_BETWEEN_FAULTS = [20, 70] as const;
/** The shortest and the longest duration of a fault that does not end by itself. */
const DURATION_OPERATIONS = [10, 80] as const;
/** An instance takes seconds to restart, so one is killed only in the first of this many rounds. */
const ROUNDS_PER_KILL = 10;
const MINUTE_MS = 60_000;
const CLOCK_OFFSETS_MS = [-120, -30, 30, 120].map((minutes) => minutes * MINUTE_MS);

/**
 * Plans rounds. In each round every kind of fault occurs once, but an instance is killed only in one of `ROUNDS_PER_KILL`
 * rounds. The seed decides the order.
 */
export function planFaults(seed: number, operations: number): Fault[] {
  const random = new Random(seed);
  const faults: Fault[] = [];
  const [low, high] = OPERATIONS_BETWEEN_FAULTS;
  for (let at = low, round = 0; at < operations; round += 1) {
    const kinds = FAULT_KINDS.filter((kind) => kind !== 'instance killed' || round % ROUNDS_PER_KILL === 0);
    for (const kind of shuffled(kinds, random)) {
      const clockOffsetMs = random.pick(CLOCK_OFFSETS_MS);
      faults.push({
        kind,
        startsAtOperation: at,
        durationOperations: Math.round(random.between(...DURATION_OPERATIONS)),
        instance: random.below(2),
        clockOffsetMs,
      });
      at += Math.round(random.between(low, high));
    }
  }
  return faults.filter(({ startsAtOperation }) => startsAtOperation < operations);
}

function shuffled<T>(all: readonly T[], random: Random): T[] {
  const rest = [...all];
  return all.map(() => rest.splice(random.below(rest.length), 1)[0]!);
}

/** Begins and ends the planned faults, each when the number of invoked operations reaches that of the plan. */
export class FaultInjector {
  /** How often each kind of fault was injected. */
  readonly injectedCounts: Partial<Record<FaultKind, number>> = {};
  #operations = 0;
  #nextFault = 0;
  /** Faults begin and end one after the other. */
  #queue: Promise<void> = Promise.resolve();
  readonly #errors: unknown[] = [];
  /** The faults that have not ended, with the number of invoked operations at which each ends. */
  #pendingEnds: { readonly kind: FaultKind; readonly at: number; readonly end: () => Promise<void> }[] = [];

  constructor(
    private readonly deployment: FaultedDeployment,
    private readonly faults: readonly Fault[],
  ) {}

  readonly onInvoked = (): void => {
    this.#operations += 1;
    for (let fault = this.faults[this.#nextFault]; fault && fault.startsAtOperation <= this.#operations;) {
      const due = fault;
      this.#enqueue(() => this.#inject(due));
      fault = this.faults[(this.#nextFault += 1)];
    }
    if (this.#pendingEnds.some(({ at }) => at <= this.#operations)) this.#enqueue(() => this.#endDue());
  };

  /** Ends the faults that have not ended yet. @throws if a fault could not begin or end */
  async end(): Promise<void> {
    await this.#queue;
    await this.#endEach(FAULT_KINDS);
    await this.deployment.waitUntilAllUp();
    if (this.#errors.length > 0) throw new AggregateError(this.#errors, 'faults failed');
  }

  async #inject({ kind, instance, durationOperations, clockOffsetMs }: Fault): Promise<void> {
    const { deployment } = this;
    this.injectedCounts[kind] = (this.injectedCounts[kind] ?? 0) + 1;
    // Faults of one kind do not overlap, nor do those of the replica: a frozen one cannot pause its replay.
    await this.#endEach(REPLICA_FAULTS.includes(kind) ? REPLICA_FAULTS : [kind]);
    switch (kind) {
      case 'client connections cut':
        return deployment.cutClients(instance);
      case 'database connections cut':
        return deployment.primary.cutConnections();
      case 'backend killed':
        return deployment.killBackend();
      case 'replica paused':
        await deployment.replica.pauseReplay();
        return this.#scheduleEnd(kind, durationOperations, () => deployment.replica.resumeReplay());
      case 'replica frozen':
        deployment.replica.freeze();
        return this.#scheduleEnd(kind, durationOperations, async () => deployment.replica.thaw());
      case 'clock stepped':
        await deployment.setClockOffset(instance, clockOffsetMs);
        return this.#scheduleEnd(kind, durationOperations, () => deployment.setClockOffset(instance, 0));
      case 'instance killed':
        return deployment.killInstance(instance);
    }
  }

  #scheduleEnd(kind: FaultKind, operations: number, end: () => Promise<void>): void {
    this.#pendingEnds.push({ kind, at: this.#operations + operations, end });
  }

  #endDue(): Promise<void> {
    return this.#endEach(FAULT_KINDS, this.#operations);
  }

  async #endEach(kinds: readonly FaultKind[], operations = Infinity): Promise<void> {
    const due = this.#pendingEnds.filter(({ kind, at }) => kinds.includes(kind) && at <= operations);
    this.#pendingEnds = this.#pendingEnds.filter((each) => !due.includes(each));
    for (const { end } of due) await end();
  }

  #enqueue(work: () => Promise<void>): void {
    this.#queue = this.#queue.then(work).catch((error: unknown) => void this.#errors.push(error));
  }
}
