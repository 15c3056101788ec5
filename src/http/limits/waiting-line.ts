import type { ServerResponse } from 'node:http';
import type { Problem } from '../problems/problem.js';
import type { Admission } from './admission.js';

/** A request that has arrived, and needs a place among those in progress. */
export interface ArrivedRequest {
  /** Whether no person waits for it. */
  readonly isBackground: boolean;
  readonly response: Pick<ServerResponse, 'destroyed'>;
  readonly begin: () => void;
  readonly respond: (refusal: Problem) => void;
}

type WaitingRequest = ArrivedRequest & { readonly since: number };

/**
 * A request that has waited twice as long, which is a second, is refused without a budget. With the two seconds that its answer may
 * take, that is less than the five after which `deploy/haproxy.cfg` takes an instance for frozen.
 */
const MAX_WAIT_FACTOR = 2;
/** How often places are filled whose requests have ended without an answer, such as those of clients that have disconnected. */
const CHECK_MS = 50;

/**
 * The requests on open connections that wait for a place, such as those of a reverse proxy; refusing all of them would take the time
 * of the answers. The newest one begins first, because its client waits longest for the answer: in the order of arrival, an
 * overloaded service would answer only clients that are about to give up. The oldest one is refused first, after a time in which a
 * burst ends, when the budget of refusals allows one (adaptive LIFO, docs/decisions/0055). Requests of people begin before others, and
 * are refused after them.
 */
export class WaitingLine {
  readonly #people: WaitingRequest[] = [];
  readonly #background: WaitingRequest[] = [];
  #timer: NodeJS.Timeout | undefined;

  /**
   * @param waitMs how long a request waits before it may be refused @param now the milliseconds of a monotonic clock
   * @param refusal creates the problem of a refused request, and counts it
   */
  constructor(
    private readonly admission: Pick<Admission, 'freePlaces' | 'takeRefusal'>,
    private readonly waitMs: number,
    private readonly now: () => number,
    private readonly refusal: () => Problem,
  ) {}

  get length(): number {
    return this.#people.length + this.#background.length;
  }

  /** Takes a request that has no place. @returns false if it can begin at once */
  waits(request: ArrivedRequest): boolean {
    if (this.admission.freePlaces(request.isBackground) > 0) return false;
    this.#requests(request.isBackground).push({ ...request, since: this.now() });
    this.#timer ??= setInterval(() => this.#check(), CHECK_MS).unref();
    return true;
  }

  /** Must be called after each answer: a waiting request begins in its place. */
  placeIsFree(): void {
    if (this.length === 0) return;
    this.#beginNewest(1);
    this.#refuseOldest();
  }

  /** Lets all waiting requests begin, for the shutdown. */
  end(): void {
    this.#beginNewest(Infinity, () => Infinity);
  }

  #check(): void {
    for (let late; (late = this.#takeOldest(this.waitMs * MAX_WAIT_FACTOR));) late.respond(this.refusal());
    this.#beginNewest(this.admission.freePlaces(false));
    this.#refuseOldest();
    if (this.length > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  // A request that begins takes its place only when its body was read, so `most` limits how many begin before that.
  #beginNewest(
    most: number,
    freePlaces = (isBackground: boolean) => this.admission.freePlaces(isBackground),
  ) {
    let begun = 0;
    for (const isBackground of [false, true]) {
      const requests = this.#requests(isBackground);
      while (requests.length > 0 && begun < most && freePlaces(isBackground) > begun) {
        const newest = requests.pop()!;
        if (newest.response.destroyed) continue;
        newest.begin();
        begun += 1;
      }
    }
  }

  #refuseOldest(): void {
    while (this.#hasWaited(this.waitMs) && this.admission.takeRefusal())
      this.#takeOldest(this.waitMs)?.respond(this.refusal());
  }

  /** Removes the oldest request that has waited for so long. @returns undefined without one */
  #takeOldest(milliseconds: number): WaitingRequest | undefined {
    const before = this.now() - milliseconds;
    for (const requests of [this.#background, this.#people])
      while (requests.length > 0 && requests[0]!.since <= before) {
        const oldest = requests.shift()!;
        if (!oldest.response.destroyed) return oldest;
      }
    return undefined;
  }

  #hasWaited(milliseconds: number): boolean {
    const before = this.now() - milliseconds;
    return [this.#background, this.#people].some(
      ([oldest]) => oldest !== undefined && oldest.since <= before,
    );
  }

  #requests(isBackground: boolean): WaitingRequest[] {
    return isBackground ? this.#background : this.#people;
  }
}
