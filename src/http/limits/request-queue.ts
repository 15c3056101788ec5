import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Problem } from '../problems/problem.js';
import type { Admission } from './admission.js';
import type { LoadLimits } from './load-limits.js';

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

/**
 * The interval at which requests that have waited too long are refused, and free slots are filled. They are filled after each
 * answer too, but a request that begins may be refused, or lose its client, before it takes its slot: the slot would then stay free
 * until the next answer.
 */
const CHECK_MS = 50;

/** The milliseconds that a request has waited, by its response. */
const waits = new WeakMap<ServerResponse, number>();

/** Returns the milliseconds that a request waited for a slot before the framework received it. */
export const waitedMs = (response: ServerResponse): number => waits.get(response) ?? 0;

/**
 * The requests that wait for a slot, on connections that stay open after the response, such as those of a reverse proxy. They are
 * not refused at once: the refusals would take the time that the answers need, because the proxy sends the next request on the
 * connection. They begin in the order of arrival, so that as few as possible wait for `maxQueuedMs`, after which a request is
 * refused (docs/decisions/0055). Requests of people begin before others.
 */
export class RequestQueue {
  readonly #people: WaitingRequest[] = [];
  readonly #background: WaitingRequest[] = [];
  #timer: NodeJS.Timeout | undefined;

  /** @param now the milliseconds of a monotonic clock @param refusal creates the problem of a refused request, and counts it */
  constructor(
    private readonly admission: Pick<Admission, 'freeSlots'>,
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
    this.#beginOldest(1);
  }

  /** Lets all waiting requests begin, for the shutdown. */
  end(): void {
    for (const requests of [this.#people, this.#background])
      while (requests.length > 0) this.#begin(requests.shift()!);
  }

  #check(): void {
    this.#refuseLate();
    this.#beginOldest(this.admission.freeSlots(false));
    if (this.length > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  // A request that begins takes its slot only when its body was read, and `freeSlots` does not count it before. So more slots than
  // `begun` must be free, and `most` limits how many begin in one call.
  #beginOldest(most: number): void {
    let begun = 0;
    for (const [requests, isBackground] of [
      [this.#people, false],
      [this.#background, true],
    ] as const)
      while (requests.length > 0 && begun < most && this.admission.freeSlots(isBackground) > begun)
        if (this.#begin(requests.shift()!)) begun += 1;
  }

  /** Lets a request begin. @returns false if its client has gone */
  #begin({ socket, response, since, begin }: WaitingRequest): boolean {
    if (socket.destroyed) return false;
    waits.set(response, this.now() - since);
    begin();
    return true;
  }

  #refuseLate(): void {
    const before = this.now() - this.limits.maxQueuedMs;
    for (const requests of [this.#people, this.#background])
      while (requests[0] && requests[0].since <= before) {
        const late = requests.shift()!;
        if (!late.socket.destroyed) this.#refuse(late);
      }
  }

  #refuse({ response, since, respond }: WaitingRequest): void {
    waits.set(response, this.now() - since);
    respond(this.refusal());
  }
}
