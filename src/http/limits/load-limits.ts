/** The limits of the load of a process. */
export interface LoadLimits {
  /** The longest time that a request should wait before its work begins; with 0 only `concurrentRequests` limits the load. */
  readonly waitingMs: number;
  /** The time after which a request that waits for a slot is refused. */
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
