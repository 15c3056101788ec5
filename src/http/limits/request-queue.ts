import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Problem } from '../problems/problem.js';
import type { Admission, LoadLimits } from './admission.js';

/** A request whose headers have arrived. It needs a slot: the service limits how many requests are in progress. */
export interface ArrivedRequest {
  /** Whether no person waits for it. */
  readonly isBackground: boolean;
  readonly socket: Pick<IncomingMessage['socket'], 'destroyed'>;
  readonly response: ServerResponse;
  readonly begin: () => void;
  readonly respond: (refusal: Problem) => void;
}

type WaitingRequest = ArrivedRequest & { readonly since: number };

/** A request that has waited for twice `maxQueuedMs` is refused even if the budget of refusals is used up. */
const MAX_WAIT_FACTOR = 2;
/**
 * The interval at which free slots are filled, in addition to the filling after each answer. A waiting request that begins may
 * never take its slot, because it is refused or its client goes; the slot would stay free until the next answer.
 */
const CHECK_MS = 50;

/** The milliseconds that a request has waited, by its response. */
const waits = new WeakMap<ServerResponse, number>();

/** Returns the milliseconds that a request waited for a slot before the framework received it. */
export const waitedMs = (response: ServerResponse): number => waits.get(response) ?? 0;

/**
 * The requests that wait for a slot, on connections that stay open after the response, such as those of a reverse proxy. They are
 * not all refused at once, because the refusals would take the time that the answers need. The newest one begins first, because its
 * client will still wait the longest: in the order of arrival, an overloaded service would answer only clients that are about to
 * give up. The oldest one is refused first, when the budget of refusals allows it, but not before `maxQueuedMs`, in which a burst
 * would have ended (adaptive LIFO, docs/decisions/0055). Requests of people begin before others, and are refused after them.
 */
export class RequestQueue {
  readonly #people: WaitingRequest[] = [];
  readonly #background: WaitingRequest[] = [];
  #timer: NodeJS.Timeout | undefined;

  /** @param now the milliseconds of a monotonic clock @param refusal creates the problem of a refused request, and counts it */
  constructor(
    private readonly admission: Pick<Admission, 'freeSlots' | 'takeRefusal'>,
    private readonly limits: LoadLimits,
    private readonly now: () => number,
    private readonly refusal: () => Problem,
  ) {}

  get length(): number {
    return this.#people.length + this.#background.length;
  }

  /**
   * Queues a request if no slot is free: it begins or is refused later. If the queue is full, it is refused at once.
   * @returns false if it can begin at once
   */
  waitIfFull(request: ArrivedRequest): boolean {
    if (this.admission.freeSlots(request.isBackground) > 0) return false;
    const waiting = { ...request, since: this.now() };
    if (this.length >= this.limits.concurrentRequests) this.#refuse(waiting);
    else (request.isBackground ? this.#background : this.#people).push(waiting);
    this.#timer ??= setInterval(() => this.#check(), CHECK_MS).unref();
    return true;
  }

  /** Must be called after each answer: a waiting request takes the slot of the answered one. */
  fillSlot(): void {
    if (this.length === 0) return;
    this.#beginNewest(1);
    this.#refuseOldest();
  }

  /** Lets all waiting requests begin, for the shutdown. */
  end(): void {
    for (const requests of [this.#people, this.#background])
      while (requests.length > 0) this.#begin(requests.pop()!);
  }

  #check(): void {
    const longestMs = this.limits.maxQueuedMs * MAX_WAIT_FACTOR;
    for (let late; (late = this.#waitedFor(longestMs));) this.#refuse(late.shift()!);
    this.#beginNewest(this.admission.freeSlots(false));
    this.#refuseOldest();
    if (this.length > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  // A request that begins takes its slot only when its body was read, so `most` limits how many begin before that.
  #beginNewest(most: number): void {
    let begun = 0;
    for (const [requests, isBackground] of [
      [this.#people, false],
      [this.#background, true],
    ] as const)
      while (requests.length > 0 && begun < most && this.admission.freeSlots(isBackground) > begun)
        if (this.#begin(requests.pop()!)) begun += 1;
  }

  /** Lets a request begin. @returns false if its client has gone */
  #begin({ socket, response, since, begin }: WaitingRequest): boolean {
    if (socket.destroyed) return false;
    waits.set(response, this.now() - since);
    begin();
    return true;
  }

  #refuseOldest(): void {
    for (let waited; (waited = this.#waitedFor(this.limits.maxQueuedMs)) && this.admission.takeRefusal();)
      this.#refuse(waited.shift()!);
  }

  #refuse({ response, since, respond }: WaitingRequest): void {
    waits.set(response, this.now() - since);
    respond(this.refusal());
  }

  /**
   * Returns the list whose first request is refused next, because it has waited for this long. Background requests are refused
   * before those of people. Requests whose client has gone are dropped.
   */
  #waitedFor(milliseconds: number): WaitingRequest[] | undefined {
    const before = this.now() - milliseconds;
    return [this.#background, this.#people].find((requests) => {
      while (requests[0]?.socket.destroyed) requests.shift();
      return requests[0] !== undefined && requests[0].since <= before;
    });
  }
}
