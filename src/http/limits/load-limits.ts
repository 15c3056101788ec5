/**
 * The largest number of connections that wait until the process accepts them. The process accepts them in about a second at most,
 * so that under any load few clients have given up when their request is read. The kernel ignores further ones, and they try again.
 */
export const BACKLOG = 1_024;

/** The limits of the load of a process. */
export interface LoadLimits {
  /**
   * Requests for which no person waits are refused when new connections have waited this long in the kernel's queue; requests of
   * people when connections have waited twice as long. The number of slots follows from this time too: it is the number of requests
   * that the service answers in a fixed part of it (WAIT_SHARE and REFUSAL_SHARE in admission.ts). With 0 only `concurrentRequests`
   * limits the load.
   */
  readonly waitingMs: number;
  /** The longest wait for a slot, after which a request is refused. */
  readonly maxQueuedMs: number;
  /** The largest number of requests in progress, however fast the service is. As many more may wait for a slot. */
  readonly concurrentRequests: number;
}

/** The limits of the service. Tests pass others, or change these. */
export const LIMITS = {
  waitingMs: 500,
  maxQueuedMs: 750,
  concurrentRequests: 2_000,
};
