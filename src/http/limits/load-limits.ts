/** The limits of the load of a process. */
export interface LoadLimits {
  /**
   * The longest wait of new connections in the kernel's queue; twice that for requests of people. The number of slots for requests
   * in progress follows it too (`Admission`). With 0 only `concurrentRequests` limits the load.
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
