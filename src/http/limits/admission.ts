import { BACKLOG, type LoadLimits } from './load-limits.js';

/**
 * Why a request is refused because of load: connections waited too long in the kernel's queue, or no slot was free for one
 * more request in progress.
 */
export type ShedReason = 'waiting_time' | 'concurrent_requests';

/**
 * While requests can wait for a slot, at most as many are in progress as the service answers in this part of `waitingMs`. More
 * would only wait for each other, and each would take more processor time: the garbage collector copies objects that are in use
 * for longer.
 */
const WAIT_SHARE = 1 / 8;
/** The same for requests that cannot wait: they are refused. It is larger, so that a short pause of the database refuses none. */
const REFUSAL_SHARE = 1 / 2;
/** At least this many requests may be in progress, however slowly the service answers. */
const MIN_CONCURRENT_REQUESTS = 100;
/** The share of the slots that requests without a waiting person may use. */
const BACKGROUND_SHARE = 0.8;
/** Requests in which a person waits are refused when connections have waited in the queue for this many times `waitingMs`. */
const PERSON_FACTOR = 2;
/**
 * From this length on, the kernel's queue is long however fast the service answers: soon the kernel ignores new connections, and
 * their clients try again only after a second or more.
 */
const LONG_QUEUE = (3 / 4) * BACKLOG;
/**
 * Refusals for each answered request, at most, so that answers keep about 70 % of the processor time. When more requests arrive,
 * their connections wait in the kernel, which ignores those for which its queue has no space. Refusals at `concurrentRequests` and
 * after a wait for a slot are not limited.
 */
const REFUSALS_PER_ANSWER = 2;
/** Refusals that may follow each other without an answer. */
const MAX_SAVED_REFUSALS = 500;
/** The shortest period in which the rate of answers is measured. */
const PERIOD_MS = 250;
/** The fewest answers of a measured period. With fewer, other work may have used most of the time. */
const PERIOD_ANSWERS = 50;
/** A period with a smaller share of processor time says nothing about how much the service could answer. */
const BUSY_SHARE = 0.8;
/** The weight of a period that is slower than the rate so far: small, because refusals may have made the period slower. */
const SLOWER_WEIGHT = 0.02;
/** The assumed rate until it was measured. */
const INITIAL_PER_SECOND = 1_000;

/**
 * Decides which requests are refused because of load, by the time that a request would wait, never by its caller
 * (docs/decisions/0055). It knows two waiting times: that of connections in the kernel's queue, and that of the requests in
 * progress, which is their number divided by the rate at which the service answers.
 */
export class Admission {
  #perSecond = INITIAL_PER_SECOND;
  #isMeasured = false;
  #savedRefusals = MAX_SAVED_REFUSALS;
  #answers = 0;
  #periodFrom: number;
  #activeFrom: number;

  /**
   * @param load the number of requests in progress, which the caller counts
   * @param queue the kernel's queue of connections
   * @param now the milliseconds of a monotonic clock
   * @param activeMs the milliseconds in which the event loop was not idle
   */
  constructor(
    private readonly limits: LoadLimits,
    private readonly load: { readonly underWay: number },
    private readonly queue: { readonly waitingMs: number; readonly length: number | undefined },
    private readonly now: () => number,
    private readonly activeMs: () => number,
  ) {
    [this.#periodFrom, this.#activeFrom] = [now(), activeMs()];
  }

  /** How many requests the service can answer in a second, as measured when it was last busy. */
  get perSecond(): number {
    return this.#perSecond;
  }

  /** Whether connections have waited so long that further requests without a waiting person are refused. */
  get isQueueLong(): boolean {
    return this.#hasWaited(true);
  }

  /**
   * Decides whether a request is refused at once.
   * @param isBackground whether no person waits for it
   * @param mayWait whether it may wait for a slot; then only waiting times and `concurrentRequests` refuse it
   * @returns undefined if it is accepted: it may begin or wait, or the budget has no refusal left (REFUSALS_PER_ANSWER)
   */
  refusal(isBackground: boolean, mayWait = false): ShedReason | undefined {
    if (this.load.underWay >= this.limits.concurrentRequests) return 'concurrent_requests';
    if (this.#hasWaited(isBackground) && this.#takeRefusal()) return 'waiting_time';
    const isFull = !mayWait && this.#freeSlots(isBackground, REFUSAL_SHARE) <= 0;
    return isFull && this.#takeRefusal() ? 'concurrent_requests' : undefined;
  }

  /** How many more requests may begin now, where requests without a slot can wait for one (WAIT_SHARE). */
  freeSlots(isBackground: boolean): number {
    return this.#freeSlots(isBackground, WAIT_SHARE);
  }

  /** Takes a refusal from the budget. @returns false if there is none */
  #takeRefusal(): boolean {
    if (this.#savedRefusals < 1) return false;
    this.#savedRefusals -= 1;
    return true;
  }

  /** Counts a request whose response is ready. */
  answered(): void {
    this.#answers += 1;
    this.#savedRefusals = Math.min(this.#savedRefusals + REFUSALS_PER_ANSWER, MAX_SAVED_REFUSALS);
    this.#measure();
  }

  #hasWaited(isBackground: boolean): boolean {
    const waitingMs = this.limits.waitingMs * (isBackground ? 1 : PERSON_FACTOR);
    if (waitingMs === 0 || this.queue.waitingMs <= waitingMs) return false;
    // A few clients that connect again after each response keep the queue short but never empty. So the length decides too.
    const { length } = this.queue;
    if (length === undefined || (length / this.#perSecond) * 1000 > waitingMs) return true;
    return isBackground && length >= LONG_QUEUE;
  }

  // As many requests may be in progress as are answered in a part of `waitingMs` (Little's law).
  #freeSlots(isBackground: boolean, share: number): number {
    const { waitingMs } = this.limits;
    if (waitingMs === 0 || !this.#isMeasured) return Infinity;
    const slots = Math.max(MIN_CONCURRENT_REQUESTS, (this.#perSecond / 1000) * waitingMs * share);
    return slots * (isBackground ? BACKGROUND_SHARE : 1) - this.load.underWay;
  }

  #measure(): void {
    const now = this.now();
    const periodMs = now - this.#periodFrom;
    if (periodMs < PERIOD_MS || this.#answers < PERIOD_ANSWERS) return;
    const active = this.activeMs();
    const busyMs = active - this.#activeFrom;
    if (busyMs > periodMs * BUSY_SHARE) {
      const perSecond = (this.#answers / busyMs) * 1000;
      const isSlower = this.#isMeasured && perSecond < this.#perSecond;
      this.#perSecond = isSlower
        ? this.#perSecond + (perSecond - this.#perSecond) * SLOWER_WEIGHT
        : perSecond;
      this.#isMeasured = true;
    }
    [this.#periodFrom, this.#activeFrom, this.#answers] = [now, active, 0];
  }
}
