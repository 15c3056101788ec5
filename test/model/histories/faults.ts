import { Random } from '../../client/random.js';
import type { FaultedDeployment } from './faulted-deployment.js';

/** What goes wrong while clients work, planned by a seed. */
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
  /** The number of invoked operations at which it begins. */
  readonly at: number;
  /** The number of operations for which it lasts, if it lasts. */
  readonly lasts: number;
  readonly instance: number;
  /** How far the clock is set. */
  readonly clockOffsetMs: number;
}

const REPLICA_FAULTS: readonly FaultKind[] = ['replica paused', 'replica frozen'];
/** Operations from one fault to the next, at least and at most. */
const BETWEEN = [20, 70] as const;
/** An instance takes seconds to restart, so it is killed in the first round and then once in this many rounds. */
const ROUNDS_FOR_A_KILL = 10;
const MINUTE_MS = 60_000;
const CLOCK_OFFSETS_MS = [-120, -30, 30, 120].map((minutes) => minutes * MINUTE_MS);

/** Plans rounds in which each kind of fault occurs once. The seed decides the order. */
export function planFaults(seed: number, operations: number): Fault[] {
  const random = new Random(seed);
  const faults: Fault[] = [];
  const [low, high] = BETWEEN;
  for (let at = low, round = 0; at < operations; round += 1) {
    const kinds = FAULT_KINDS.filter((kind) => kind !== 'instance killed' || round % ROUNDS_FOR_A_KILL === 0);
    for (const kind of shuffled(kinds, random)) {
      const clockOffsetMs = random.pick(CLOCK_OFFSETS_MS);
      faults.push({
        kind,
        at,
        lasts: Math.round(random.between(10, 80)),
        instance: random.below(2),
        clockOffsetMs,
      });
      at += Math.round(random.between(low, high));
    }
  }
  return faults.filter(({ at }) => at < operations);
}

function shuffled<T>(all: readonly T[], random: Random): T[] {
  const rest = [...all];
  return all.map(() => rest.splice(random.below(rest.length), 1)[0]!);
}

/** Begins and ends the planned faults, each when the number of its operation is reached. */
export class FaultInjector {
  readonly struck: Partial<Record<FaultKind, number>> = {};
  #operations = 0;
  #next = 0;
  #work: Promise<void> = Promise.resolve();
  readonly #errors: unknown[] = [];
  #ends: { readonly kind: FaultKind; readonly at: number; readonly end: () => Promise<void> }[] = [];

  constructor(
    private readonly deployment: FaultedDeployment,
    private readonly faults: readonly Fault[],
  ) {}

  get operations(): number {
    return this.#operations;
  }

  readonly invoked = (): void => {
    this.#operations += 1;
    for (let fault = this.faults[this.#next]; fault && fault.at <= this.#operations;) {
      const striking = fault;
      this.#then(() => this.#strike(striking));
      fault = this.faults[(this.#next += 1)];
    }
    if (this.#ends.some(({ at }) => at <= this.#operations)) this.#then(() => this.#endDue());
  };

  /** Ends the faults that have not ended yet. @throws if a fault could not begin or end */
  async end(): Promise<void> {
    await this.#work;
    await this.#endEach(FAULT_KINDS);
    await this.deployment.allUp();
    if (this.#errors.length > 0) throw new AggregateError(this.#errors, 'faults failed');
  }

  async #strike({ kind, instance, lasts, clockOffsetMs }: Fault): Promise<void> {
    const { deployment } = this;
    this.struck[kind] = (this.struck[kind] ?? 0) + 1;
    // A replica that is frozen cannot be asked to pause.
    if (REPLICA_FAULTS.includes(kind)) await this.#endEach(REPLICA_FAULTS);
    switch (kind) {
      case 'client connections cut':
        return deployment.cutClients(instance);
      case 'database connections cut':
        return deployment.primary.cutConnections();
      case 'backend killed':
        return deployment.killBackend();
      case 'replica paused':
        await deployment.replica.pauseReplay();
        return this.#later(kind, lasts, () => deployment.replica.resumeReplay());
      case 'replica frozen':
        deployment.replica.freeze();
        return this.#later(kind, lasts, async () => deployment.replica.thaw());
      case 'clock stepped':
        await deployment.setClockOffset(instance, clockOffsetMs);
        return this.#later(kind, lasts, () => deployment.setClockOffset(instance, 0));
      case 'instance killed':
        return deployment.killInstance(instance);
    }
  }

  #later(kind: FaultKind, operations: number, end: () => Promise<void>): void {
    this.#ends.push({ kind, at: this.#operations + operations, end });
  }

  #endDue(): Promise<void> {
    return this.#endEach(FAULT_KINDS, this.#operations);
  }

  async #endEach(kinds: readonly FaultKind[], until = Infinity): Promise<void> {
    const over = this.#ends.filter(({ kind, at }) => kinds.includes(kind) && at <= until);
    this.#ends = this.#ends.filter((each) => !over.includes(each));
    for (const { end } of over) await end();
  }

  #then(work: () => Promise<void>): void {
    this.#work = this.#work.then(work).catch((error: unknown) => void this.#errors.push(error));
  }
}
